"""`perfscope sweep`: runs that succeed, fail, and are refused; the study; job scripts."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from perfscope.cli.main import main
from perfscope.errors import ExitCode
from tests.support.requirements import missing
from tests.support.waiting import wait_for

# What a job does is named by its first word.
JOB = """
import os, signal, sys, time
print("accuracy", 0.5, "accuracy", 0.75)
kind = sys.argv[1]
if kind == "exit":
    sys.exit(3)
elif kind == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
elif kind == "memory":
    raise MemoryError
elif kind == "long":
    time.sleep(60)
"""


@pytest.fixture
def job(tmp_path: Path) -> list[str]:
    path = tmp_path / "job.py"
    path.write_text(JOB)
    return [sys.executable, str(path)]


def study(place: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((place / "study.json").read_text())
    return document


def test_failures_are_data_and_the_study_is_the_same_every_time(
    tmp_path: Path, job: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "sweep"
    words = ["sweep", "--var", "kind=well,exit,kill,memory,long", "-o", str(place)]
    words += ["--time-limit", "6s", "--metric", r"(?P<accuracy>[0-9.]+)$"]
    assert main([*words, "--", *job, "{kind}"]) == ExitCode.OK
    shown = capfd.readouterr()
    only = r"Verdict: [\d,.]+ runs/h with kind=well, the only configuration that was measured"
    assert re.search(only, " ".join(shown.out.split()))
    said = shown.err.splitlines()
    place_of_error = place / "runs" / "004-kind=memory-r1" / "stderr.txt"
    (where,) = (n for n, line in enumerate(said) if line.endswith(f"of {place_of_error}:"))
    last = [line.removeprefix("perfscope:").strip() for line in said[where + 2 : where + 4]]
    assert last == ["raise MemoryError", "MemoryError"]
    document = study(place)
    body = document["sweep"]
    ends = {row["label"]: row["end"] for row in body["configurations"]}
    assert ends == {
        "kind=well": None,
        "kind=exit": "exit_code",
        "kind=kill": "killed",
        "kind=memory": "out_of_memory",
        "kind=long": "time_limit",
    }
    reasons = {row["label"]: row["reason"] for row in body["configurations"]}
    assert "exit code 3" in reasons["kind=exit"]
    assert "SIGKILL" in reasons["kind=kill"]
    assert reasons["kind=long"] == "ended at the time limit"
    assert body["configurations"][0]["quality"] == 0.75
    assert body["quality"] == "accuracy"
    assert body["objective"]["id"] == "runs_per_h"
    first, page = (place / "study.json").read_bytes(), (place / "study.html").read_bytes()
    report = document["runs"][0]["report"]
    assert "<h1" in (place / unquote(report)).read_text(encoding="utf-8")
    assert f'href="{report}"' in page.decode()
    output = place / "runs" / "001-kind=well-r1" / "stdout.txt"
    assert output.read_text() == "accuracy 0.5 accuracy 0.75\n"
    # nothing is run again, and everything comes out the same
    assert main(["sweep", "--resume", "-o", str(place)]) == ExitCode.OK
    assert "5 of 5 runs are finished" in capfd.readouterr().err
    assert (place / "study.json").read_bytes() == first
    assert (place / "study.html").read_bytes() == page


def test_the_last_lines_of_a_failed_run_show_no_secret(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said = "print('password:\\n  swordfish1', file=sys.stderr); sys.exit('it failed')"
    words = [
        "sweep",
        "-o",
        str(tmp_path / "sweep"),
        "--",
        sys.executable,
        "-c",
        f"import sys; {said}",
    ]
    assert main(words) == ExitCode.OK
    shown = capfd.readouterr().err
    assert "it failed" in shown
    assert "swordfish1" not in shown


def test_a_command_that_does_not_exist_is_a_failed_run(tmp_path: Path) -> None:
    place = tmp_path / "sweep"
    assert main(["sweep", "-o", str(place), "--", "./no-such-program"]) == ExitCode.OK
    (only,) = study(place)["sweep"]["configurations"]
    assert (only["status"], only["end"]) == ("failed", "not_started")
    assert study(place)["verdict"]["status"] == "fail"


def test_a_directory_with_other_things_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "thesis.tex").write_text("")
    assert main(["sweep", "-o", ".", "--", "true"]) == ExitCode.USAGE
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_does_not_fit_is_not_run(
    tmp_path: Path, job: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "sweep"
    words = ["sweep", "--env", "OMP_NUM_THREADS=1,100000", "-o", str(place)]
    assert main([*words, "--", *job, "well"]) == ExitCode.OK
    assert "--oversubscribe runs them anyway" in capfd.readouterr().err
    first, second = study(place)["sweep"]["configurations"]
    assert (first["status"], second["status"]) == ("measured", "refused")
    assert "1 rank × 100,000 threads = 100,000 on" in second["reason"]
    # told so, it runs the rest
    assert main([*words, "--oversubscribe", "--", *job, "well"]) == ExitCode.OK
    assert [row["status"] for row in study(place)["sweep"]["configurations"]] == ["measured"] * 2


@pytest.mark.parametrize(
    "words",
    [
        ["--", "true", "{x}"],
        ["--var", "x=1,2", "--", "true"],
        ["--env", "X", "--", "true"],
        ["--configs", "none.yaml", "--", "true"],
        ["--metric", "(", "--", "true"],
        ["--metric", "no group", "--", "true"],
        ["--throughput", "x", "--", "true"],
        ["--env", "OMP_NUM_THREADS=100000", "--", "true"],
        [],
        ["--time-limit", "soon", "--", "true"],
        ["--time-limit", "-3", "--", "true"],
        ["--repeat", "0", "--", "true"],
        ["--steps", "9:3", "--", "true"],
    ],
)
def test_senseless_words_are_refused_before_anything_is_written(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", *words]) == ExitCode.USAGE
    assert list(tmp_path.iterdir()) == []
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--resume"], ["--resume", "--only", "1"]])
def test_nothing_to_go_on_with(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", *words, "-o", str(tmp_path / "none")]) == ExitCode.UNREADABLE
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_resume_takes_no_other_configurations(tmp_path: Path, job: list[str]) -> None:
    place = str(tmp_path / "sweep")
    assert main(["sweep", "-o", place, "--", *job, "well"]) == ExitCode.OK
    assert main(["sweep", "--resume", "--env", "X=1", "-o", place]) == ExitCode.USAGE
    assert main(["sweep", "-o", place, "--", *job, "exit"]) == ExitCode.USAGE
    assert main(["sweep", "--resume", "--repeat", "2", "-o", place]) == ExitCode.OK
    assert len(study(Path(place))["runs"]) == 2


def test_a_search_tries_some_and_goes_on(
    tmp_path: Path, job: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "sweep"
    words = ["sweep", "--env", "X=1,2,4,8", "--search", "2", "-o", str(place), "--", *job, "well"]
    assert main(words) == ExitCode.OK
    assert "run 2 of 2" in capfd.readouterr().err
    tried = sorted((place / "runs").iterdir())
    assert len(tried) == 2
    assert main(words) == ExitCode.OK
    assert sorted((place / "runs").iterdir()) == tried
    document = study(place)
    statuses = [row["status"] for row in document["sweep"]["configurations"]]
    assert sorted(statuses) == ["measured", "measured", "missing", "missing"]
    assert "2 of 4 not tried" in document["verdict"]["sentence"]


def test_a_dry_run_lists_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sweep", "--var", "x=1,2", "--repeat", "3", "--dry-run", "-o", str(tmp_path / "s")]
    assert main([*words, "--", "prog", "--lr={x}", "\x1b[31m"]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert "prog --lr=2" in shown
    assert "2 configurations, 6 runs" in shown
    assert "\x1b" not in shown
    assert not (tmp_path / "s").exists()


def test_job_scripts_are_shell_and_their_runs_are_collected(
    tmp_path: Path, job: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    if shutil.which("bash") is None:
        missing("bash, to check job scripts")
    place, scripts = tmp_path / "sweep", tmp_path / "my jobs"
    words = ["sweep", "--var", 'kind=well,"it\'s $(touch hacked)\nx"', "--time-limit", "30s"]
    words += ["--sbatch", str(scripts), "--sbatch-option=--partition=short\ntouch hacked"]
    assert main([*words, "-o", str(place), "--", *job, "{kind}"]) == ExitCode.OK
    assert "perfscope sweep --resume -o" in capfd.readouterr().out
    written = sorted(scripts.glob("*.sbatch"))
    assert len(written) == 2
    for path in [*written, scripts / "submit-all.sh"]:
        subprocess.run(["bash", "-n", path], check=True)
        assert path.stat().st_mode & 0o077 == 0
    text = written[0].read_text()
    assert "#SBATCH --ntasks=1\n" in text
    assert "#SBATCH --time=3\n" in text
    assert "\ntouch" not in "".join(path.read_text() for path in written)
    subprocess.run(["bash", written[0]], check=True, cwd=tmp_path, capture_output=True)
    assert not list(tmp_path.rglob("hacked"))
    assert main(["sweep", "--resume", "-o", str(place)]) == ExitCode.OK
    assert [row["status"] for row in study(place)["sweep"]["configurations"]] == [
        "measured",
        "missing",
    ]


def test_ctrl_c_leaves_a_sweep_that_can_go_on(tmp_path: Path, job: list[str]) -> None:
    place = tmp_path / "sweep"
    command = [sys.executable, "-m", "perfscope", "sweep", "--var", "kind=long", "-o", str(place)]
    command += ["--", *job, "{kind}"]
    sweep = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    output = place / "working" / "001-kind=long-r1" / "recording" / "run.json"
    wait_for("the run", output.exists)
    time.sleep(0.2)
    sweep.send_signal(signal.SIGINT)
    _, said = sweep.communicate(timeout=30)
    assert sweep.returncode == 130
    assert "perfscope sweep --resume -o" in said
    assert "0 of 1 runs are finished" in said
    assert not list((place / "runs").iterdir())
    assert main(["sweep", "--resume", "--no-run", "-o", str(place)]) == ExitCode.OK
    assert study(place)["verdict"]["status"] == "info"
