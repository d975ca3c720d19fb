"""A thinned recording as one run: the windows that all ranks kept, joined end to end.

The same amount of time is cut between two windows on all ranks, so that calls of different ranks
keep their distance. Ranks do not reach the end of a window together: where one took longer than the
others for the part that is cut, the remainder stays as an operation `Left_out`, which is not work;
`Kept.residue_ns` holds its length.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.judging import MAIN
from perfscope.trace.damage import SPOILS_COMPARISON, Damage
from perfscope.trace.model import OPERATION_DTYPE, PEER_NONE, Rank, Table, Trace, empty
from perfscope.trace.moving import move, timed_tables, times_of
from perfscope.trace.operations import LEFT_OUT
from perfscope.trace.thinning import Kept, WindowSource, is_selected

FEWEST_WINDOWS = 8
SPANNING = ("phases", "spans", "memory_windows")
"""Tables whose rows may reach over windows that are cut out."""

SAMPLES, OTHER_SAMPLES = "_samples", ("gpu_processes", "garbage_collections")
"""Samples cover the whole run: their counters continue through the parts that are cut."""


def spliced(trace: Trace) -> Trace:
    """The trace of the windows that all ranks have; itself where nothing was thinned away.

    With too few windows left, it notes that instead: the gaps between them would pass for work.
    """
    level = max((rank.thinning.level for rank in trace.ranks if rank.thinning), default=0)
    if level == 0 or trace.kept is not None:
        return trace
    source, numbers = _chosen(trace, level)
    if len(numbers) < FEWEST_WINDOWS:
        return _unspliced(trace, source, len(numbers))
    begins, ends = _pieces(trace, source, numbers)
    cuts = np.concatenate([[0], np.cumsum((begins[:, 1:] - ends[:, :-1]).min(axis=0))])
    kept = Kept(
        source=source,
        level=level,
        windows=len(numbers),
        ended=max(rank.thinning.windows[source] for rank in trace.ranks if rank.thinning),
        cut_ns=int(cuts[-1]),
        residue_ns=tuple(((begins[:, 1:] - ends[:, :-1]).sum(axis=1) - cuts[-1]).tolist()),
        starts_ns=begins - cuts,
        ends_ns=ends - cuts,
    )
    ranks = [
        _rank(rank, begin, end, cuts)
        for rank, begin, end in zip(trace.ranks, begins, ends, strict=True)
    ]
    return replace(trace, ranks=ranks, wall_ns=trace.wall_ns - kept.cut_ns, kept=kept, whole=trace)


def _unspliced(trace: Trace, source: WindowSource, count: int) -> Trace:
    """The trace with holes, and what these spoil."""
    ended = max(rank.thinning.windows[source] for rank in trace.ranks if rank.thinning)
    text = (
        f"Of {ended:,} windows of the run all ranks kept {count} by chance, too few to speak for "
        "the others (--max-size)."
    )
    told = Damage("thinned_away", text, SPOILS_COMPARISON)
    return replace(trace, damage=[*(one for one in trace.damage if one.id != told.id), told])


def _chosen(trace: Trace, level: int) -> tuple[WindowSource, Ints]:
    """What the windows end with that the run is put together from, and their numbers.

    Steps come before collectives, and these before the clock, if enough of them are left: a program
    without collectives may still call one at its end. But windows of the start alone do not speak
    for the steps after it.
    """
    top = max(rank.thinning.source for rank in trace.ranks if rank.thinning)
    sources = sorted((one for one in WindowSource if one <= top), reverse=True)
    every = ((one, _common(trace, one)) for one in sources)
    kept = [(one, numbers[is_selected(numbers, level)]) for one, numbers in every]
    enough = (pair for pair in kept if len(pair[1]) >= FEWEST_WINDOWS)
    return next((pair for pair in enough if pair[0] == top or _spans_most(trace, *pair)), kept[0])


def _spans_most(trace: Trace, source: WindowSource, numbers: Ints) -> bool:
    """Whether most of the time in windows lies between the first and the last of these."""
    for rank in trace.ranks:
        rows = _at(_of(rank, source), numbers)
        all_ns = int(rank.windows["t1"].max()) - int(rank.windows["t0"].min())
        if int(rows["t1"].max()) - int(rows["t0"].min()) <= MAIN * all_ns:
            return False
    return True


def _of(rank: Rank, source: WindowSource) -> Table:
    """The windows of a rank by number; one that comes twice tells nothing apart."""
    rows = rank.windows[rank.windows["source"] == source]
    _, first, count = np.unique(rows["number"], return_index=True, return_counts=True)
    found: Table = rows[first[count == 1]]
    return found


def _at(windows: Table, numbers: Ints) -> Table:
    """Those of some numbers, which all are among the windows of a rank."""
    found: Table = windows[np.searchsorted(windows["number"], numbers)]
    return found


def _common(trace: Trace, source: WindowSource) -> Ints:
    """Numbers of the windows that are there on every rank, in the order of their time."""
    common: Ints | None = None
    for rank in trace.ranks:
        own = _of(rank, source)["number"].astype(np.int64)
        common = own if common is None else np.intersect1d(common, own)
    if common is None:
        return np.empty(0, np.int64)
    for rank in trace.ranks:
        if np.any(np.diff(_at(_of(rank, source), common)["t0"]) <= 0):
            return np.empty(0, np.int64)  # numbers that are no order
    return common


def common_windows(trace: Trace, source: WindowSource) -> tuple[Ints, Ints, Ints]:
    """Windows that are there on every rank: numbers, begins and ends, the latter (ranks, windows).

    The longest ones are among them, which are kept for their length and not by chance.
    """
    numbers = _common(trace, source)
    rows = [_at(_of(rank, source), numbers) for rank in trace.ranks]
    begins: list[Ints] = [one["t0"] for one in rows]
    ends: list[Ints] = [one["t1"] for one in rows]
    return numbers, np.array(begins, np.int64), np.array(ends, np.int64)


def _pieces(trace: Trace, source: WindowSource, numbers: Ints) -> tuple[Ints, Ints]:
    """Begin and end of each piece, shape (ranks, windows + 2): start-up, windows, the rest."""
    begins, ends = [], []
    for rank in trace.ranks:
        every = _of(rank, source)
        rows = _at(every, numbers)
        first = _work_begins(rank, every)
        after = max(int(every["t1"].max()), int(rank.windows["t1"].max()))
        begins.append([rank.start_ns, *np.maximum(rows["t0"], first).tolist(), after])
        ends.append([first, *rows["t1"].tolist(), max(after, rank.end_ns)])
    return np.array(begins, np.int64), np.array(ends, np.int64)


def _work_begins(rank: Rank, windows: Table) -> int:
    """When the first window begins, without the start of the program where it is a step."""
    begin, end = int(windows["t0"].min()), int(windows["t1"].min())
    inside = rank.steps[(rank.steps["t0"] >= begin) & (rank.steps["t1"] <= end)]
    return int(inside["t0"].min()) if len(inside) else begin


def _rank(rank: Rank, begins: Ints, ends: Ints, cuts: Ints) -> Rank:
    """The rank on the clock of the pieces, without what lies in none."""

    def to(times: Ints) -> Ints:
        piece = np.maximum(np.searchsorted(begins, times, side="right") - 1, 0)
        moved: Ints = np.minimum(times, ends[piece]) - cuts[piece]
        return moved

    def is_inside(times: Ints) -> Bools:
        piece = np.searchsorted(begins, times, side="right") - 1
        found: Bools = (piece >= 0) & (times < ends[np.maximum(piece, 0)])
        found |= times == ends[-1]
        return found

    tables: dict[str, Any] = {}
    for name, table in timed_tables(rank).items():
        if name.endswith(SAMPLES) or name in OTHER_SAMPLES:
            tables[name] = empty(table.dtype)
        elif name in SPANNING:
            tables[name] = table[to(table["t1"]) > to(table["t0"])]
        else:
            tables[name] = table[is_inside(table[times_of(table)[0]].astype(np.int64))]
    found = replace(rank, **tables, devices=None)
    move(found, to)
    table = np.concatenate([found.operations, _residues(rank, begins - cuts, ends - cuts)])
    found.operations = table[np.argsort(table["t0"], kind="stable")]
    return found


def _residues(rank: Rank, begins: Ints, ends: Ints) -> Table:
    """What stays between pieces, as operations."""
    rows = np.zeros(len(begins) - 1, OPERATION_DTYPE)
    rows["t0"], rows["t1"] = ends[:-1], begins[1:]
    rows["op"], rows["tid"] = LEFT_OUT, rank.main_tid
    rows["comm"] = rows["seq"] = rows["tag"] = -1
    rows["peer"] = PEER_NONE
    found: Table = rows[rows["t1"] > rows["t0"]]
    return found
