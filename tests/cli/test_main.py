"""The command itself: light to load, and clear when something is wrong."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import perfscope
from perfscope.cli.group import COMMANDS, cli
from perfscope.cli.main import main
from perfscope.errors import ExitCode, UnreadableInputError
from tests.support.recording import job_variables, perfscope_command


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        perfscope_command(*arguments),
        env=job_variables(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_names_every_command_without_loading_it() -> None:
    code = (
        "import sys; from perfscope.cli.main import main; main(['--help']);"
        "heavy = {'perfscope.cli.analyze', 'perfscope.cli.run', 'numpy', 'pandas', 'rich'};"
        "assert not heavy & set(sys.modules), sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=job_variables(),
        capture_output=True,
        text=True,
        check=True,
    )
    for name in COMMANDS:
        assert name in done.stdout


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: perfscope {name}")
    assert "\\b" not in shown  # what keeps click from filling a paragraph is no text


@pytest.mark.parametrize("name", list(COMMANDS))
def test_help_stays_inside_a_narrow_terminal(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert main([name, "--help"]) == ExitCode.OK
    lines = capsys.readouterr().out.splitlines()
    said = [line for line in lines if line.startswith(" " * 12)]  # beside or below an option
    assert said
    assert [line for line in said if len(line) > 40] == []


def test_version() -> None:
    assert run("--version").stdout == f"perfscope, version {perfscope.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["--no-such-option"], ["run"], ["run", "--max-size", "many", "--", "true"]]
)
def test_usage_errors_are_2(arguments: list[str], tmp_path: Path) -> None:
    done = run(*arguments)
    assert done.returncode == ExitCode.USAGE
    assert done.stdout == ""
    assert "Error: " in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """A command that raises what is put into the list."""
    errors: list[Exception] = []

    @click.command()
    @click.option("-v", "--verbose", is_flag=True)
    def run(verbose: bool) -> None:  # noqa: ARG001
        raise errors[0]

    monkeypatch.setattr("perfscope.cli.run.run", run)
    return errors


def test_an_error_is_three_lines(
    failing: list[Exception], capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(UnreadableInputError("what", why="why", action="what to do"))
    assert main(["run"]) == ExitCode.UNREADABLE
    assert capsys.readouterr() == ("", "what\nwhy\nwhat to do\n")


def test_a_traceback_comes_with_v(
    failing: list[Exception], capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(UnreadableInputError("what", why="why", action="what to do"))
    assert main(["run", "-v"]) == ExitCode.UNREADABLE
    told = capsys.readouterr().err
    assert told.startswith("Traceback")
    assert told.endswith("what\nwhy\nwhat to do\n")


def test_what_nobody_expected_is_three_lines_too(
    failing: list[Exception], capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(ZeroDivisionError("division by zero"))
    assert main(["run"]) == ExitCode.UNREADABLE
    lines = capsys.readouterr().err.splitlines()
    assert lines[1] == "ZeroDivisionError: division by zero"
    assert "-v" in lines[2]
    assert len(lines) == 3


def test_python_m_perfscope_is_the_same() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "perfscope", "--version"],
        env=job_variables(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == run("--version").stdout


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["analize", "a b/"], "Did you mean: perfscope analyze 'a b/'"),
        (["."], "To read a recording: perfscope analyze ."),
        (["mpirun", "-n", "2", "true"], "To record a job: perfscope run -- mpirun -n 2 true"),
        (["no-such-command"], "See perfscope --help."),
    ],
)
def test_what_may_be_meant_by_no_command_is_said(
    words: list[str],
    meant: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.which", {"mpirun": "/usr/bin/mpirun"}.get)
    assert main(words) == ExitCode.USAGE
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[-1].endswith(meant)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_forty_columns_where_it_has_spaces(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    told = CliRunner().invoke(cli, [name, "--help"]).output
    assert [row for row in told.splitlines() if len(row) > 40 and len(row.split()) > 2] == []
