"""A recorded program of messages and collectives of all kinds is replayed as it was."""

from pathlib import Path

import pytest

from benchmarks.replay import oracle
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.readers import open_recording
from perfscope.replay.model import Edit
from perfscope.replay.segments import SegmentReplay
from tests.support.environments import Mpi
from tests.support.recording import Recorder

PROGRAM = Path(__file__).parents[1] / "programs" / "many_calls.py"
RANKS = 4


def test_replay_of_a_real_program(record: Recorder, any_mpi: Mpi) -> None:
    recorded = record(any_mpi.python_command(RANKS, PROGRAM), variables=any_mpi.variables)
    assert recorded.exit_code == 0, recorded.stderr
    results = compute(open_recording(recorded.directory), Options())
    replay = SegmentReplay(results)
    assert replay.reason == ""
    assert replay.relative_error == pytest.approx(0.0, abs=1e-6)
    program, found = replay.program, replay.causes
    assert program is not None
    assert found is not None
    length_s = results.focus.length_ns * 1e-9
    plain = oracle.replay(program)
    assert plain.length * 1e-9 == pytest.approx(length_s, rel=1e-6)
    assert found.path.seconds == pytest.approx(length_s, rel=1e-6)
    assert replay.ideal_runtime_s is not None
    assert replay.ideal_runtime_s <= length_s
    told = sum(delay.seconds for delay in found.delays) + found.unattributed_s
    assert told == pytest.approx(found.waiting_s)
    idle = replay.predict([Edit(ranks=(0,))])
    assert idle is not None
    assert idle.gain_s > 0
