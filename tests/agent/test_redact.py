"""Secrets never reach disk."""

from collections.abc import Callable

import pytest

from perfscope.record.redact import REDACTED, redact_arguments, redact_value, redact_variable
from tests.agent.jobs import RANK_ZERO, Job

# Put together here so that no scanner takes this file for a leak.
SECRETS = [
    "AKIA" + "IOSFODNN7EXAMPLE",
    "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "dozjgNryP4J3jVmNHl0w5N",
    "hf_" + "AbCdEfGhIjKlMnOpQrStUv",
    "glpat-" + "x1y2z3a4b5c6d7e8f9g0",
    "d41d8cd98f00b204" + "e9800998ecf8427e",
    "wJalrXUtnF3MI7K7M" + "DENGbPx5RfiCYzE9aQ2k",
    "xoxb-" + "123456789012-abcdefABCDEF",
]
PLAIN = [
    "/usr/lib/x86_64-linux-gnu/libopenblas.so.0",
    "train.py",
    "--learning-rate=0.001",
    "granularity=fine,compact,1,0",
    "data/imagenet/train/shard-00012-of-01024",
    "prterun-node017-12345@1",
    "tensorflow.python.framework.ops",
    "KMP_AFFINITY=verbose",
    "https://example.org/data.tar.gz",
    "123e4567",
    "ResNet50Version2WithBatchNormalization",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_value_that_looks_like_a_secret_is_replaced(secret: str) -> None:
    assert secret not in redact_value(secret)
    assert secret not in redact_value(f"before {secret} after")
    assert secret not in redact_value(f"setting={secret},other=1")


@pytest.mark.parametrize("text", PLAIN)
def test_plain_value_stays(text: str) -> None:
    assert redact_value(text) == text


def test_password_in_a_url_is_replaced() -> None:
    text = redact_value("mysql://user:pa55@db.example.org/x")
    assert "pa55" not in text
    assert text == f"mysql://{REDACTED}@db.example.org/x"


@pytest.mark.parametrize(
    "name",
    ["HOROVOD_SECRET_KEY", "SLURM_JWT", "TORCH_ACCESS_TOKEN", "MKL_PASSWORD", "TF_CREDENTIALS"],
)
def test_variable_with_a_telling_name_is_replaced(name: str) -> None:
    assert redact_variable(name, "short") == REDACTED


def test_options_lose_their_secrets() -> None:
    given = ["train.py", "--token", "abc", "--api-key=def", "--epochs", "3", "-p", "8080"]
    expected = ["train.py", "--token", REDACTED, f"--api-key={REDACTED}", *given[4:]]
    assert redact_arguments(given) == expected


def test_flag_without_a_value_hides_nothing_else() -> None:
    given = ["--use-auth", "--epochs", "3"]
    assert redact_arguments(given) == given


@pytest.mark.parametrize(
    "code",
    [
        'password = "hunter2"; run()',
        "login({'api_key': 'hunter2'})",
        "curl -H 'Authorization: Bearer hunter2'",
        "export DB_PASSWORD=hunter2 && run",
    ],
)
def test_secrets_in_code_and_scripts_are_replaced(code: str) -> None:
    assert "hunter2" not in redact_value(code)


def test_no_secret_is_written_anywhere(job: Callable[..., Job]) -> None:
    variables = {
        "OMP_NUM_THREADS": "2",
        "HOROVOD_SECRET_KEY": "hunter2a",
        "TF_CONFIG": '{"auth_token": "hunter2b"}',
        "MY_SETTING": "hunter2c",
        "TORCH_HOME": "https://me:hunter2d@example.org/",
        "NCCL_DEBUG_FILE": SECRETS[0],
    }
    text = f'raise ValueError("login failed: password=hunter2e {SECRETS[1]}")'
    arguments = ("--password", "hunter2f", "--token=hunter2g", SECRETS[2])
    done = job(text, variables={**variables, **RANK_ZERO}, arguments=arguments)
    assert done.process.metadata["environment"]["OMP_NUM_THREADS"] == "2"
    assert done.process.metadata["exception"]["type"] == "ValueError"
    written = b"".join(path.read_bytes() for path in done.directory.rglob("*") if path.is_file())
    found = [s for s in ["hunter2", *SECRETS[:3]] if s.encode() in written]
    assert found == []
