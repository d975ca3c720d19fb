"""Secrets that are plain words: in sentences, behind options, in what is fed to a tool."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from perfscope.agent.perfscope_agent.secrets.programs import redact_command
from perfscope.agent.perfscope_agent.secrets.redact import (
    redact_arguments,
    redact_value,
    redact_variable,
)

TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
REPOSITORY = Path(__file__).parents[2]
TELLING = """
the token is hunter
password was hunter
The password is: hunter
the passphrase for me is 'hunter'
my secret is hunter, and yours?
the api key was hunter.
mot de passe: hunter
mot de passe : hunter
le mot de passe est hunter
senha=hunter
пароль: hunter
密码：hunter
您的密码: hunter
echo hunter | sudo -S ls
failed: wandb login hunter
$ huggingface-cli login hunter
sudo -S ls <<< hunter
x.sh -w hunter
tool --value hunter
tool --unlock hunter
MPICH_AUTH=hunter mpirun ./t
the password for the database is hunter
password hunter was refused
login with password 'hunter' failed
use hunter as the password
hunter is not a valid password
my password, hunter, was refused
set the token to hunter
set the api key to hunter before the start
changed my password from hunter to hunter2
updating token for the tracker to 'hunter'
the token was set to hunter.
token was set to hunter
api token has been changed to hunter
the token must be set to hunter
token changed to hunter, again
the credentials me/hunter were rejected
credentials me:hunter rejected
"""
HARMLESS = """
the token is expired
Password is too short.
the token is part of the prompt, which is longer
the secret is not here
another token is found.
The first token is begin and the last token is end.
user login failed
unexpected login response
login required
SHAPE_KEY = "shape"
kernel<<<blocks, threads>>>(x)
the key is lr
PRIMARY_KEY=name python train.py
password authentication failed
this is not a valid password
use get_word as the password text
set the learning rate to hunting
set the pad token to hunting
set the token to expired
token was set to expired
the pad token has been set to hunting
reset the session token to none
secret sharing is off, and the credentials were rejected
$ echo state | ./x.sh
x.sh -w mean
tool --value mean
"""


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


@pytest.mark.parametrize("text", lines(TELLING))
def test_a_plain_word_is_hidden_where_the_text_tells_that_it_is_a_secret(text: str) -> None:
    assert "hunter" not in redact_value(text)


@pytest.mark.parametrize("text", lines(HARMLESS))
def test_what_is_said_of_a_secret_stays(text: str) -> None:
    assert redact_value(text) == text


@pytest.mark.parametrize(
    "command",
    [
        ["ssh", "node", "echo hunter | sudo -S ls"],
        ["bash", "-c", "sudo -S ls <<< hunter"],
        ["tmux", "send", "wandb login hunter"],
        ["mpirun", "-n", "2", "./x.sh", "-w", "hunter"],
        ["python", "train.py", "--value", "hunter"],
        ["./tool", "--unlock=hunter"],
        ["mpirun", "-genv", "MPICH_AUTH", "hunter", "./train"],
        ["mpirun", "-x", "SLURM_KEY=hunter", "./train"],
    ],
    ids=" ".join,
)
def test_no_argument_of_a_command_tells_a_plain_word(command: list[str]) -> None:
    assert "hunter" not in " ".join(redact_arguments(command))


def test_what_the_program_itself_names_is_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = "parser.add_argument('--value', choices=['hardswish', 'softsign'])  # not hunter"
    Path("train.py").write_text(program, encoding="utf-8")
    for words in (["--value", "hardswish"], ["--value=softsign"]):
        command = ["mpirun", "-n", "2", "python", "train.py", *words]
        assert redact_command(command) == command
        assert "[redacted]" in redact_arguments(command)[-1]  # of a command that ran elsewhere
    for words in (["--value", "hunter"], ["--value=hunter"], ["--password", "hardswish"]):
        command = redact_command(["python", "train.py", *words])
        assert command[-1] in ("[redacted]", "--value=[redacted]")
    for words in (["--value", TOKEN], ["--value=" + TOKEN]):
        assert TOKEN not in " ".join(redact_arguments(words, is_choice=lambda _: True))


@pytest.mark.parametrize(
    "program",
    [
        "parser.add_argument('-w', '--password', help='(a word)')",
        'parser.add_argument("--api-token", "-w")',
        "parser.add_argument('-w', dest='secret', type=str)",
    ],
)
def test_an_option_of_one_letter_holds_what_the_program_says(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    more = "\nparser.add_argument('-o', '--optimizer')\nparser.add_argument('-u', '--user-token')"
    Path("train.py").write_text(program + more, encoding="utf-8")
    command = ["mpirun", "-n", "2", "python", "-u", "train.py", "-o", "hunting"]
    assert redact_command([*command, "-w", "hunter"]) == [*command, "-w", "[redacted]"]
    assert redact_command([*command, "-whunter"]) == [*command, "-w[redacted]"]
    Path("train.py").write_text("parser.add_argument('-w', '--warm-up')", encoding="utf-8")
    assert redact_command([*command, "-w", "hunter"]) == [*command, "-w", "hunter"]


@pytest.mark.parametrize("name", ["MPICH_AUTH", "SLURM_KEY", "OMPI_MCA_sec_key"])
def test_a_variable_for_a_key_holds_one_whatever_it_looks_like(name: str) -> None:
    assert redact_variable(name, "hunter") == "[redacted]"
    assert redact_variable(name, "4") == "4"


def recorded_commands() -> Iterator[list[str]]:
    for path in sorted(REPOSITORY.glob("sample_traces/*/run.json")):
        yield json.loads(path.read_text())["command"]


def test_nothing_of_the_commands_of_the_recordings_here_is_hidden() -> None:
    commands = list(recorded_commands())
    assert len(commands) >= 5
    for command in commands:
        assert redact_arguments(command) == command
