"""`perfscope analyze`: files, exit codes, gates, errors."""

import json
from pathlib import Path
from typing import Any

import pytest

from perfscope.cli.main import main
from perfscope.errors import ExitCode
from perfscope.readers.recording.layout import HeaderFlag, SampleKind
from perfscope.schema.check import problems
from perfscope.schema.enums import PhaseKind
from tests.support.write_recording import ProcessWriter, write_run

NO_ID = 0xFFFFFFFF


def write_recording(
    directory: Path,
    *,
    evaluate_s: float = 1.0,
    flags: HeaderFlag | None = None,
    kind: PhaseKind = PhaseKind.EVALUATE,
) -> None:
    """Two ranks that train 20 steps of 0.4 s; rank 0 evaluates after every fifth, or so."""
    processes = [ProcessWriter(rank=rank, size=2, pid=100 + rank) for rank in (0, 1)]
    for process in processes:
        process.communicator(0, 77, [0, 1])
        process.op("MPI_Init", 0.1, 1.0, comm=NO_ID, seq=NO_ID)
    at = 1.0
    for number in range(20):
        evaluates = number % 5 == 4
        for process in processes:
            begin = at
            if evaluates and process.rank == 0:
                process.phase(kind, begin, begin + evaluate_s, kind.name.lower())
                if evaluate_s > 0.1:
                    process.stack(begin + 0.05, [("evaluate", "/job/train.py", 212)])
                begin += evaluate_s
            process.phase(PhaseKind.TRAIN, begin, begin + 0.4)
            process.step(number, begin, begin + 0.4, sent=32, received=64)
            end = at + (evaluate_s if evaluates else 0.0) + 0.41
            process.op("MPI_Allreduce", begin + 0.4, end, sent=80, received=80)
            process.sample(SampleKind.PROCESS, begin, sent=1 << 20, peer=3, tag=1)
        at = end
    for process in processes:
        process.op("MPI_Finalize", at, at + 0.1, comm=NO_ID, seq=NO_ID)
        process.header |= {
            "init_exit_ns": process.mono(1.0),
            "finalize_enter_ns": process.mono(at),
            "alive_ns": process.mono(at + 0.2),
            "exit_ns": process.mono(at + 0.2),
        }
        process.metadata = {"schema": 1, "role": "rank", "rank_environment": {}}
        process.flags = process.flags if flags is None else flags
        process.write(directory)
    write_run(directory)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording in which rank 0 evaluates alone."""
    write_recording(tmp_path / "trace")
    return tmp_path / "trace"


def analysis(directory: Path) -> dict[str, Any]:
    document = json.loads((directory / "analysis.json").read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def test_writes_both_files_and_says_what_it_found(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in recording.rglob("*") if path.is_file()}
    assert main(["analyze", str(recording)]) == ExitCode.OK
    document = analysis(recording)
    assert list(problems(document)) == []
    assert document["verdict"]["top"] == ["rank_zero_evaluation"]
    assert document["findings"][0]["gain_s"] == pytest.approx(4.0, abs=0.01)
    assert document["replay"]["relative_error"] < 1e-6
    assert (recording / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    for path, content in before.items():
        assert path.read_bytes() == content
    out, err = capsys.readouterr()
    assert "Verdict: Rank 0 evaluates alone in evaluate() (train.py:212)" in " ".join(out.split())
    assert "".join(out.splitlines()[-3:]).replace(" ", "").endswith("report.html")
    assert err == ""


def test_json_on_stdout_is_the_file(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = recording.parent / "tables"
    options = ["--json", "--no-report", "--csv", str(tables)]
    assert main(["analyze", str(recording), *options]) == ExitCode.OK
    assert (tables / "ledger-table.csv").is_file()
    assert capsys.readouterr().out == (recording / "analysis.json").read_text(encoding="utf-8")
    assert not (recording / "report.html").exists()


def test_same_recording_same_bytes(recording: Path) -> None:
    results = []
    for _ in range(2):
        main(["analyze", str(recording)])
        results.append(
            [(recording / name).read_bytes() for name in ("analysis.json", "report.html")]
        )
    assert results[0] == results[1]


def test_output_goes_elsewhere(recording: Path, tmp_path: Path) -> None:
    assert main(["analyze", str(recording), "-o", str(tmp_path / "a" / "b")]) == ExitCode.OK
    assert analysis(tmp_path / "a" / "b")["run"]["ranks"] == 2
    assert not (recording / "analysis.json").exists()


def test_unwritable_output_suggests_another(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", str(recording), "--output", "/proc/nothing"]) == ExitCode.USAGE
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert "--output" in lines[2]


def test_a_report_that_cannot_be_written_leaves_no_rest(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    (output / "report.html").mkdir(parents=True)
    assert main(["analyze", str(recording), "-o", str(output)]) == ExitCode.USAGE
    assert "report.html" in capsys.readouterr().err
    assert {path.name for path in output.iterdir()} == {"analysis.json", "report.html"}


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        (["--fail-under", "0.99"], ExitCode.GATE_FAILED),
        (["--fail-under", "0.1"], ExitCode.OK),
        (["--fail-on", "rank_zero_evaluation"], ExitCode.GATE_FAILED),
        (["--fail-on", "load_imbalance"], ExitCode.OK),
        (["--fail-on", "fail"], ExitCode.GATE_FAILED),
        (["--fail-on", "warn"], ExitCode.GATE_FAILED),
        (["--fail-on", "load_imbalance", "--fail-on", "fail"], ExitCode.GATE_FAILED),
    ],
)
def test_gates(
    recording: Path, gate: list[str], code: ExitCode, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", str(recording), "--no-report", *gate]) == code
    assert ("Gate failed" in capsys.readouterr().err) == (code == ExitCode.GATE_FAILED)


def test_healthy_run_passes_every_gate(tmp_path: Path) -> None:
    write_recording(tmp_path, evaluate_s=0.0001)
    command = ["analyze", str(tmp_path), "--no-report", "--fail-on", "warn", "--fail-under", "0.9"]
    assert main(command) == ExitCode.OK


def test_unknown_gate_is_a_usage_error(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(recording), "--fail-on", "nonsense"]) == ExitCode.USAGE
    assert "load_imbalance" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", [["--phase", "nonsense"], ["--foa", "nonsense"], ["--foa", "phase:no-such"]]
)
def test_options_that_make_no_sense(recording: Path, option: list[str]) -> None:
    assert main(["analyze", str(recording), *option]) == ExitCode.USAGE


def test_focus_can_be_narrowed(recording: Path) -> None:
    assert main(["analyze", str(recording), "--no-report", "--foa", "2:4"]) == ExitCode.OK
    document = analysis(recording)
    start, end = document["run"]["focus_of_analysis_s"]
    assert end - start == pytest.approx(2.0)
    assert document["replay"]["relative_error"] < 1e-6


def test_gains_are_told_of_the_planned_run(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """20 steps were recorded: 2,000 save a hundred times as much."""
    options = ["--no-report", "--planned-steps", "2000"]
    assert main(["analyze", str(recording), *options]) == ExitCode.OK
    assert "of 2,000 planned steps: " in " ".join(capsys.readouterr().out.split())
    document = analysis(recording)
    assert list(problems(document)) == []
    findings = {finding["id"]: finding for finding in document["findings"]}
    evaluation = findings["rank_zero_evaluation"]
    assert evaluation["gain_s"] == pytest.approx(4.0, rel=0.02)
    assert evaluation["planned"]["steps"] == 2000
    first_s = evaluation["first_action"]["gain_s"]
    assert first_s == pytest.approx(2.0, rel=0.02)  # both ranks share the evaluation
    assert evaluation["planned"]["gain_s"] == pytest.approx(100 * first_s)
    for finding in findings.values():
        assert (finding["planned"] is None) == (finding["first_action"] is None), finding["id"]


def test_a_run_cut_short_is_told_by_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_recording(tmp_path, flags=HeaderFlag.MPI)
    assert main(["analyze", str(tmp_path)]) == ExitCode.INCOMPLETE
    assert (tmp_path / "report.html").exists()
    assert "Damaged recording: The run was cut short" in capsys.readouterr().err
    assert main(["analyze", str(tmp_path), "--no-report", "--no-strict"]) == ExitCode.OK
    assert capsys.readouterr().err == ""


def test_a_lost_rank_is_the_verdict(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One file of two is cut inside its header: nothing is told that needs its rank."""
    lost = next(path for path in sorted(recording.rglob("*.rec")) if "101" in path.name)
    lost.write_bytes(lost.read_bytes()[:100])
    assert main(["analyze", str(recording), "--fail-under", "0.5"]) == ExitCode.INCOMPLETE
    assert (recording / "report.html").exists()
    document = analysis(recording)
    assert list(problems(document)) == []
    verdict = document["verdict"]
    assert verdict["status"] == "fail"
    assert verdict["sentence"].startswith("Rank 1 of 2 ranks is missing")
    for name in ("parallel_efficiency", "load_balance", "communication_efficiency"):
        assert document["metrics"][name]["value"] is None
        assert "rank 1 of 2 ranks is missing" in document["metrics"][name]["reason"]
    assert document["run"]["throughput"]["samples_per_s"]["value"] is None
    assert {finding["gain_s"] for finding in document["findings"]} == {None}
    assert not any(f["status"] == "pass" and f["id"] == "data_stall" for f in document["findings"])
    said = capsys.readouterr().err
    assert "Gate failed: parallel efficiency not available (rank 1 of 2" in said


@pytest.mark.parametrize("name", ["nothing-here", "empty"])
def test_unreadable_input(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["analyze", str(tmp_path / name)]) == ExitCode.UNREADABLE
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert "Traceback" not in "".join(lines)


def test_verbose_shows_the_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(tmp_path / "no"), "-v"]) == ExitCode.UNREADABLE
    assert "Traceback" in capsys.readouterr().err


def test_output_may_name_the_page_itself(tmp_path: Path) -> None:
    write_recording(tmp_path / "run")
    page = tmp_path / "results" / "monday.html"
    assert main(["analyze", str(tmp_path / "run"), "-o", str(page)]) == ExitCode.OK
    assert sorted(path.name for path in page.parent.iterdir()) == ["monday.html", "monday.json"]
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_directory_may_end_like_a_page(tmp_path: Path) -> None:
    write_recording(tmp_path / "run")
    place = tmp_path / "results.html"
    place.mkdir()
    assert main(["analyze", str(tmp_path / "run"), "-o", str(place)]) == ExitCode.OK
    assert (place / "report.html").is_file()
