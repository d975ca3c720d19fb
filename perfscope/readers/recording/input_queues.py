"""Input queues that the agent saw: phase records that become a table of their own.

The agent names them `perfscope.queue RS put|get RS number` (RS: 0x1E), with the depth of the queue
as their epoch. A get stays a phase of the rank as well, as input wait, unless a phase that is input
wait already lies around it.
"""

import numpy as np

from perfscope.arrays import Bools
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Rank, RowFlag, Table
from perfscope.trace.queues import QUEUE_DTYPE

PACKAGE = "perfscope.queue"
SEPARATOR = "\x1e"
NAME = "input queue"
MOST_NUMBERS = 4  # digits


def adopt_queues(rank: Rank, names: list[str]) -> None:
    """Fills `Rank.queues` from the rank's phases, and takes out what is no phase of it.

    The name of a get is added to `names`.
    """
    own = [place for place, name in enumerate(names) if name.startswith(PACKAGE)]
    calls = {place: found for place in own if (found := _parsed(names[place]))}
    if not calls:
        return
    phases = rank.phases
    rows = np.isin(phases["name"], list(calls)) & (phases["kind"] == PhaseKind.INPUT)
    if not np.any(rows):
        return
    found = phases[rows]
    queues = np.zeros(len(found), QUEUE_DTYPE)
    for column in ("t0", "t1", "tid"):
        queues[column] = found[column]
    queues["depth"] = found["epoch"]
    queues["queue"] = [calls[name][1] for name in found["name"].tolist()]
    queues["is_get"] = [calls[name][0] for name in found["name"].tolist()]
    sound = (found["epoch"] > 0) & ((found["flags"] & RowFlag.OPEN) == 0)
    rank.queues = queues[sound]
    gets = found[sound & queues["is_get"] & (found["tid"] == rank.main_tid)]
    others = phases[~rows]
    gets = gets[~_inside_input(gets, others, rank.main_tid)]
    gets["epoch"] = -1
    if len(gets):
        gets["name"] = _index(names, NAME)
    merged = np.concatenate([others, gets])
    rank.phases = merged[np.lexsort((-merged["t1"], merged["t0"]))]


def _parsed(name: str) -> tuple[bool, int] | None:
    """Whether a name is of a get, and the number of its queue; None for other names."""
    parts = name.split(SEPARATOR)
    if len(parts) != 3 or parts[0] != PACKAGE or parts[1] not in ("put", "get"):
        return None
    number = parts[2]
    if not (number.isascii() and number.isdigit() and len(number) <= MOST_NUMBERS):
        return None
    return parts[1] == "get", int(number)


def _index(names: list[str], name: str) -> int:
    if name not in names:
        names.append(name)
    return names.index(name)


def _inside_input(gets: Table, others: Table, tid: int) -> Bools:
    """Which gets are all that a phase of input wait around them waits for."""
    around = others[(others["kind"] == PhaseKind.INPUT) & (others["tid"] == tid)]
    result = np.zeros(len(gets), np.bool_)
    if not len(around) or not len(gets):
        return result
    place = np.searchsorted(around["t0"], gets["t0"], side="right") - 1
    inside = (place >= 0) & (gets["t1"] <= around["t1"][np.maximum(place, 0)])
    counts = np.bincount(place[inside], minlength=len(around))
    result[inside] = counts[place[inside]] == 1
    return result
