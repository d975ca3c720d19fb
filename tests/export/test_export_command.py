"""`perfscope export`: what it writes where, and what it refuses."""

import importlib
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from perfscope.cli.main import main
from perfscope.errors import ExitCode
from perfscope.export.target import targets
from tests.support.environments import REPOSITORY
from tests.support.recording import perfscope_command

SAMPLE = str(REPOSITORY / "sample_traces" / "rank_zero_evaluation")
DEFAULTS = {
    "chrome": "rank_zero_evaluation.json",
    "csv": "rank_zero_evaluation-csv",
    "otf2": "rank_zero_evaluation-otf2",
    "parquet": "rank_zero_evaluation-parquet",
    "perfetto": "rank_zero_evaluation.perfetto-trace",
}


@pytest.mark.parametrize("name", sorted(DEFAULTS))
def test_writes_to_the_current_directory_and_never_over_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", SAMPLE, "--to", name]) == ExitCode.OK
    assert [path.name for path in tmp_path.iterdir()] == [DEFAULTS[name]]
    assert capsys.readouterr().out == f"Written: {DEFAULTS[name]}\n"
    assert main(["export", SAMPLE, "--to", name]) == ExitCode.USAGE
    assert "exists already" in capsys.readouterr().err


def test_targets_are_those_of_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(targets()) == sorted(DEFAULTS)
    assert main(["export", "--help"]) == ExitCode.OK
    text = capsys.readouterr().out
    for name in DEFAULTS:
        assert f"--to {name}" in text or f"\n  {name} " in text


def test_a_format_that_does_not_exist_is_told_with_those_that_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["export", SAMPLE, "--to", "xml"]) == ExitCode.USAGE
    assert "chrome, csv, otf2, parquet" in capsys.readouterr().err


def test_what_is_no_trace_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    nothing = str(tmp_path / "nothing")
    assert main(["export", nothing, "--to", "chrome", "-o", str(out)]) == ExitCode.UNREADABLE
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [("parquet", "pyarrow.parquet", "pyarrow"), ("otf2", "_otf2", "otf2")],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    name: str,
    module: str,
    package: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = importlib.import_module

    def without(wanted: str, package: str | None = None) -> object:
        if wanted == module:
            raise ImportError(wanted)
        return found(wanted, package)

    monkeypatch.setattr(importlib, "import_module", without)
    assert main(["export", SAMPLE, "--to", name]) == ExitCode.USAGE
    assert f"pip install {package}" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(DEFAULTS))
def test_a_place_that_cannot_be_written_is_told_and_left_clean(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    out = tmp_path / "file" / "out"
    assert main(["export", SAMPLE, "--to", name, "-o", str(out)]) == ExitCode.UNREADABLE
    assert "could not be written" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", sorted(DEFAULTS))
def test_a_failure_on_the_way_leaves_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = targets()[name]
    monkeypatch.setattr(
        f"perfscope.export.{name}.TARGET",
        type(target)(name, "", target.suffix, lambda _, path: _write_some(path)),
    )
    out = tmp_path / "out"
    assert main(["export", SAMPLE, "--to", name, "-o", str(out)]) == ExitCode.UNREADABLE
    assert list(tmp_path.iterdir()) == []


def _write_some(path: Path) -> list[str]:
    path.mkdir()
    (path / "some").write_text("some", encoding="utf-8")
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("name", sorted(DEFAULTS))
def test_a_full_disk_is_told_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk; libotf2 returns no error for it."""
    command = perfscope_command("export", SAMPLE, "--to", name, "-o", tmp_path / "out")

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))

    none = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # it would be cut off at the limit
    done = subprocess.run(
        command, preexec_fn=limited, capture_output=True, text=True, check=False, env=none
    )
    assert done.returncode == ExitCode.UNREADABLE
    assert "could not be written" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 3
    assert list(tmp_path.iterdir()) == []
