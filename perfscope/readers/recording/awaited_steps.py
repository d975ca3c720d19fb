"""Steps whose calls return before their work is done: what they take is seen when it is awaited.

A wait is for all that was begun since the wait before. So it is shared among these steps, each of
which keeps what its own calls took, as compiling does: the begin of the second of three steps moves
by a third of the wait, that of the third one by two thirds, and the last one's end stays.

Steps that were called while an evaluation went on begin behind it: devices work in the order of the
calls.
"""

import numpy as np

from perfscope.arrays import Bools
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Rank, Table
from perfscope.units import counted

NAME = "perfscope.wait"
"""What the agent calls a wait among the phases; it is none."""


def share_waits(rank: Rank, names: list[str]) -> list[str]:
    """Takes the waits out of the rank's phases and gives them to its steps.

    What is to be said of it is returned.
    """
    if NAME not in names:
        return []
    rows: Bools = rank.phases["name"] == names.index(NAME)
    waits, rank.phases = rank.phases[rows], rank.phases[~rows]
    begun = np.searchsorted(rank.steps["t0"], waits["t0"], side="right") - 1
    known = begun >= 0
    waits, begun = waits[known], begun[known]
    spent_ns = np.bincount(begun, waits["t1"] - waits["t0"], minlength=len(rank.steps))
    last = np.unique(begun)
    first = np.concatenate(([0], last[:-1] + 1)) if len(last) else last
    shared = 0
    for start, stop in zip(first.tolist(), (last + 1).tolist(), strict=True):
        steps = rank.steps[start:stop]
        if _follow(steps):
            _begin_behind(rank, steps)
        if stop - start > 1 and _follow(steps):
            _share(steps, int(spent_ns[stop - 1]))
            shared += stop - start
    if not shared:
        return []
    said = (
        f"Rank {rank.number}: {counted(shared, 'step')} returned before the work was done: how "
        "long each took is not known, and each has an equal part of the wait for all."
    )
    return [said]


def _begin_behind(rank: Rank, steps: Table) -> None:
    """Moves what lies in an evaluation that was under way when the first of the steps began."""
    evaluations = rank.phases[rank.phases["kind"] == PhaseKind.EVALUATE]
    is_under_way = (evaluations["t0"] < steps["t0"][0]) & (steps["t0"][0] < evaluations["t1"])
    end_ns = int(evaluations["t1"][is_under_way].max(initial=0))
    if end_ns < steps["t1"][-1]:
        for moments in ("t0", "t1"):
            steps[moments] = np.maximum(steps[moments], end_ns)


def _follow(steps: Table) -> bool:
    """Whether no step between the first and the last one was left out."""
    return bool(np.all(np.diff(steps["number"]) == 1))


def _share(steps: Table, wait_ns: int) -> None:
    """Moves the begins and ends of steps; a wait that lies in part beyond the last is cut."""
    count = len(steps)
    wait_ns = min(wait_ns, int(steps["t1"][-1] - steps["t0"][-1]))
    moved = wait_ns * np.arange(1, count, dtype=np.int64) // count
    steps["t0"][1:] += moved
    steps["t1"][:-1] += moved
