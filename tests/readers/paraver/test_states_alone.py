"""Traces whose states show communication that has no calls: nothing claims that it was work."""

from pathlib import Path
from typing import Any

import pytest

from perfscope.document.analysis import analysis
from perfscope.document.invariants import broken
from perfscope.metrics.results import Options
from perfscope.readers.paraver.reader import open_paraver
from tests.support.paraver_files import by_time, call, header, states, world, write

WAITING, SENDING, COLLECTIVE = 3, 4, 13


def document(path: Path, *, state: int, calls: int) -> dict[str, Any]:
    """Two tasks that run 40 and 80 of every 100 us, and are in one state from then to 90 us.

    The first `calls` of ten such rounds hold the call that the task was in.
    """
    lines = []
    for task, work in ((1, 40), (2, 80)):
        for turn in range(10):
            at = 100 * turn
            spans = [(at, at + work, 1), (at + work, at + 90, state), (at + 90, at + 100, 1)]
            lines += states(task, 1, *spans)
            if turn < calls:
                lines += call(task, 2, 8, at + work, at + 90, ":50100004:1")
        lines.append(f"2:1:1:{task}:1:1000000:40000001:0")
    path = write(path, header(1000, [1, 1], 1), [world(2), *by_time(lines)])
    found = analysis(open_paraver(path), Options())
    assert broken(found) == []
    return found


@pytest.mark.parametrize("state", [WAITING, SENDING, COLLECTIVE])
@pytest.mark.parametrize("calls", [0, 5])
def test_no_efficiency_without_the_calls(tmp_path: Path, state: int, calls: int) -> None:
    """Useful is 0.7 of the time; outside of the calls that are there, it would be 1 or 0.85."""
    found = document(tmp_path / "a.prv", state=state, calls=calls)
    metric = found["metrics"]["parallel_efficiency"]
    assert metric["value"] is None
    assert "the states of rank 0 show" in metric["reason"]
    by_state = found["hardware"]["variants"]["pop"]["parallel_efficiency"]["value"]
    assert by_state == pytest.approx(0.7)
    assert "All is well" not in found["verdict"]["sentence"]
    accounts = {row["id"]: row["seconds"] for row in found["ledger"]}
    assert accounts["computation"] == 0.0
    assert accounts["untraced"] > 0.0


def test_states_beside_their_calls_are_no_other_communication(tmp_path: Path) -> None:
    found = document(tmp_path / "a.prv", state=COLLECTIVE, calls=10)
    assert found["metrics"]["parallel_efficiency"]["value"] == pytest.approx(0.7)
    assert found["unlabeled"]["seconds"] == 0.0
