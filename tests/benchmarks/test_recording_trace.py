"""Generated recordings are what the recorder would have written of such a run."""

from pathlib import Path

from benchmarks.engine.many_ranks import SOURCE, write_many
from benchmarks.engine.recording_trace import CALLS_PER_ROUND, ROUNDS_PER_STEP, write_recording
from perfscope.matching.waits import split_operations
from perfscope.readers.recording.reader import open_recording
from perfscope.trace.model import Trace


def _recording(place: Path, ranks: int, calls: int) -> Trace:
    write_recording(place, ranks, calls)
    return open_recording(place)


def test_a_generated_recording_holds_the_calls_and_nothing_unusual(tmp_path: Path) -> None:
    trace = _recording(tmp_path / "run", 4, 4 * 3 * ROUNDS_PER_STEP * CALLS_PER_ROUND)
    assert trace.notes == []
    for rank in trace.ranks:
        assert len(rank.operations) == 3 * ROUNDS_PER_STEP * CALLS_PER_ROUND
        assert len(rank.steps) == 3
        assert sum(total[0] for total in rank.totals.values()) == len(rank.operations)


def test_every_message_and_collective_of_a_generated_recording_is_matched(tmp_path: Path) -> None:
    trace = _recording(tmp_path / "run", 4, 1)
    rounds = 2 * ROUNDS_PER_STEP
    waits = split_operations(trace)
    assert len(waits.instances) == 2 * rounds
    assert waits.messages.matched == 3 * 4 * rounds // 2
    assert waits.unmatched == {}


def test_many_ranks_are_made_of_two(tmp_path: Path) -> None:
    write_many(SOURCE, tmp_path / "run", 70, slow=(7,))
    trace, two = open_recording(tmp_path / "run"), open_recording(SOURCE)
    assert [rank.number for rank in trace.ranks] == list(range(70))
    assert {rank.host for rank in trace.ranks} == {"node0000", "node0001"}
    assert [len(rank.operations) for rank in trace.ranks] == [
        len(two.ranks[0].operations),
        *[len(two.ranks[1].operations)] * 69,
    ]
    assert trace.communicators[0].members == tuple(range(70))
    assert trace.damage == []
    assert trace.notes == []
