"""Calls that address MPI_PROC_NULL leave no message in a Paraver trace, and wait for nobody."""

from pathlib import Path
from typing import Any

import pytest

from perfscope.document.analysis import analysis
from perfscope.document.invariants import broken
from perfscope.metrics.results import Options
from perfscope.readers.paraver.reader import open_paraver
from perfscope.trace.model import PEER_NONE, PEER_PROC_NULL, Trace
from tests.support.paraver_files import by_time, call, header, states, world, write

SEND, RECV, SENDRECV = 1, 2, 41
STEPS, STEP_US = 20, 1000


def chain(
    path: Path, *, combined: bool = False, kept: bool = True, whole: bool = True, null_us: int = 1
) -> Trace:
    """Two tasks: the first sends to the second, which waits for it; their other sides are nobody.

    The first one works 400 us of each step before it sends, the second 200 us.
    """
    lines = []
    for at in range(0, STEPS * STEP_US, STEP_US):
        if combined:
            lines += [*call(1, 1, SENDRECV, at + 400, at + 402)]
            lines += [*call(2, 1, SENDRECV, at + 200, at + 402)]
        else:
            lines += [*call(1, 1, SEND, at + 400, at + 401)]
            lines += [*call(1, 1, RECV, at + 401, at + 401 + null_us)]
            lines += [*call(2, 1, RECV, at + 200, at + 402), *call(2, 1, SEND, at + 402, at + 403)]
        if kept:
            sent, posted, taken = f"{at + 400}000", f"{at + 200}000", f"{at + 402}000"
            lines.append(f"3:1:1:1:1:{sent}:{sent}:1:1:2:1:{posted}:{taken}:8:5")
    for task, arrives, leaves in ((1, 400, 401 + null_us), (2, 200, 403)):
        for at in range(0, STEPS * STEP_US, STEP_US):
            lines += states(task, 1, (at, at + arrives, 1), (at + arrives, at + leaves, 4))
            lines += states(task, 1, (at + leaves, at + STEP_US, 1))
        lines.append(f"2:1:1:{task}:1:{STEPS * STEP_US}000:40000001:0")
    length_us = STEPS * STEP_US * (1 if whole else 2)
    return open_paraver(write(path, header(length_us, [1, 1], 1), [world(2), *by_time(lines)]))


@pytest.mark.parametrize("combined", [False, True])
def test_nobody_is_waited_for_and_the_run_is_replayed(tmp_path: Path, combined: bool) -> None:
    trace = chain(tmp_path / "a.prv", combined=combined)
    first, second = trace.ranks[0].operations, trace.ranks[1].operations
    if combined:
        assert set(first["seq"]) == {PEER_PROC_NULL}
        assert set(second["peer"]) == {PEER_PROC_NULL}
        assert set(second["seq"]) == {0}
    else:
        assert first["peer"].tolist() == [1, PEER_PROC_NULL] * STEPS
        assert second["peer"].tolist() == [0, PEER_PROC_NULL] * STEPS
    found = analysis(trace, Options())
    assert broken(found) == []
    assert found["replay"]["relative_error"] == pytest.approx(0.0)
    assert found["collectives"]["wait_s_by_rank"] == pytest.approx([0.0, STEPS * 200e-6], abs=1e-6)
    assert found["collectives"]["other_s_by_rank"] == pytest.approx([0.0, 0.0], abs=1e-9)
    delay = found["replay"]["delay_costs"]["causes"][0]
    assert delay["rank"] == 0


@pytest.mark.parametrize(
    "oddity", [{"whole": False}, {"kept": False}, {"null_us": 300}], ids=["cut", "filtered", "slow"]
)
def test_messages_that_may_be_missing_are_not_nobody(
    tmp_path: Path, oddity: dict[str, Any]
) -> None:
    """A file that is cut, one whose messages were filtered, calls that did wait for somebody."""
    trace = chain(tmp_path / "a.prv", **oddity)
    silent = trace.ranks[0].operations["peer"][1::2]
    assert set(silent) == {PEER_NONE}
    assert analysis(trace, Options())["replay"]["critical_path"] is None
