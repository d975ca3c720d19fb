"""What the Python agent writes through the library."""

from pathlib import Path

import pytest

from tests.native.recorder import running
from tests.native.recorder.decode import METRIC, NONE, PHASE, SAMPLE, STACK, STEP, Recording

AGENT, EXITED = 128, 16
CALLS, PYTHON = 7, 8
KEPT_NOTHING = 1 << 40


@pytest.fixture
def recording(library: Path, tmp_path: Path) -> Recording:
    """Of jobs/events.py, which ends with code 9."""
    command = running.python_command("events.py")
    job = running.run(command, library, tmp_path / "run")
    assert (job.exit_code, job.stderr) == (9, "")
    return job.recordings[0]


def test_phases_carry_name_step_and_epoch(recording: Recording) -> None:
    phases = recording.of_kind(PHASE)
    assert [(recording.names[r.comm], r.op, r.seq, r.tag) for r in phases] == [
        ("fit", 1, 7, 2),
        ("épreuve", 6, 8, -1),
        ("input", 5, 9, 1),
        ("open", 12, NONE, -1),
    ]
    outer, inner, known, still_open = phases
    assert outer.t0 <= inner.t0 <= inner.t1 <= outer.t1
    assert known.t1 - known.t0 == 1000
    assert still_open.t1 == 0


def test_steps_metrics_and_stacks(recording: Recording) -> None:
    [step] = recording.of_kind(STEP)
    assert (step.seq, step.tag, step.sent, step.received, step.t1 - step.t0) == (12, 3, 32, 64, 400)
    [metric] = recording.of_kind(METRIC)
    assert recording.names[metric.comm] == "loss"
    assert metric.sent == 0xBFC0000000000000  # -0.125 as an IEEE double
    assert (metric.seq, metric.tag) == (12, 3)
    [sample] = recording.of_kind(STACK)
    assert sample.tid == 4242
    frames = [recording.names[number] for number in recording.stacks[sample.comm]]
    assert frames == ["name 0", "name 1", "name 2"]


def test_sums_of_calls_and_blocks_of_python(recording: Recording) -> None:
    calls, python = (r for r in recording.of_kind(SAMPLE) if r.op in (CALLS, PYTHON))
    assert recording.names[calls.comm] == "predict"
    assert (calls.seq, calls.tag, calls.peer, calls.request) == (30, 20, 40, 700)
    assert calls.sent == KEPT_NOTHING - 512
    assert calls.received > 1 << 20
    assert python.sent == 1 << 40


def test_names_are_written_once(recording: Recording) -> None:
    texts = list(recording.names.values())
    assert len(texts) == len(set(texts))
    assert set(recording.names) == set(range(1, len(texts) + 1))
    assert "early" not in texts


def test_rank_flags_and_exit_code(recording: Recording) -> None:
    header = recording.header
    assert (header["rank"], header["size"], header["exit_code"]) == (3, 8, 9)
    assert recording.flags & (AGENT | EXITED) == AGENT | EXITED
    assert int(header["process_start_ns"]) <= int(header["mono0_ns"]) <= int(header["exit_ns"])
