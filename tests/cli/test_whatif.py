"""`perfscope whatif`: the words for edits, their predictions, and what cannot be predicted."""

import json
from pathlib import Path
from typing import Any

import pytest

from perfscope.cli.main import main
from perfscope.cli.whatif import AS_RECORDED
from perfscope.errors import ExitCode
from perfscope.findings.facts import facts
from perfscope.findings.facts.outside_load import OutsideLoad
from perfscope.replay.edit_parser import FORMS, parse_edit
from perfscope.replay.model import Edit, Level
from perfscope.savings import SHARED_HOST
from perfscope.schema.enums import Account
from tests.cli.test_analyze import write_recording

RANKS = (0, 1, 2, 5)
PHASES = ("forward", "evaluate", "user:score")


def edit(text: str) -> Edit:
    return parse_edit(text, ranks=RANKS, phases=PHASES).edit


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("remove:evaluation", Edit(Account.EVALUATION)),
        ("remove:evaluation@0", Edit(Account.EVALUATION, (0,))),
        ("remove:forward@1-5", Edit(phase="forward", ranks=(1, 2, 5))),
        ("remove:score", Edit(phase="user:score")),
        ("scale:training:0.5@0,5", Edit(Account.TRAINING, (0, 5), factor=0.5)),
        ("every:10:evaluation", Edit(Account.EVALUATION, keep_every=10)),
        ("background:evaluation@0", Edit(Account.EVALUATION, (0,), background=True)),
        ("share:evaluation", Edit(Account.EVALUATION, level=Level.SHARED)),
        ("balance", Edit(level=Level.EVEN)),
        ("balance:training", Edit(Account.TRAINING, level=Level.EVEN)),
        ("straggler@2", Edit(ranks=(2,), level=Level.AS_OTHERS)),
        ("network:4", Edit(factor=1.0, network=4.0)),
        ("network:inf", Edit(factor=1.0, network=float("inf"))),
        ("never-starved@1", Edit(Account.INPUT_WAIT, (1,))),
        ("producers:3", Edit(factor=1.0, ranks=RANKS, producers=3)),
        ("producers:3@1", Edit(factor=1.0, ranks=(1,), producers=3)),
        ("bytes:0.5", Edit(factor=1.0, bytes=0.5)),
        ("bytes:0.5@allreduce", Edit(factor=1.0, bytes=0.5, operation="allreduce")),
        ("fuse:1024", Edit(factor=1.0, fuse_bytes=1024)),
        ("fuse:64M", Edit(factor=1.0, fuse_bytes=64 << 20)),
        ("fuse:2KiB", Edit(factor=1.0, fuse_bytes=2048)),
        ("overlap", Edit(factor=1.0, overlap=1.0)),
        ("overlap:0.8", Edit(factor=1.0, overlap=0.8)),
    ],
)
def test_words_of_edits(text: str, expected: Edit) -> None:
    assert edit(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no edit ''"),
        ("delete:evaluation", "there is no edit 'delete'"),
        ("remove", "remove is written as remove:WHAT"),
        ("remove:lunch", "'lunch' is no kind of work"),
        ("remove:communication_wait", "no kind of work"),
        ("remove:evaluation@9", "the run has no rank 9"),
        ("remove:evaluation@", "names no ranks"),
        ("remove:evaluation@1-x", "names no ranks"),
        ("scale:training:nan", "'nan' is not a number"),
        ("scale:training:-1", "cannot be scaled by -1"),
        ("scale:training:inf", "cannot be scaled by inf"),
        ("scale:training:1e10", "cannot be scaled by 1e10"),
        ("scale:training:1e308", "cannot be scaled by 1e308"),
        ("every:0:evaluation", "'0' is not how often"),
        ("network:0", "cannot be 0 times as fast"),
        ("network:1e-10", "cannot be 1e-10 times as fast"),
        ("network:1e-320", "cannot be 1e-320 times as fast"),
        ("network:2@1", "network takes no ranks"),
        ("producers:0", "'0' is no number of producers"),
        ("producers:x", "'x' is no number of producers"),
        ("bytes:0", "carry 0 times the bytes"),
        ("bytes:inf", "carry inf times the bytes"),
        ("bytes:0.5@0,1", "'0,1' is no operation"),
        ("fuse:0", "'0' is no number of bytes"),
        ("fuse:many", "'many' is no number of bytes"),
        ("fuse:1M@0", "fuse takes no ranks"),
        ("overlap:2", "2 is no share"),
        ("overlap:0", "0 is no share"),
        ("straggler", "straggler needs its ranks"),
        ("straggler:3", "straggler is written as straggler@RANKS"),
    ],
)
def test_what_is_no_edit_says_why(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        edit(text)
    assert reason in str(caught.value)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two ranks, 20 steps of 0.4 s; rank 0 evaluates for 1 s after every fifth, the other waits."""
    directory = tmp_path / "trace"
    write_recording(directory)
    return directory


def predictions(
    recording: Path, capsys: pytest.CaptureFixture[str], *arguments: str
) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["whatif", str(recording), "--json", *arguments]) == ExitCode.OK
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_gains_are_those_of_the_program(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = predictions(
        recording,
        capsys,
        *("--edit", "remove:evaluation@0"),
        *("--edit", "every:2:evaluation@0"),
        *("--edit", "network:inf"),
        *("--planned-steps", "2000"),
    )
    removed, halved, network, together = found["predictions"]
    assert found["replay_relative_error"] == pytest.approx(0.0, abs=1e-9)
    assert removed["gain_s"] == pytest.approx(4.0, rel=0.02)
    assert halved["gain_s"] == pytest.approx(2.0, rel=0.02)
    assert network["gain_s"] == pytest.approx(20 * 0.01, rel=0.02)
    assert together["gain_s"] == pytest.approx(4.0 + 0.2, rel=0.02)
    assert together["edits"] == ["remove:evaluation@0", "every:2:evaluation@0", "network:inf"]
    assert removed["planned"]["gain_s"] == pytest.approx(removed["gain_s"] * 100)
    assert removed["gain_interval_s"][0] <= removed["gain_s"] <= removed["gain_interval_s"][1]
    whole = found["focus_of_analysis_s"]
    assert removed["runtime_s"] == pytest.approx(whole - removed["gain_s"])
    assert removed["gain_share"] == pytest.approx(removed["gain_s"] / whole)


def test_on_shared_cpus_no_interval_is_told_and_what_is_priced_is(
    recording: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def load(*_: object) -> OutsideLoad:
        asked.append(1)
        return OutsideLoad((Edit(factor=0.5),))

    monkeypatch.setattr(facts, "outside_load", load)
    edits = ("--edit", "remove:evaluation@0", "--edit", "network:inf")
    rows = predictions(recording, capsys, *edits)["predictions"]
    assert len(rows) == 3
    assert len(asked) == 1
    for row in rows:
        assert row["gain_s"] > 0
        assert row["gain_interval_s"] is None
        assert row["assumptions"][-2:] == [AS_RECORDED, SHARED_HOST]


def test_work_in_the_background_must_still_be_done(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four evaluations of 1 s, five steps of 0.41 s apart; the last one ends behind the steps."""
    found = predictions(recording, capsys, "--edit", "background:evaluation@0")
    assert found["predictions"][0]["gain_s"] == pytest.approx(4.0 - (1.0 - 0.41), abs=0.05)


def test_a_person_reads_seconds_error_and_assumptions(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edits = ["--edit", "remove:evaluation@0", "--edit", "balance", "--planned-steps", "40000"]
    assert main(["whatif", str(recording), *edits]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert "Evaluation removed on rank 0" in shown
    assert "estimated saving: 4.0" in shown
    assert "as its steps vary" in shown
    assert "of 40,000 planned steps" in shown
    assert "Evaluation removed on rank 0; equally much work on all ranks" in shown
    assert "Replay error of the unchanged run: " in shown
    assert "Assumed: Work that is not edited keeps its measured duration" in shown


def test_a_wrong_edit_is_a_usage_error_that_lists_the_forms(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["whatif", str(recording), "--edit", "remove:lunch"]) == ExitCode.USAGE
    shown = capsys.readouterr().err
    assert "remove:lunch" in shown
    assert all(form in shown for form in FORMS)


def test_no_edit_is_a_usage_error(recording: Path) -> None:
    assert main(["whatif", str(recording)]) == ExitCode.USAGE


def test_an_edit_that_this_run_cannot_tell_is_null_with_a_reason(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--edit", "remove:evaluation@0", "--edit", "fuse:64M"]
    removed, fused, both = predictions(recording, capsys, *asked)["predictions"]
    assert removed["reason"] is None
    assert removed["gain_s"] == pytest.approx(4.0, rel=0.02)
    assert fused["gain_s"] is fused["gain_interval_s"] is fused["runtime_s"] is None
    assert "follow each other within a millisecond" in fused["reason"]
    assert both["reason"] == fused["reason"]
    assert main(["whatif", str(recording), "--edit", "fuse:64M"]) == ExitCode.GATE_FAILED
    assert "cannot be predicted: no allreduces" in capsys.readouterr().out


def test_a_run_that_cannot_be_replayed_says_why(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without its second rank nobody knows for whom the first one waits."""
    for path in recording.rglob("*"):
        if path.is_file() and "101" in path.name:
            path.unlink()
    capsys.readouterr()
    assert main(["whatif", str(recording), "--edit", "balance"]) == ExitCode.GATE_FAILED
    shown = capsys.readouterr().err
    assert "cannot be replayed" in shown
    assert "Rank 1 of 2 ranks is missing" in shown
