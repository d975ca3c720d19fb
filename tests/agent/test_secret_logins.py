"""Passwords behind `-p` and behind names of secrets, told by the words beside them."""

import json
import shlex
from subprocess import CalledProcessError

import pytest

from perfscope.record.redact import redact_arguments, redact_value

# Put together here so that no scanner takes this file for a leak.
WORD = "sword" + "fish"


@pytest.mark.parametrize(
    "command",
    [
        "sshpass -p § ssh node1 train",
        "/usr/bin/sshpass -p§ ssh node1 train",
        "docker login -u me -p § registry.example",
        "helm registry login -p § -u me registry.example",
        "az login --service-principal -u app -p § --tenant t",
        "mongo -u me -p § --authenticationDatabase admin",
        "mpiexec -genv WANDB_API_KEY § -n 2 train",
        "mpiexec -env DB_PASSWORD § -n 2 train",
        "aws configure set aws_secret_access_key §",
        "train --set auth.password § --lr 0.1",
        "smbclient -U me%§ //server/share",
        "mysql --user root --port 3306 -p§ db",
        "mysqldump -h db -u root -P 3306 -p§",
        "solve --licence-key § model.lp",
    ],
)
def test_a_plain_word_is_taken_out_where_a_login_is_told(command: str) -> None:
    words = command.replace("§", WORD).split()
    shown = redact_arguments(words)
    assert WORD not in " ".join(shown)
    assert [word for word, safe in zip(words, shown, strict=True) if word != safe] == [
        word for word in words if WORD in word
    ]
    assert redact_arguments(shown) == shown


@pytest.mark.parametrize("password", ["Tr0ub4dor3x", "hunt" + "er2!", "x7Kq2mZ9"])
def test_what_is_no_name_needs_no_login(password: str) -> None:
    assert password not in " ".join(redact_arguments(["x", "-p", password]))


@pytest.mark.parametrize(
    "command",
    [
        "srun -p gpu_v100 -u python -m train",
        "srun -p a100x4 -u ./train",
        "torchrun --nproc-per-node 2 train.py -p resnet50 -e 10",
        "docker run -u 1000:100 -p 8888:8888 image",
        "train.py -p resnet50 --no-user",
        "mpirun -n 2 passthrough -p gpu",
        "train.py --fields user.email -p hourly",
    ],
)
def test_a_preset_a_port_and_a_partition_stay(command: str) -> None:
    assert redact_arguments(command.split()) == command.split()


def test_a_hash_of_a_password_is_no_setting() -> None:
    stored = "$6$rounds=5000$salt$abcdefghijklmnopqrstuvwxyz0123456789"
    assert redact_arguments(["x", "--shadow", stored])[-1] == "[redacted]"
    assert "abcdefghij" not in redact_value(f"x {stored} y")


def test_an_identity_hides_no_token() -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    assert token not in " ".join(redact_arguments(["x", "--run-id", token, f"--sha={token}"]))


COMMANDS = [
    ["mysql", "-u", "root", "-pX7"],
    ["mysql", "-u", "root", "--password", "X"],
    ["curl", "-u", "me:X", "http://example.org"],
    ["curl", "-H", "Authorization: Bearer X"],
    ["docker", "login", "-u", "me", "-p", "X"],
    ["sshpass", "-p", "X", "ssh"],
    ["mpiexec", "-genv", "API_TOKEN", "X", "-n", "2"],
    ["train", "--token", "two words X"],
    ["train", "--password", "it's X"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=shlex.join)
def test_a_command_in_a_message_is_read_as_one(command: list[str]) -> None:
    words = [word.replace("X", WORD) for word in command]
    for text in (
        str(CalledProcessError(1, words)),
        json.dumps({"cmd": words}),
        json.dumps(json.dumps(words)),
        repr(tuple(words)),
        repr([word.encode() for word in words]),
    ):
        shown = redact_value(text)
        assert WORD not in shown
        assert words[0] in shown
        assert redact_value(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "password=b'§'",
        'password = f"§"',
        "Config(token=SecretStr('§'))",
        '{"password": ["§"]}',
        "{'user': 'me', 'password': ('§',)}",
        "api_keys=['§', '§2']",
        '{"name": "DB_PASSWORD", "value": "§"}',
        "- name: API_TOKEN\n  value: §",
        '<add key="password" value="§"/>',
        "https://h/?q=a%26password%3D§",
        "--password\t§",
        "password：§",
    ],
)
def test_a_value_in_brackets_or_beside_its_name_is_taken_out(text: str) -> None:
    shown = redact_value(text.replace("§", WORD))
    assert WORD not in shown
    assert redact_value(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Command '['train.py', '-p', 'resnet50', '--lr', '0.1']' returned non-zero exit status 1.",
        "expected one of ['cls_token', 'pos_embed'], got ['head']",
        "tokens: ['the', 'cat'] of [101, 2023]",
        '{"name": "learning_rate", "value": "0.001"}',
        "key=['image', 'label']",
    ],
)
def test_ordinary_lists_stay(text: str) -> None:
    assert redact_value(text) == text


def test_an_endless_message_is_cut_and_its_secrets_are_taken_out() -> None:
    shown = redact_value("token=" + WORD + " " + "password=[" * 100_000)
    assert WORD not in shown
    assert len(shown) < 100_000


@pytest.mark.parametrize(
    "command",
    [
        "train.py -u alice -port 8080",
        "mpirun -u alice -print-all-exitcodes train",
        "mpiexec -h node1 -pernode train",
        "docker run -u root -p 127.0.0.1:8080:80/tcp image",
        "srun -u -p login python train.py",
    ],
)
def test_options_of_several_letters_partitions_and_ports_stay(command: str) -> None:
    assert redact_arguments(command.split()) == command.split()
