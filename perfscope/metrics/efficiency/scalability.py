"""POP efficiencies and scalabilities of several runs, with the variants that other tools print.

Formulas: docs/metrics.md, section 2. `pop` is the definition of the POP Centre of Excellence,
`bsc` what BSC's modelfactors prints, `pypop` what NAG's pypop prints, and `pypop-additive` in its
additive model; `cube` is what Cube's Advisor computes without a replay.
"""

from collections.abc import Sequence
from enum import Enum
from functools import partial

from perfscope.schema.common import Metric
from perfscope.structures import dataclass
from perfscope.trace.model import Trace
from perfscope.units import NS

WEAK_SHARE = 0.9
"""Total work that grows by more than this share of the growth in ranks is weak scaling."""

FOCUS = "whole_trace"
USEFUL = "running"
NO_COUNTERS = "the trace does not count instructions and cycles on every rank"
NO_REFERENCE = "one run alone has nothing to be compared with"
NO_IDEAL = "the run time on an ideal network is not known"
NO_WAITS = "how long the ranks waited is not known"


class Variant(Enum):
    """Which tool's factors: they differ in what "useful" is, in T_id, and in how factors combine.

    In the additive model parallel efficiency is the sum of its factors less 1; else every parent
    is the product of its factors.
    """

    POP = "pop"
    BSC = "bsc"
    PYPOP = "pypop"
    PYPOP_ADDITIVE = "pypop-additive"
    CUBE = "cube"


@dataclass(frozen=True)
class RunTotals:
    """What the arithmetic needs of one run; per rank in rank order, or per thread of all ranks."""

    runtime_s: float  # T
    useful_s: tuple[float, ...]  # U_i, of all threads where ranks have several
    outside_s: tuple[float, ...]  # M_i, outside MPI with I/O
    ideal_s: float | None = None  # T_id, None where it is not known
    # waiting for other ranks, None where it is not known
    waiting_s: tuple[float, ...] | None = None
    # of all ranks inside useful time, None where they were not counted
    instructions: int | None = None
    cycles: int | None = None  # the same
    useful: str = USEFUL  # what counts as useful, as in `Metric.useful`
    foa: str = FOCUS  # over which time
    # why the run's own efficiencies are not known, None where they are
    unknown: str | None = None
    # the same of `useful_s`, which the scalabilities compare
    useful_unknown: str | None = None

    @property
    def ranks(self) -> int:
        """P: ranks, or the threads of all of them."""
        return len(self.useful_s)

    @property
    def without_transfer_s(self) -> float | None:
        """T_id without a replay: the longest time of a rank that is no transfer (Cube)."""
        if self.waiting_s is None or len(self.waiting_s) != self.ranks:
            return None
        return max(map(sum, zip(self.outside_s, self.waiting_s, strict=True)), default=None)

    @property
    def ipc(self) -> float | None:
        """Instructions per cycle inside useful time."""
        return self.instructions / self.cycles if self.instructions and self.cycles else None

    @property
    def frequency_hz(self) -> float | None:
        """Cycles per second of useful time."""
        useful = sum(self.useful_s)
        return self.cycles / useful if self.cycles and useful > 0 else None


@dataclass(frozen=True)
class Scalability:
    """The POP table of one run; the scalabilities compare it with the reference run."""

    ranks: int
    is_weak: bool | None
    parallel_efficiency: Metric
    load_balance: Metric
    communication_efficiency: Metric
    serialization_efficiency: Metric
    transfer_efficiency: Metric
    computation_scalability: Metric
    global_efficiency: Metric
    ipc_scalability: Metric
    instruction_scalability: Metric
    frequency_scalability: Metric
    speedup: Metric


def run_totals(
    trace: Trace, ideal_s: float | None = None, *, waiting_s: tuple[float, ...] | None = None
) -> RunTotals | None:
    """The totals of a trace that has states, over all threads; None for other formats.

    Also None where the file ends early: what came later is in none of its sums.
    """
    is_hybrid = any(rank.team for rank in trace.ranks)
    totals = [total for rank in trace.ranks for total in (rank.team or (rank.compute,))]
    known = [total for total in totals if total is not None]
    is_cut = any(rank.detail_end_ns is not None for rank in trace.ranks)
    if is_cut or not known or len(known) != len(totals):
        return None
    start = min(rank.start_ns for rank in trace.ranks)
    end = max(rank.end_ns for rank in trace.ranks)
    instructions = [t.instructions for t in known if t.instructions is not None]
    cycles = [t.cycles for t in known if t.cycles is not None]
    counted = len(instructions) == len(cycles) == len(known)
    return RunTotals(
        runtime_s=(end - start) * NS,
        useful_s=tuple(total.useful_ns * NS for total in known),
        outside_s=tuple(total.outside_ns * NS for total in known),
        ideal_s=None if is_hybrid else ideal_s,
        waiting_s=None if is_hybrid else waiting_s,
        instructions=sum(instructions) if counted else None,
        cycles=sum(cycles) if counted else None,
    )


def scalability(
    runs: Sequence[RunTotals],
    *,
    variant: Variant = Variant.POP,
    weak: bool | None = None,
    work: Sequence[float] | None = None,
) -> list[Scalability]:
    """The POP table of some runs, in their order; the one with the fewest ranks is the reference.

    `weak` says whether the problem grew with the ranks, None to tell it from instructions or useful
    time; `work` is that of each run over the reference's, where it is known.
    """
    reference = min(runs, key=lambda run: run.ranks)
    shares = [None] * len(runs) if work is None else work
    return [
        _row(run, reference, variant, weak, share) for run, share in zip(runs, shares, strict=True)
    ]


def _row(
    run: RunTotals, reference: RunTotals, variant: Variant, weak: bool | None, work: float | None
) -> Scalability:
    metric = partial(_metric, run, variant)
    own = partial(metric, unknown=run.unknown)
    incomparable = run.useful_unknown or reference.useful_unknown
    useful, longest = sum(run.useful_s), max(run.useful_s, default=0.0)
    empty = "no rank computed" if longest <= 0 else "the run has no length"
    balance = _load_balance(run, variant)
    spread = longest / run.runtime_s if longest > 0 and run.runtime_s > 0 else None
    parallel = _parallel(balance, spread, variant)
    no_ideal = NO_WAITS if variant is Variant.CUBE else NO_IDEAL
    serial, transfer = _ideal_factors(run, variant, spread)
    alone = run is reference
    is_weak = None if alone else (weak if weak is not None else _is_weak(run, reference))
    growth = run.ranks / reference.ranks if is_weak else 1.0
    growth = growth if work is None else work
    compute = _ratio(sum(reference.useful_s) * growth, useful)
    instructions = _ratio(_times(reference.instructions, growth), run.instructions)
    return Scalability(
        ranks=run.ranks,
        is_weak=is_weak,
        parallel_efficiency=own(parallel, empty),
        load_balance=own(balance, empty),
        communication_efficiency=own(spread, empty),
        serialization_efficiency=own(serial, no_ideal),
        transfer_efficiency=own(transfer, no_ideal),
        computation_scalability=metric(compute, empty, unknown=incomparable),
        global_efficiency=metric(
            _product(parallel, compute), empty, unknown=run.unknown or incomparable
        ),
        ipc_scalability=metric(_ratio(run.ipc, reference.ipc), NO_COUNTERS),
        instruction_scalability=metric(instructions, NO_COUNTERS),
        frequency_scalability=metric(_ratio(run.frequency_hz, reference.frequency_hz), NO_COUNTERS),
        speedup=metric(_ratio(reference.runtime_s * growth, run.runtime_s), empty),
    )


def _metric(
    run: RunTotals,
    variant: Variant,
    value: float | None,
    reason: str,
    *,
    unknown: str | None = None,
) -> Metric:
    """A value, or the reason why there is none; `unknown` is why one that there is may not be."""
    known = value if unknown is None else None
    because = None if known is not None else unknown or reason
    return Metric(known, "ratio", because, run.useful, run.foa, variant.value)


def _parallel(balance: float | None, spread: float | None, variant: Variant) -> float | None:
    if variant is Variant.PYPOP_ADDITIVE and balance is not None and spread is not None:
        return balance + spread - 1.0
    return _product(balance, spread)


def _load_balance(run: RunTotals, variant: Variant) -> float | None:
    longest = max(run.useful_s, default=0.0)
    if longest <= 0:
        return None
    ratio = sum(run.useful_s) / (run.ranks * longest)
    if variant is not Variant.PYPOP_ADDITIVE:
        return ratio
    return 1.0 - longest * (1.0 - ratio) / run.runtime_s if run.runtime_s > 0 else None


def _ideal_factors(
    run: RunTotals, variant: Variant, spread: float | None
) -> tuple[float | None, float | None]:
    """Serialization and transfer efficiency; above 1 they mean an error of clocks, never hidden."""
    ideal_s = run.without_transfer_s if variant is Variant.CUBE else run.ideal_s
    if not ideal_s or spread is None:
        return None, None
    transfer = ideal_s / run.runtime_s
    if variant in {Variant.POP, Variant.CUBE}:
        return max(run.useful_s) / ideal_s, transfer
    longest = max(run.outside_s)
    if variant is Variant.PYPOP_ADDITIVE:
        return 1.0 - (ideal_s - longest) / run.runtime_s, transfer
    serial = longest / ideal_s
    return serial, transfer if variant is Variant.PYPOP else _ratio(spread, serial)


def _is_weak(run: RunTotals, reference: RunTotals) -> bool:
    """Whether the work grew with the ranks: by instructions, else by useful time."""
    growth = _ratio(run.instructions, reference.instructions)
    if growth is None:
        growth = _ratio(sum(run.useful_s), sum(reference.useful_s)) or 0.0
    return growth > WEAK_SHARE * run.ranks / reference.ranks


def _ratio(over: float | None, under: float | None) -> float | None:
    return over / under if over is not None and under else None


def _product(left: float | None, right: float | None) -> float | None:
    return left * right if left is not None and right is not None else None


def _times(value: float | None, factor: float) -> float | None:
    return value * factor if value is not None else None
