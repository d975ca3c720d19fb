"""Efficiencies of runs whose ranks work with several threads, over all threads.

Source of the formulas: docs/metrics.md, section 2 (BSC's and NAG's hybrid model, multiplicative).
"""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.attribution.focus import Focus
from perfscope.metrics.efficiency.factors import Efficiency
from perfscope.schema.common import Metric
from perfscope.structures import dataclass
from perfscope.trace.hardware import ComputeTotals
from perfscope.trace.model import Trace
from perfscope.units import NS

USEFUL_RUNNING = "running_on_all_threads"
FORMULA = "hybrid"
NO_REPLAY = (
    "threads work beside the ranks, and the replay holds the first thread of each rank alone"
)
PART = (
    "threads work beside the ranks, and how much each of them worked is known over the whole trace "
    "only"
)
UNKNOWN = "threads work beside the ranks, and the trace does not tell how much each of them worked"


@dataclass(frozen=True)
class ThreadWork:
    """How much all threads of all ranks worked."""

    window_s: float  # T
    useful_s: tuple[tuple[float, ...], ...]  # of each thread in the state Running, by rank

    @property
    def threads(self) -> int:
        """Of all ranks together."""
        return sum(map(len, self.useful_s))

    @property
    def parallel_efficiency(self) -> float:
        """Share of the time of all threads in which they computed."""
        return sum(map(sum, self.useful_s)) / (self.threads * self.window_s)

    @property
    def longest_s(self) -> float:
        """Of the thread that computed most."""
        return max(max(own) for own in self.useful_s)


def has_threads(trace: Trace) -> bool:
    """Whether threads work beside the main ones of the ranks."""
    return any(rank.team for rank in trace.ranks)


def thread_work(trace: Trace, focus: Focus) -> ThreadWork | str:
    """What all threads did over the focus, or why it is not known."""
    if focus.kind != "whole_trace" or any(r.detail_end_ns is not None for r in trace.ranks):
        return PART
    teams = [teams_of(rank.team or (rank.compute,)) for rank in trace.ranks]
    known = [team for team in teams if team is not None]
    if len(known) < len(teams) or focus.length_ns <= 0:
        return trace.not_recorded.get("team", UNKNOWN)
    useful = tuple(tuple(one.useful_ns * NS for one in team) for team in known)
    return ThreadWork(focus.length_ns * NS, useful)


def teams_of(team: Sequence[ComputeTotals | None]) -> tuple[ComputeTotals, ...] | None:
    """The threads of a rank; None where one of them is not known."""
    known = tuple(one for one in team if one is not None)
    return known if len(known) == len(team) else None


def over_all_threads(tree: Efficiency, trace: Trace, focus: Focus) -> Efficiency:
    """The tree with the factors of all threads, or with none where they are not known.

    Load balance is that between all threads, communication efficiency what the busiest thread had
    of the run: it lost the rest to communication, to waiting and to serial parts of other threads.
    """
    work = thread_work(trace, focus)
    why = tree.parallel_efficiency.reason or (work if isinstance(work, str) else None)

    def metric(value: float | None, reason: str | None = None) -> Metric:
        told = None if value is not None else reason
        return Metric(value, "ratio", told, USEFUL_RUNNING, tree.parallel_efficiency.foa, FORMULA)

    values: tuple[float | None, float | None, float | None] = (None, None, None)
    if why is None and isinstance(work, ThreadWork):
        parallel, longest = work.parallel_efficiency, work.longest_s
        why = None if longest else "no thread computed"
        spread = longest / work.window_s
        values = (parallel, parallel / spread if longest else None, spread)
    no_split = metric(None, NO_REPLAY)
    parallel_efficiency, balance, communication = (metric(value, why) for value in values)
    return replace(
        tree,
        is_hybrid=True,
        parallel_efficiency=parallel_efficiency,
        load_balance=balance,
        communication_efficiency=communication,
        serialization_efficiency=no_split,
        transfer_efficiency=no_split,
        training_efficiency=replace(
            tree.training_efficiency, value=None, reason=tree.training_efficiency.reason or NO_SHARE
        ),
    )


NO_SHARE = "threads work beside the ranks, and what share of their work is training is not known"
