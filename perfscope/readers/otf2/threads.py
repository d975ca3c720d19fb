"""How much each thread of the ranks of an OTF2 archive computed, where its regions tell."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.readers.otf2.ranks import Location, RankPlaces
from perfscope.readers.otf2.reduced import Reduced
from perfscope.readers.otf2.regions import Region
from perfscope.trace.hardware import ComputeTotals
from perfscope.trace.model import Rank

OPENMP = 3
"""Paradigm of regions (OTF2_Paradigm)."""
PARALLEL = 5
WAITING = frozenset({12, 15, 16, 18, 22, 33})
"""Roles in which a thread waits for others (OTF2_RegionRole): critical and ordered outside of their
blocks, barrier, implicit barrier, waiting for tasks and for threads."""

PROFILE_ROW = np.dtype(
    [
        ("region", "u4"),
        ("location", "u4"),
        ("count", "u8"),
        ("inclusive", "i8"),
        ("exclusive", "i8"),
    ]
)

Rows = npt.NDArray[np.void]


def set_teams(ranks: Sequence[Rank], places: Sequence[RankPlaces], reduced: Reduced) -> None:
    """Gives each rank its threads, where any rank has several.

    Only what OpenMP regions say is used: outside of parallel regions a worker has none, so that
    idling and computing differ. Where a worker has other regions, its work is not known.
    """
    by_number = {place.number: place for place in places}
    working = {rank.number: _working(rank, by_number[rank.number], reduced) for rank in ranks}
    if all([one.tid for one in working[rank.number]] == [rank.main_tid] for rank in ranks):
        return
    kinds = _Kinds(reduced.regions)
    for rank in ranks:
        rank.team = tuple(
            kinds.totals(reduced, thread, is_main=thread.tid == rank.main_tid)
            for thread in working[rank.number]
        ) or (None,)


def _working(rank: Rank, place: RankPlaces, reduced: Reduced) -> list[Location]:
    """The threads that have regions, without Horovod's own one."""
    background = set(rank.background["tid"].tolist())
    return [
        thread
        for thread in place.threads
        if len(reduced.locations[thread.index]["profile"]) and thread.tid not in background
    ]


class _Kinds:
    """Which regions are parallel, and in which a thread does not compute."""

    def __init__(self, regions: Sequence[Region]) -> None:
        openmp = [region.paradigm == OPENMP for region in regions]
        told = zip(openmp, regions, strict=True)
        self._parallel = np.array(
            [*(is_openmp and r.role == PARALLEL for is_openmp, r in told), False]
        )
        idle = [region.is_mpi or region.role in WAITING for region in regions]
        self._idle = np.array([*idle, False], np.bool_)

    def totals(self, reduced: Reduced, thread: Location, *, is_main: bool) -> ComputeTotals | None:
        """What a thread computed; None where it has regions outside of parallel ones."""
        location: Mapping[str, Any] = reduced.locations[thread.index]
        rows: Rows = location["profile"].view(PROFILE_ROW)
        region = np.minimum(rows["region"], len(self._idle) - 1)
        inside = int(rows["inclusive"][self._parallel[region]].sum())
        spent = int(rows["exclusive"].sum())
        if not np.any(self._parallel) or (not is_main and spent > inside):
            return None
        length = location["last"] - location["first"]
        # what the main thread does outside of all regions is computing, as where it is alone
        idle = int(rows["exclusive"][self._idle[region]].sum())
        useful = (length if is_main else spent) - idle
        ns = reduced.ticks.durations_ns(np.array([useful, length - location["mpi_ticks"]]))
        return ComputeTotals(useful_ns=int(ns[0]), outside_ns=int(ns[1]), io_ns=0)
