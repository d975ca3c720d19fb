"""What is taken out as a secret, and what is not: many planted ones, and ordinary words."""

import random
import re
import string
from collections.abc import Callable

import pytest

from perfscope.agent.perfscope_agent.secrets import lists, prose, redact, tokens
from perfscope.agent.perfscope_agent.secrets.tokens import BEGINNINGS, looks_random
from perfscope.record.redact import (
    redact_arguments,
    redact_path,
    redact_tokens,
    redact_value,
    redact_variable,
)
from tests.support.environments import REPOSITORY

# Put together here so that no scanner takes this file for a leak.
WORD = "sword" + "fish"
MIXED = "hunt" + "er2"
SIGNS = "Tr0ub4dor&" + "3"
ALNUM, HEX = string.ascii_letters + string.digits, "0123456789abcdef"


def made(alphabet: str, length: int, seed: int) -> str:
    chosen = random.Random(seed)
    return "".join(chosen.choice(alphabet) for _ in range(length))


OPTIONS = {
    WORD: """--pass X|--pw X|--pw=X|--creds X|--secret X|--apikey X|--api-key=X|--db.password X
        |+trainer.wandb.api_key=X|-e DB_PASS=X|--pass-phrase X|--accessToken X|--mysql-pwd X
        |--client-secret=X|--set x.password=X|-u me:X|--user admin:X|--user=admin:X|--hmac X
        |--password2 X|--PASSWORD X|-password X|--private_key X|--x-token X|--AccessKeyId X
        |--activation-code X|--connection-string X|--smtp-pass X|--dbpass X|--bindpw X|--psw=X
        |--authCookie X|--id-token X|--jwt-secret X|--keystore-password X|--HF_TOKEN=X|--mfa X
        |--ssh-key X1|--cookie X|--sessionid=X|--old-password-value X|--jwt X|--otp X""",
    MIXED: """-u me -p X|-u me -pX|-uroot -pX|--user me -p X|-h db -pX
        |--session X|--license X|-uroot:X|--key X|--wandb-key X|--nonce X|--salt X
        |--sig X|--webhook X|--proxy-user me:X|--login me:X|--auth me:X|--auth X|--pat X""",
    "4711": "--pin X|--pin=X|--otp X|--totp X|--password X|--passcode X",
    "AB12-CD34-EF56": "--license X|--license=X",
}
OPTION_CASES = [
    (case.strip().replace("X", secret).split(" "), secret)
    for secret, cases in OPTIONS.items()
    for case in cases.split("|")
]


@pytest.mark.parametrize(("words", "secret"), OPTION_CASES, ids=lambda v: str(v)[:60])
def test_an_option_loses_its_secret(words: list[str], secret: str) -> None:
    shown = redact_arguments(["train.py", *words, "--epochs", "3"])
    assert secret not in " ".join(shown)
    assert shown[-2:] == ["--epochs", "3"]
    assert redact_arguments(shown) == shown
    inside = redact_value(f"bash -c 'run {' '.join(words)}; wait'")
    assert secret not in inside


TEXTS = [
    "Authorization: Token §",
    "Authorization: ApiKey §",
    "authorization=Digest username=me, response=§",
    "X-Api-Key: §",
    "X-Auth-Token: §",
    "Cookie: sid=1; theme=§",
    '{"password": "§"}',
    '{"db": {"user": "me", "pwd": "§"}}',
    '{\\"password\\": \\"§\\"}',
    "{'api_key':'§'}",
    '{"auth":{"token":"§"}}',
    "https://me:§@example.org/x",
    "https://me:a@§@example.org/x",
    "https://me:a/§@example.org/x?y=1",
    "https://me:§/a@example.org:8080/x",
    "redis://:§@h:6379/0",
    "postgres://u:§@db,db2/x",
    "https://§@example.org/me",
    "https://a.org/x;jsessionid=§",
    "https://a.org/x?sv=1&sig=§%2Bdef%3D&se=2",
    "https://a.org/x?api_key=§#top",
    "DefaultEndpointsProtocol=https;AccountKey=§;EndpointSuffix=core",
    "Server=h;Uid=me;Pwd=§;",
    "<password>§</password>",
    "me:§@example.org:/data",
    "login failed: password=§ for me",
    "password '§' is wrong",
    'with password "§" as given',
    "password => §",
    "password := §",
    "export DB_PASSWORD=§ && run",
    "connect(token='§', timeout=3)",
    "mysql -u root -p§ db",
    "curl -u me:§ http://a.org",
    "curl -H 'Authorization: Token §' a.org",
    "train --password §",
    "invalid API key provided: §",
    "401 for Bearer §",
    "-----BEGIN RSA PRIVATE KEY-----\nX\n-----END RSA PRIVATE KEY-----",
    "password: §",
    "hooks.slack.com/services/§",
    "https://discord.com/api/webhooks/§",
    "machine h login me password §",
    "mysqldump -uroot -p'§' db",
    "os.environ['HF_TOKEN']='§'",
    'os.environ["API_KEY"] = "§"',
    "mpiexec -genv DB_PASSWORD § -n 2 x",
    "openssl rsa -passin pass:§",
    "https://h/b?GoogleAccessId=me&Signature=§%2Bdef%3D",
    "sshpass -p § ssh node",
    "smbclient -U me%§ //s/x",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("secret", [MIXED, SIGNS.replace("&", "!")])
def test_a_text_loses_its_secret(text: str, secret: str) -> None:
    shown = redact_value(text.replace("§", secret))
    assert secret not in shown
    assert redact_value(shown) == shown
    assert secret not in " ".join(redact_arguments([text.replace("§", secret)]))
    assert secret not in " ".join(redact_arguments([f"--header={text.replace('§', secret)}"]))


SERVICES = {
    "Shopify": "shpat_" + made(HEX, 32, 1),
    "SendGrid": "SG." + made(ALNUM, 22, 2) + "." + made(ALNUM, 43, 3),
    "DigitalOcean": "dop_v1_" + made(HEX, 64, 4),
    "GitLab": "glpat-" + made(ALNUM, 20, 5),
    "GitLab trigger": "glptt-" + made(HEX, 40, 6),
    "GitHub": "ghp_" + made(ALNUM, 36, 7),
    "GitHub fine-grained": "github_pat_" + made(ALNUM, 22, 8) + "_" + made(ALNUM, 59, 9),
    "OpenAI": "sk-proj-" + made(ALNUM, 48, 10),
    "AWS": "AKIA" + made("ABCDEFGHIJ234567", 16, 11),
    "Google": "AIza" + made(ALNUM, 35, 12),
    "Google OAuth": "ya29." + made(ALNUM, 60, 13),
    "Stripe": "sk_live_" + made(ALNUM, 24, 14),
    "NVIDIA": "nvapi-" + made(ALNUM, 64, 15),
    "Docker": "dckr_pat_" + made(ALNUM, 27, 16),
    "Vault": "hvs." + made(ALNUM, 90, 17),
    "PyPI": "pypi-AgEIcHlwaS5vcmc" + made(ALNUM, 60, 18),
    "Databricks": "dapi" + made(HEX, 32, 19),
    "Telegram": "123456789:AA" + made(ALNUM, 33, 20),
    "JSON web token": f"eyJ{made(ALNUM, 30, 21)}.eyJ{made(ALNUM, 50, 22)}.{made(ALNUM, 43, 23)}",
    "of no known service": made(ALNUM, 40, 24),
    "short, of no known service": made(ALNUM, 28, 25),
}
AROUND = ("{}", "load {} now", "/data/{}/x.bin", "/data/x_{}.bin", "data/{}.ckpt", "x={}", "['{}']")


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("clean", [redact_value, redact_path])
def test_a_token_is_known_wherever_it_stands(name: str, clean: Callable[[str], str]) -> None:
    token = SERVICES[name]
    for around in AROUND:
        shown = clean(around.format(token))
        assert token[-12:] not in shown, around
        assert clean(shown) == shown
    if "no known" not in name:
        assert token[-12:] not in redact_tokens(f"f_{token}")


ORDINARY = """--password-length 8|--tokenizer bert|--max_tokens 512|--max-tokens=512|--pin-memory
    |--pin-memory true|--session-steps 5|-p 4|-p 8080|-p 8080:80|--license-plate-model yolo8x
    |monkey.py|keynote|-p gpu|-p fp16|--pass 2|--key label|--tokens 1000|--pad-token <pad>
    |--eos-token-id 2|--token-type bpe|-u train.py|-u 1000:1000|--auth none|--license MIT
    |--password-file /run/secrets/db|--key-file=/x/y.pem|-np 4|-ppn 4|-pthread|--session train
    |--hash sha256|--num-key-value-heads 8|--min-token 5|--seed 123456789|--bypass abc123
    |--signature serving_default|--revision 86b5e0934494bd15c9632b12f734a8a67f723594
    |--commit=86b5e0934494bd15c9632b12f734a8a67f723594|--author me123456|--top-p 0.95
    |--run-id 123e4567-e89b-12d3-a456-426614174000|--use-auth --lr 1e-4|--host node017:2222
    |-H node1:4,node2:4|-map-by ppr:2:socket|--mca btl ^openib|-genv OMP_NUM_THREADS 4
    |--model meta-llama/Llama-2-70b-chat-hf|--data imagenet21k_resized_256x256
    |git+https://github.com/u/r@v1.0|https://example.org/@user/repo|--mask-token [MASK]
    |https://example.org:8080/a@b|https://h/x?mail=a@b.c|--cookie-policy lax|--signal 15
    |--monkey abc1234|--keyboard us|--stop-token END|--partition gpu-a100-80gb|--pass-rate 0.5
    |--error-code 1234|--country-code=1001|--session-timeout 3600|--key-dim 64|-pg gloo|-u 1001
    |--auth-type basic|--pin-threads 0-3|--nonce-size 12|--precision bf16-mixed|-p a,b|-P 8
    |--secret-sharing true|--tokenizer_name gpt2-xl|--prefix x12345y|--username me123|--pins 4
    |-p resnet50|-p resnet50_v2|-p vit_base_patch16_224|-p llama3-8b|-presnet50|-pConfigA100
    |-p a100x4|-p fold1of5|-p cifar100|-u train.py -p resnet50|-u python x.py -p wav2vec2
    |-u 1000:100 -p 8888:8888|--sort-key loss_epoch10|--license apache2.0|--sig 0.25|--pat resnet
    |--session run_12abc|--class_token gap|--img_token patch|--boi_token 255999
    |--placeholder_token <cat-toy>|--experiment-id b7f3c2d1e4a5968770615243f1e2d3c4
    |--task token_classification word|--pos_token learned|--signature serving_default2
    |CUDA_VISIBLE_DEVICES=GPU-8932f937-d72c-4106-c12f-20bd9faed9f6|--tokens-per-sample 512"""


@pytest.mark.parametrize("case", [case.strip() for case in ORDINARY.split("|")])
def test_an_ordinary_argument_stays(case: str) -> None:
    words = ["train.py", *case.split(" ")]
    assert redact_arguments(words) == words


ORDINARY_TEXTS = [
    "KeyError: 'layer1.weight'",
    'Missing key(s) in state_dict: "fc1.weight", "fc2.bias"',
    "token: 512 of 1024",
    "1024 tokens per second",
    "basic training started",
    "load tokenizer: bert-base-uncased",
    "std::map<Key, Auth>::find",
    "backward pass",
    "RuntimeError: shapes cannot be multiplied (32x784 and 785x128)",
    "/home/me/.cache/hub/models--bert/snapshots/86b5e0934494bd15c9632b12f734a8a67f723594/x.json",
    "/nix/store/0c0mz1q9y3v5h8xk2n4w7d6s5f3g1j9l-python3-3.11.7/lib/python3.11/site.py",
    "/opt/spack/gcc-12/openmpi-4.1.5-abcdefg2hij3klmno4pqr5stuvw6xyz7/lib",
    "/tmp/torchinductor_me/ab/cabq2hij3klmno4pqr5stuvw6xyz7ab3de4fg5hi6jk7lm8no9pq.py",
    "numpy.libs/libscipy_openblas64_-6bb31eeb.so",
    "Cijk_Ailk_Bjlk_SB_MT64x16x16_MI16x16x1_SN_LDSB0_AFC1_AFEM1_ASEM1_CLR1_CADS0",
    "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_tn",
    "commit 86b5e0934494bd15c9632b12f734a8a67f723594",
    "ResNet50Version2WithBatchNormalization",
    "passwords must have 8 characters",
    "password: None",
    "the recording may hold secrets: they are taken out",
    "num_tokens=12345678",
    "granularity=fine,compact,1,0",
    "2024-01-01T12:34:56.789Z",
    "prterun-node017-12345@1",
    "signature mismatch: expected (2,3)",
]


@pytest.mark.parametrize("text", ORDINARY_TEXTS)
def test_an_ordinary_text_stays(text: str) -> None:
    assert redact_value(text) == text
    assert redact_path(text) == text


def test_no_quick_look_keeps_a_pattern_from_what_it_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [text.replace("§", MIXED) for text in TEXTS]
    texts += [f"load {token} now" for token in SERVICES.values()]
    texts += [f"login: {text}" for text in ORDINARY_TEXTS]
    for text in [*texts]:  # letters that `re` takes for others in whatever case
        texts += [text.upper(), text.replace("s", "ſ"), text.replace("i", "ı")]
    shown = [(redact_value(text), redact_path(text)) for text in texts]
    for module in (redact, lists, prose, tokens):
        for name in ("may_hold", "has_key", "_may_hold_tokens"):
            monkeypatch.setattr(module, name, lambda *_: True, raising=False)
    assert [(redact_value(text), redact_path(text)) for text in texts] == shown


def test_names_of_this_repository_are_not_random() -> None:
    names = {
        name
        for path in (REPOSITORY / "perfscope").rglob("*.py")
        for name in re.findall(r"[A-Za-z_]\w{19,}", path.read_text(encoding="utf-8"))
    }
    assert len(names) > 300
    assert [name for name in names if looks_random(name)] == []


def test_most_random_words_look_random() -> None:
    for length, least in ((24, 0.9), (40, 0.95)):
        words = [made(ALNUM, length, seed) for seed in range(500)]
        assert sum(looks_random(word) for word in words) >= least * len(words)


def test_a_variable_is_judged_by_its_last_word() -> None:
    assert redact_variable("UCX_PASS", WORD) == "[redacted]"
    assert redact_variable("MKL_SESSION_TOKEN", "x1") == "[redacted]"
    assert redact_variable("NCCL_TOKENS", "512") == "512"
    assert redact_variable("OMP_PASSWORD_LENGTH", "8") == "8"
    assert MIXED not in redact_variable("NCCL_NET", f'{{"Authorization": "Token {MIXED}"}}')


def test_the_recorder_knows_the_same_beginnings() -> None:
    source = (REPOSITORY / "native" / "recorder" / "secrets.c").read_text(encoding="utf-8")
    table = source.split("beginnings[] = {")[1].split("};")[0]
    assert re.findall(r'"([^"]+)"', table) == [text for text, _ in BEGINNINGS]


@pytest.mark.parametrize(
    "text",
    [
        "login failed for user me with pw 'correcthorse'",
        "train.py --seed-phrase 'correcthorse battery staple'",
        "Kennwort: correcthorse",
        "contraseña: correcthorse",
    ],
)
def test_a_secret_of_letters_alone_is_known_by_what_names_it(text: str) -> None:
    assert "correcthorse" not in redact_value(text)
