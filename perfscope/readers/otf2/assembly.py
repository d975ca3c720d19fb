"""Makes the ranks of the model from what the engine reduced of an OTF2 archive."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, mapped
from perfscope.readers.common.amounts import forget_impossible_sizes
from perfscope.readers.common.calls import one_at_a_time
from perfscope.readers.otf2.devices import device_activity
from perfscope.readers.otf2.ranks import Location, Places, RankPlaces
from perfscope.readers.otf2.reduced import Reduced
from perfscope.readers.otf2.regions import STEP, Region
from perfscope.schema.enums import EndKind
from perfscope.trace.hardware import ComputeTotals
from perfscope.trace.model import (
    COMPLETION_DTYPE,
    COUNTER_DTYPE,
    OPERATION_DTYPE,
    PHASE_DTYPE,
    PROFILE_DTYPE,
    STEP_DTYPE,
    Ending,
    Rank,
    RowFlag,
    Table,
    ThreadInfo,
)
from perfscope.trace.operations import HOROVOD_CONTROL, HOROVOD_EXPOSED, MPI_OTHER, code_of
from perfscope.trace.totals import totals_of

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
        return ComputeTotals(useful_ns=int(ns[0]), outside_ns=int(ns[1]))


COUNTER_ROW = np.dtype([("t", "i8"), ("location", "u4"), ("member", "u4"), ("value", "f8")])

MOST_EVENTS = 1 << 62
"""More are no number of events: the archive does not tell it."""

_FINALIZE = code_of("MPI_Finalize")


def assemble_ranks(
    places: Places, reduced: Reduced, *, creator: str, communication: Sequence[str] = ()
) -> list[Rank]:
    """The ranks that recorded events, in order of their numbers.

    In an export of perfscope, which `creator` tells, threads help the main one.
    """
    ranks = [
        _rank(place, reduced, communication)
        for place in places.ranks
        if any(reduced.locations[thread.index]["events"] for thread in place.threads)
    ]
    if not creator.startswith("perfscope"):
        set_teams(ranks, places.ranks, reduced)
    return ranks


def corrected_ranks(places: Places, reduced: Reduced) -> set[int]:
    """Numbers of the ranks whose times the archive's measurements of clocks correct.

    It takes two: of a single measurement nothing follows, as for libotf2.
    """
    return {
        place.number
        for place in places.ranks
        if any(reduced.locations[one.index]["clock_measurements"] > 1 for one in place.threads)
    }


def _rank(place: RankPlaces, reduced: Reduced, communication: Sequence[str]) -> Rank:
    seen = [
        reduced.locations[thread.index]
        for thread in place.threads
        if reduced.locations[thread.index]["events"]
    ]
    start = reduced.ticks.ns(min(row["first"] for row in seen))
    end = reduced.ticks.ns(max(row["last"] for row in seen))
    cut = _cut_ns(place, reduced)
    operations = reduced.rows(place.threads, "operations", OPERATION_DTYPE)
    operations["op"][operations["op"] == 0] = MPI_OTHER
    completions = reduced.rows(place.threads, "completions", COMPLETION_DTYPE)
    main_tid = place.threads[0].tid
    operations["tid"][operations["op"] == HOROVOD_EXPOSED] = main_tid
    if any(row["backwards"] for row in seen):  # what follows it in the file is before it in time
        one_at_a_time(operations)
    for rows in (operations, completions):
        reduced.impossible_sizes += forget_impossible_sizes(rows)
    phases = reduced.rows(place.threads, "phases", PHASE_DTYPE)
    _leave_lanes(phases, place)
    is_background = _is_background(operations, main_tid)
    return Rank(
        number=place.number,
        host=place.host,
        pid=0,
        start_ns=start,
        end_ns=end,
        main_tid=main_tid,
        ending=_ending(operations, seen, is_cut=cut is not None),
        detail_end_ns=cut,
        operations=operations[~is_background],
        background=operations[is_background],
        completions=completions,
        phases=phases,
        steps=_steps(place, phases, main_tid, reduced),
        counters=_counters([*place.threads, *place.metrics], reduced),
        profile=_profile(place.threads, reduced),
        devices=device_activity(place, reduced, communication),
        threads=tuple(ThreadInfo(thread.tid, thread.name, 0, 0, 0, 0) for thread in place.threads),
        totals=totals_of(operations),
    )


def _cut_ns(place: RankPlaces, reduced: Reduced) -> int | None:
    """From when events of a rank are missing: its main thread holds fewer than the archive says."""
    row, told = reduced.locations[place.threads[0].index], place.threads[0].events
    if row["events"] >= told or told > MOST_EVENTS:
        return None
    return reduced.ticks.ns(row["last"]) if row["events"] else 0


def _leave_lanes(phases: Table, place: RankPlaces) -> None:
    """Has phases on the threads that they are of: an export has what cuts a call in two beside it.

    Calls are always on the first location of their thread.
    """
    threads = {thread.name: thread.tid for thread in place.threads}
    for thread in place.threads:
        name, is_lane, _ = thread.name.partition(" (overlapping ")
        if is_lane and name in threads:
            phases["tid"][phases["tid"] == thread.tid] = threads[name]


def _is_background(operations: Table, main_tid: int) -> Bools:
    """Which operations are those of Horovod's own thread: it alone has control cycles."""
    own = np.unique(operations["tid"][operations["op"] == HOROVOD_CONTROL])
    found: Bools = np.isin(operations["tid"], own[own != main_tid])
    return found


def _steps(place: RankPlaces, phases: Table, main_tid: int, reduced: Reduced) -> Table:
    """The steps of an export, else occurrences of a training step on the main thread, from 0 on."""
    told = reduced.rows(place.threads, "steps", STEP_DTYPE)
    if len(told):
        return told
    chosen = phases[(phases["name"] == reduced.name(STEP)) & (phases["tid"] == main_tid)]
    rows = np.zeros(len(chosen), STEP_DTYPE)
    rows["t0"], rows["t1"] = chosen["t0"], chosen["t1"]
    rows["number"], rows["epoch"] = np.arange(len(chosen)), -1
    return rows


def _ending(operations: Table, seen: Sequence[Mapping[str, Any]], *, is_cut: bool) -> Ending:
    """How a rank ended, as far as its events tell."""
    finalized = operations[operations["op"] == _FINALIZE]
    if len(finalized) and not np.any(finalized["flags"] & RowFlag.OPEN):
        return Ending(EndKind.FINALIZED, None, "the trace holds its MPI_Finalize")
    status = next((row["exit_status"] for row in seen if row["exit_status"] is not None), None)
    if status is not None:
        return Ending(EndKind.EXITED, status, "the trace holds the end of the program")
    if is_cut:
        return Ending(EndKind.UNKNOWN, None, "the trace lacks its last events")
    if np.any(operations["flags"] & RowFlag.OPEN):
        return Ending(EndKind.UNKNOWN, None, "the trace ends inside an MPI call")
    return Ending(EndKind.EXITED, None, "the last event of the trace")


def _counters(places: Sequence[Location], reduced: Reduced) -> Table:
    rows = reduced.rows(places, "counters", COUNTER_ROW)
    table = np.empty(len(rows), COUNTER_DTYPE)
    table["t"], table["tid"], table["value"] = rows["t"], rows["location"] + 1, rows["value"]
    table["name"] = mapped(rows["member"], reduced.member_name)
    return table


def _profile(places: Sequence[Location], reduced: Reduced) -> Table:
    rows = reduced.rows(places, "profile", PROFILE_ROW)
    table = np.empty(len(rows), PROFILE_DTYPE)
    table["name"] = reduced.region_names(rows["region"])
    table["tid"] = rows["location"] + 1
    table["count"] = rows["count"]
    table["inclusive_ns"] = reduced.ticks.durations_ns(rows["inclusive"])
    table["exclusive_ns"] = reduced.ticks.durations_ns(rows["exclusive"])
    return table
