"""Threads of a Paraver trace: which there are, what each computed, and how far its records go."""

from collections.abc import Mapping, Sequence
from typing import Any

from perfscope.schema.enums import EndKind
from perfscope.structures import dataclass
from perfscope.trace.hardware import ComputeTotals
from perfscope.trace.model import Ending

RUNNING, TRACING_DISABLED = 1, 14
COMMUNICATING = (3, 4, 5, 6, 8, 9, 10, 11, 13, 16)
"""States of sending, receiving, waiting, probing and collectives, by Extrae and Dimemas."""
MAIN_THREAD = 1
DEVICE_EVENTS = range(63_000_000, 65_000_000)
"""Types of events of CUDA, HIP and OpenCL, whose streams are threads of a task."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Locations:
    """What the engine added up over each thread, by rank and number of the thread."""

    by_rank: Mapping[int, Mapping[int, Row]]  # only ranks and threads that have records
    threads: Sequence[int]  # how many the header names for each rank
    # from when records are missing because the file ends early; None: it is whole
    cut_ns: int | None
    is_sorted: bool  # records of all threads stand in the order of their times
    has_devices: bool  # some threads may be streams of an accelerator

    @classmethod
    def of(
        cls,
        rows: Sequence[Row],
        facts: Mapping[str, Any],
        event_types: Mapping[int, int],
        *,
        is_short: bool,
    ) -> "Locations":
        """Puts together what the engine gives.

        `is_short` says that the compressed data end without an end.
        """
        by_rank: dict[int, dict[int, Row]] = {}
        for row in rows:
            by_rank.setdefault(row["rank"], {})[row["thread"]] = row
        is_cut = is_short or facts["is_cut"] or not _reaches_the_end(by_rank, facts)
        return cls(
            by_rank,
            facts["threads"],
            facts["reached_ns"] if is_cut else None,
            not facts["out_of_turn"],
            any(kind in DEVICE_EVENTS for kind in event_types),
        )

    @property
    def is_cut(self) -> bool:
        """Whether the file ends before the run does."""
        return self.cut_ns is not None

    def detail_end_ns(self, rank: int) -> int | None:
        """From when records of a rank are missing; None where none are."""
        if self.cut_ns is None or self.is_sorted:
            return self.cut_ns
        own: list[int] = [row["reached_ns"] for row in self.by_rank[rank].values()]
        return max(own)

    def life_ns(self, rank: int, last_ns: int) -> tuple[int, int]:
        """When a rank began and ended, as its main thread's states say; else the whole trace.

        Applications of one trace need not start together, and before a task is created it does not
        work. How long a rank goes on whose records are cut off is not known.
        """
        row = self.by_rank[rank].get(MAIN_THREAD)
        if row is None or not row["state_ns"]:
            return 0, last_ns
        start = max(int(row["created_ns"] or row["first_ns"]), 0)
        ends = [int(one["last_ns"]) for one in self.by_rank[rank].values()]
        end = last_ns if self.is_cut else max(ends)
        return min(start, end), end

    def compute(self, rank: int) -> ComputeTotals | None:
        """What the main thread computed; None without its states."""
        return _totals(self.by_rank[rank].get(MAIN_THREAD))

    def team(self, rank: int) -> tuple[ComputeTotals | None, ...]:
        """What each thread of a rank computed, () where it has one alone."""
        seen = self.by_rank[rank]
        count = max(int(self.threads[rank]), len(seen))
        if count <= 1:
            return ()
        numbers = [*sorted(seen), *([0] * (count - len(seen)))]
        return tuple(None if self.has_devices else _totals(seen.get(n)) for n in numbers)

    def disabled_ns(self, rank: int) -> int:
        """How long the main thread was not traced, as its states say."""
        row = self.by_rank[rank].get(MAIN_THREAD)
        return 0 if row is None else int(row["state_ns"].get(TRACING_DISABLED, 0))

    def uncalled_ns(self, rank: int) -> int:
        """How long the states of a rank's only thread tell of communication that has no calls.

        Simulated traces and filtered ones may hold states alone. With several threads, waiting in
        the same states may be for the other threads.
        """
        row = self.by_rank[rank].get(MAIN_THREAD)
        if row is None or self.team(rank):
            return 0
        told = sum(row["state_ns"].get(state, 0) for state in COMMUNICATING)
        return max(int(told) - int(row["mpi_ns"]), 0)

    def ending(self, rank: int, *, is_finalized: bool, is_open: bool) -> Ending:
        """How a rank ended.

        `is_finalized` says that its MPI_Finalize returned, `is_open` that its main thread entered
        an MPI call that it is not seen to leave.
        """
        if is_finalized:
            return Ending(EndKind.FINALIZED, None, "the trace holds its MPI_Finalize")
        if self.detail_end_ns(rank) is not None:
            return Ending(EndKind.UNKNOWN, None, "the file ends before the run does")
        if is_open:
            return Ending(EndKind.UNKNOWN, None, "the trace ends inside an MPI call")
        return Ending(EndKind.EXITED, None, "the end of the trace")


def _reaches_the_end(by_rank: Mapping[int, Mapping[int, Row]], facts: Mapping[str, Any]) -> bool:
    """Whether records go on until the moment at which the trace ends by its header."""
    end: int = facts["duration_ns"]
    if facts["reached_ns"] >= end:
        return True
    # without events, the last states alone tell; a call that is still open says that more followed
    mains = [row["last_ns"] for threads in by_rank.values() for n, row in threads.items() if n == 1]
    return not facts["open_at_end"] and any(last >= end for last in mains)


def _totals(row: Row | None) -> ComputeTotals | None:
    if row is None or not row["state_ns"]:
        return None
    return ComputeTotals(
        useful_ns=row["state_ns"].get(RUNNING, 0),
        outside_ns=row["last_ns"] - row["mpi_ns"],
        instructions=row["instructions"],
        cycles=row["cycles"],
    )
