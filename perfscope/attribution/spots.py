"""What stands behind each part of the timelines: phase, operation, awaited rank, and function."""

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Ints
from perfscope.attribution.ledger import INDEX
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.zoom import Level, Zoom
from perfscope.matching.intervals import NOTHING, Times
from perfscope.matching.pool import dense
from perfscope.schema.enums import Account
from perfscope.structures import dataclass
from perfscope.trace.operations import name_of

MOST_CELLS = 16_384
"""Of all rows together; of the levels of the zoom it is the finest one that has no more."""

PROBES = 8
"""Moments of a bin that are looked at: what it costs does not grow with the calls of a run."""

MOST_SPOTS = 26**2
"""That have a name of their own; more seldom ones are left out."""


@dataclass(frozen=True)
class Spot:
    """What a rank does: places in `Prepared.catalog` and in `Trace.frames`, -1 for none.

    `operation` is the name of the call that it is in, `awaited` the number of the rank that the
    call waits for.
    """

    phase: int
    frame: int
    operation: str | None
    awaited: int | None


@dataclass(frozen=True)
class Spots:
    """Of each bin of a level what most of its moments are, of those in the account that it shows.

    `cells` has shape (rows, bins): indices in `spots`, -1 where nothing is known.
    """

    bin_ns: int
    spots: tuple[Spot, ...]
    cells: Ints


def spots(prepared: Prepared, zoom: Zoom | None) -> Spots | None:
    """The spots of the rows of a zoom; None where no level is coarse enough."""
    levels = zoom.levels[::-1] if zoom else ()
    level = next((one for one in levels if one.cells.size <= MOST_CELLS), None)
    if zoom is None or level is None:
        return None
    rows = zip(zoom.rows, level.cells, strict=True)
    found = [_of_row(prepared, row, level, cells) for row, cells in rows]
    every = np.concatenate([keys for _, keys in found])
    index = dense(*every.T)
    keys = every[np.unique(index, return_index=True)[1]]
    often = np.argsort(-np.bincount(index, minlength=len(keys)), kind="stable")[:MOST_SPOTS]
    name = np.full(len(keys), NOTHING, np.int64)
    name[often] = np.arange(len(often))
    cells = np.full(level.cells.shape, NOTHING, np.int64)
    parts = np.split(index, np.cumsum([len(bins) for bins, _ in found])[:-1])
    for place, ((bins, _), part) in enumerate(zip(found, parts, strict=True)):
        cells[place, bins] = name[part]
    return Spots(level.bin_ns, tuple(_spot(keys[place]) for place in often), cells)


def _spot(key: Ints) -> Spot:
    phase, frame, code, awaited = key.tolist()
    return Spot(phase, frame, None if code < 0 else name_of(code), None if awaited < 0 else awaited)


def _of_row(
    prepared: Prepared, position: int, level: Level, cells: npt.NDArray[np.uint8]
) -> tuple[Ints, Ints]:
    """The bins of a row in which something is known, and phase, frame, code and awaited rank."""
    focus, timeline = prepared.focus, prepared.timelines[position]
    probe = np.arange(len(cells) * PROBES, dtype=np.int64)
    moments = focus.start_ns + level.bin_ns * (2 * probe + 1) // (2 * PROBES)
    segment = np.searchsorted(timeline.boundaries, moments, side="right") - 1
    inside = (segment >= 0) & (segment < len(timeline.accounts)) & (moments < focus.end_ns)
    bins, moments, segment = probe[inside] // PROBES, moments[inside], segment[inside]
    account = timeline.accounts[segment]
    operation, awaited, seen = _calls(prepared, position, moments)
    awaited[account != INDEX[Account.COMMUNICATION_WAIT]] = NOTHING
    frames = np.append(prepared.labels.user_frame, NOTHING)
    frame = frames[np.where(operation >= 0, seen, timeline.stacks[segment])]
    key = np.column_stack([timeline.phases[segment], frame, operation, awaited])
    told = (account == cells[bins]) & (key >= 0).any(axis=1)
    return _most_often(bins[told], key[told])


def _most_often(bins: Ints, key: Ints) -> tuple[Ints, Ints]:
    """Each bin once, with the key that it has most often, of equal ones the first."""
    kind = dense(*key.T)
    _, first, count = np.unique(
        bins * (len(kind) + 1) + kind, return_index=True, return_counts=True
    )
    order = np.lexsort((-count, bins[first]))
    first = first[order]
    chosen = first[np.unique(bins[first], return_index=True)[1]]
    return bins[chosen], key[chosen]


def _calls(prepared: Prepared, position: int, moments: Times) -> tuple[Ints, Ints, Ints]:
    """The operation of the main location at some moments, who it waits for, and its stack."""
    waits, rank = prepared.waits, prepared.trace.ranks[position]
    pool, mine = waits.pool, waits.of_rank(position)
    rows = mine.start + np.flatnonzero(pool.tid[mine] == rank.main_tid)
    operation, awaited, stack = (np.full(len(moments), NOTHING, np.int64) for _ in range(3))
    if not len(rows):
        return operation, awaited, stack
    row = rows[np.maximum(np.searchsorted(pool.enter[rows], moments, side="right") - 1, 0)]
    inside = np.flatnonzero((pool.enter[row] <= moments) & (moments < pool.exit[row]))
    row = row[inside]
    operation[inside] = pool.op[row]
    cause = waits.cause[row]
    waiting = (moments[inside] < waits.need[row]) & (cause >= 0)
    awaited[inside[waiting]] = pool.numbers[pool.rank[cause[waiting]]]
    seen = rank.main_stacks
    sample = np.searchsorted(seen["t"], pool.enter[row])
    known = sample < len(seen)
    known[known] = seen["t"][sample[known]] < pool.exit[row[known]]
    stack[inside[known]] = seen["stack"][sample[known]]
    return operation, awaited, stack
