"""Many small operations that are alike, where one could do all of them."""

from collections.abc import Mapping
from typing import Any

from perfscope.attribution.pass_loops import PassLoop, pass_loop
from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import saved_of_ranks
from perfscope.judging import MAIN
from perfscope.metrics.efficiency.phases import PhaseResult
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.counts import whole
from perfscope.units import NS, format_seconds, format_share

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
    share: float  # of the time of backward passes

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
    loop = _loop(results, passes)
    seconds = _seconds(results, passes, found, loop)
    gain = saved_of_ranks(results, [seconds[one.number] for one in results.trace.ranks])
    status = thresholds.deserved(gain)
    worst = max(found, key=lambda one: seconds[one.rank])
    if not status.is_fault:
        return passed(
            f"Small operations that are alike take {format_seconds(gain.seconds)} at most."
        )
    at = wording.place(loop.frame) if loop else "a loop of the forward pass"
    steps = max(1, sum(phase.count for phase in passes) // len(found))
    each_s = seconds[worst.rank] / worst.spared / worst.alike / steps
    return Finding(
        status=status,
        title=(
            f"{at} does {worst.alike:,.0f} small operations of PyTorch in each step, of which "
            f"{worst.kinds:,.0f} would do"
        ),
        summary=_summary(worst, each_s, wording.saving(results, gain.seconds, is_bound=True)),
        gain=gain,
        confidence=Confidence.MEDIUM,
        is_inferred=loop is None,
        ranks=tuple(one.rank for one in found),
        where=(*((loop.frame,) if loop else ()), *passes[0].where[:1]),
        evidence=tuple(row for one in found for row in _evidence(one, seconds[one.rank])),
        actions=(_action(loop, worst),),
        overlaps=("single_samples", "repeated_work"),
    )


def _summary(worst: Alike, each_s: float, saving: str) -> str:
    return (
        f"The graph of a backward pass holds {worst.operations:,.0f} operations. "
        f"{worst.alike:,.0f} of them are of {worst.kinds:,.0f} kinds, as a loop leaves them "
        f"that turns about {worst.turns:,} times and in which no turn needs what another one "
        "has made. Each works on a few values, so that most of its "
        f"{format_seconds(each_s)}, forward and back, is what a call costs. Done at once for "
        f"all turns, they would save {saving}."
    )


def _action(loop: PassLoop | None, worst: Alike) -> str:
    start = f"In {wording.place(loop.frame)}: compute" if loop else "Compute"
    return (
        f"{start} for all {worst.turns:,} turns of the loop at once, with one more axis "
        "(`x[:, None] - y[None]` in place of `x[i] - y` for each `i`; `torch.stack` what is made "
        "one by one before the loop), and reduce along that axis; mask what not all turns have. "
        "Where the result is too large for memory, take as many turns at a time as fit."
    )


def _evidence(one: Alike, seconds: float) -> tuple[Evidence, ...]:
    share = format_share(one.share)
    return (
        Evidence(f"Operations in a backward pass of rank {one.rank}", round(one.operations)),
        Evidence(f"Of rank {one.rank}, alike", f"{one.alike:,.0f} of {one.kinds:,.0f} kinds"),
        Evidence(f"Of the backward pass of rank {one.rank}, in these", share),
        Evidence(f"Of rank {one.rank}, forward and back, in all but one of a kind", seconds, "s"),
    )


def _loop(results: Results, passes: list[PhaseResult]) -> PassLoop | None:
    """The loop that such operations come from: the one that calls PyTorch most in a step."""
    backward = {results.phase_ids.index(one.id): one.where[0] for one in passes if one.where}
    return pass_loop(results.trace, results.timelines, results.focus, backward, _LIBRARY)


def _seconds(
    results: Results, passes: list[PhaseResult], found: list[Alike], loop: PassLoop | None
) -> dict[int, float]:
    """By rank what the operations take that are alike, but for one of each kind."""
    seconds = {rank.number: 0.0 for rank in results.trace.ranks}
    for one in found:
        inside_s = sum(_computing_s(phase, one.rank) for phase in passes)
        ahead_s = loop.ns[one.rank] * NS if loop else 0.0
        seconds[one.rank] = one.spared * (one.share * inside_s + ahead_s)
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
    title="Many small operations are done one by one where one could do all of them",
    description=(
        "The graphs of a few backward passes of PyTorch on CPUs are walked before they begin. "
        "Operations are alike that do the same with what is alike, down to the same parameters: "
        "a loop over samples leaves one in each turn. Where a turn needs what the one before it "
        "has made, none are alike. Counted are those on 32 KiB at most, eight of a kind or more, "
        "and only where most small operations of a pass are such."
    ),
    judge=judge,
    applies=has_passes,
    intact=RANK_BY_RANK,
    passed="No backward pass has many small operations that one could do at once",
    evidence="operations in a pass, how many are alike, of how many kinds, and what they take",
    gain_from=(
        "upper bound: of the time of the backward passes, and of the loop that is seen to call "
        "PyTorch most before them, what all operations but one of each kind take"
    ),
    rank=275,
    of_work=True,
    references=(
        "PyTorch, broadcasting: https://docs.pytorch.org/docs/stable/notes/broadcasting.html",
    ),
)
