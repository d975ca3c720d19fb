"""Many small operations that are alike, where one may do for all turns of a loop."""

from collections.abc import Mapping
from typing import Any

from perfscope.attribution.pass_loops import Passes, pass_loop
from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import saved_of_ranks
from perfscope.judging import MAIN
from perfscope.metrics.efficiency.phases import PhaseResult
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, PhaseKind, Status
from perfscope.structures import dataclass
from perfscope.trace.counts import whole
from perfscope.trace.model import Frame
from perfscope.units import counted, format_seconds, format_share

_LIBRARY = "torch"


@dataclass(frozen=True)
class Alike:
    """What the graphs of a rank's backward passes hold, on average, and what of it is alike."""

    rank: int
    graphs: int  # that were looked at
    operations: float
    alike: float
    kinds: float  # of these
    turns: int  # of the loop that made most of them
    share: float  # of the time of the passes that were looked at

    @property
    def spared(self) -> float:
        """Of the operations that are alike, those that one of each kind does without."""
        return 1.0 - self.kinds / self.alike


def has_passes(results: Results) -> bool:
    """Whether backward passes of PyTorch are told apart."""
    kinds = {phase.kind for phase in results.phases}
    return PhaseKind.BACKWARD in kinds and any(
        _LIBRARY in one.frameworks for one in results.trace.ranks
    )


def judge(run: Facts) -> Outcome:
    """Whether operations that one could do for all take enough of the run to act on."""
    results = run.results
    found = [one for rank in results.trace.ranks if (one := _of(rank.number, rank.frameworks))]
    if not found:
        return passed("No backward pass was seen to have many small operations that are alike.")
    passes = [phase for phase in results.phases if phase.kind is PhaseKind.BACKWARD]
    seconds = _seconds(results, passes, found)
    gain = saved_of_ranks(results, [seconds[one.number] for one in results.trace.ranks])
    if not thresholds.deserved(gain).is_fault:
        return passed(
            "Small operations that are alike take "
            f"{format_seconds(gain.seconds)} of the backward passes, if all of these are as those "
            "that were looked at."
        )
    worst = max(found, key=lambda one: seconds[one.rank])
    loop = _loop(results, worst)
    return Finding(
        status=Status.INFO,  # whether turns need each other is not seen
        title=(
            f"A backward pass holds {worst.alike:,.0f} small operations of PyTorch that are alike, "
            f"of {worst.kinds:,.0f} kinds"
        ),
        summary=_summary(worst, loop),
        confidence=Confidence.LOW,
        ranks=tuple(one.rank for one in found),
        where=(*((loop,) if loop else ()), *passes[0].where[:1]),
        evidence=tuple(row for one in found for row in _evidence(one)),
        actions=(_action(loop, worst),),
        overlaps=("single_samples", "repeated_work"),
    )


def _summary(worst: Alike, loop: Frame | None) -> str:
    place = wording.place(loop)
    seen = f" The loop at {place} turns about as often before the pass." if place else ""
    return (
        f"The graph of a backward pass holds {worst.operations:,.0f} operations. "
        f"{worst.alike:,.0f} of them are small and of {worst.kinds:,.0f} kinds, as a loop of about "
        f"{worst.turns:,} turns leaves them.{seen} They take {format_share(worst.share)} of the "
        f"{counted(worst.graphs, 'pass', 'passes')} looked at. "
        "Where no turn needs what another one has made, one operation of each kind would do. "
        "Whether that is so is not seen: the graph does not hold a state that is detached, or an "
        "action that decides the next input."
    )


def _action(loop: Frame | None, worst: Alike) -> str:
    where = f" at {wording.place(loop)}" if loop else ""
    return (
        f"Look whether a turn of the loop{where} needs what the turn before it has made. If none "
        f"does, compute for all {worst.turns:,} turns at once, with one more axis "
        "(`x[:, None] - y[None]` in place of `x[i] - y` for each `i`; `torch.stack` what is made "
        "one by one before the loop), and reduce along that axis; mask what not all turns have. "
        "Where the result is too large for memory, take as many turns at a time as fit."
    )


def _evidence(one: Alike) -> tuple[Evidence, ...]:
    share = format_share(one.share)
    return (
        Evidence(f"Operations in a backward pass of rank {one.rank}", round(one.operations)),
        Evidence(f"Of rank {one.rank}, alike", f"{one.alike:,.0f} of {one.kinds:,.0f} kinds"),
        Evidence(f"Of the passes looked at on rank {one.rank}, in these", share),
    )


def _loop(results: Results, worst: Alike) -> Frame | None:
    """Where a loop begins that turns as often before the passes, with PyTorch at work in it."""
    kinds = {
        results.phase_ids.index(phase.id): phase.kind
        for phase in results.phases
        if phase.id in results.phase_ids
    }
    asking = {
        phase.where[0]
        for phase in results.phases
        if phase.kind is PhaseKind.BACKWARD and phase.where
    }
    return pass_loop(
        results.trace,
        results.timelines,
        results.focus,
        Passes(kinds, asking, results.steps.starts_ns),
        _LIBRARY,
        worst.turns,
    )


def _seconds(results: Results, passes: list[PhaseResult], found: list[Alike]) -> dict[int, float]:
    """By rank what all but one operation of each kind take, if all passes are as those seen."""
    seconds = {rank.number: 0.0 for rank in results.trace.ranks}
    for one in found:
        inside_s = sum(_computing_s(phase, one.rank) for phase in passes)
        seconds[one.rank] = one.spared * one.share * inside_s
    return seconds


def _computing_s(phase: PhaseResult, rank: int) -> float:
    """How long a rank is in a phase without communicating."""
    rows = zip(phase.ranks, phase.seconds_by_rank, phase.communication_s_by_rank, strict=True)
    return next((whole_s - sent_s for number, whole_s, sent_s in rows if number == rank), 0.0)


def _of(rank: int, frameworks: Mapping[str, Mapping[str, Any]]) -> Alike | None:
    """What a rank noted of it; None unless most of its small operations are such.

    Where a loop must go round in order, a few of the operations in it may still be alike.
    """
    told = frameworks.get(_LIBRARY, {}).get("alike_operations")
    if not isinstance(told, Mapping):
        return None
    graphs, small, alike, kinds = (
        whole(told.get(name)) for name in ("graphs", "small", "alike", "kinds")
    )
    part, spent = whole(told.get("alike_ns")), whole(told.get("whole_ns"))
    if not graphs or not 0 < part <= spent or not 0 < kinds < alike or alike <= MAIN * small:
        return None
    return Alike(
        rank=rank,
        graphs=graphs,
        operations=whole(told.get("operations")) / graphs,
        alike=alike / graphs,
        kinds=kinds / graphs,
        turns=whole(told.get("turns")),
        share=part / spent,
    )


DIAGNOSIS = Diagnosis(
    id="alike_operations",
    title="Many small operations are alike, and one may do for all turns of a loop",
    description=(
        "The graphs of a few backward passes of PyTorch on CPUs are walked before they begin. "
        "Operations are alike that do the same with what is alike, down to the same parameters: "
        "a loop over samples leaves one in each turn. Where a turn needs what the one before it "
        "has made, and gradients pass through that, none are alike; what goes around the graph, as "
        "a state that is detached or an action that decides the next input, is not seen, so that "
        "it is always a note. A loop is named that lies before the pass, outside of evaluation, "
        "with a counter that was seen to turn about as often. Counted are operations on 32 KiB at "
        "most, eight of a kind or more, and only where most small operations of a pass are such."
    ),
    judge=judge,
    applies=has_passes,
    intact=RANK_BY_RANK,
    passed="No backward pass has many small operations that are alike",
    evidence="operations in a pass, how many are alike, of how many kinds, and their share of it",
    rank=275,
    of_work=True,
    references=(
        "PyTorch, broadcasting: https://docs.pytorch.org/docs/stable/notes/broadcasting.html",
    ),
)
