"""Gradients of parameters that no optimizer holds."""

from collections.abc import Mapping
from typing import Any

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, passed
from perfscope.findings.facts.backward_passes import has_passes
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.shorter_phases import without_share
from perfscope.judging import FEWEST_SAMPLES
from perfscope.metrics.efficiency.phases import PhaseResult
from perfscope.schema.enums import Confidence, PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.counts import whole
from perfscope.trace.operands import MOST_AXES
from perfscope.units import counted, format_share


@dataclass(frozen=True)
class _Unused:
    """What a rank's backward passes were seen to compute for nothing."""

    rank: int
    share: float  # of the time of the passes that were looked at
    looks: int
    parameters: int
    values: int
    largest: tuple[int, ...]  # shape of the largest of them


def judge(run: Facts) -> Outcome:
    """How much of the backward passes computes such gradients, and what it costs."""
    results = run.results
    found = [one for rank in results.trace.ranks if (one := _of(rank.number, rank.frameworks))]
    if not found:
        return passed("No backward pass was seen to compute gradients that no optimizer uses.")
    passes = [phase for phase in results.phases if phase.kind is PhaseKind.BACKWARD]
    worst = max(found, key=lambda one: one.share)
    gain = without_share(run, passes, {one.rank: one.share for one in found})
    status = thresholds.deserved(gain)
    if not status.is_fault:
        return passed(
            f"Gradients that no optimizer uses take {format_share(worst.share)} of the backward "
            "passes at most."
        )
    saving = wording.saving(results, gain.seconds, is_bound=gain.is_bound)
    which = counted(worst.parameters, "parameter")
    return Finding(
        status=status,
        title=f"Backward passes compute gradients of {which} that no optimizer holds",
        summary=(
            f"In the {worst.looks} backward passes that were looked at, "
            f"{format_share(worst.share)} of the time went to gradients of {which} with "
            f"{worst.values:,} values in all, which no optimizer holds and nothing was seen to "
            f"change. Unless the program reads these gradients itself, to compute them no more "
            f"would save {saving}, and what their forward passes keep for them."
        ),
        gain=gain,
        confidence=Confidence.HIGH,
        ranks=tuple(one.rank for one in found),
        where=passes[0].where[:1],
        evidence=tuple(map(_evidence, found)),
        actions=(_action(passes[0]),),
        overlaps=("exposed_exchange",),
    )


def _evidence(one: _Unused) -> Evidence:
    shape = " × ".join(f"{size:,}" for size in one.largest)
    told = f"{format_share(one.share)} (the largest parameter: {shape})"
    return Evidence(f"Of the backward pass of rank {one.rank}, for no optimizer", told)


def _action(phase: PhaseResult) -> str:
    at = f"Before {wording.place(phase.where[0])}: call" if phase.where else "Call"
    return (
        f"{at} the part of the model whose parameters stay as they are inside `with "
        "torch.no_grad():`, or set `requires_grad_(False)` on it; or give its parameters to "
        "an optimizer, if they are meant to be trained."
    )


def _of(rank: int, frameworks: Mapping[str, Mapping[str, Any]]) -> _Unused | None:
    told = frameworks.get("torch", {}).get("unused_gradients")
    if not isinstance(told, Mapping):
        return None
    needless, spent = whole(told.get("needless_ns")), whole(told.get("whole_ns"))
    looks, largest = whole(told.get("looks")), told.get("largest")
    # in one look nobody sees whether values change
    if looks < FEWEST_SAMPLES or not 0 < needless <= spent:
        return None
    shape = tuple(map(whole, largest[:MOST_AXES])) if isinstance(largest, list) else ()
    return _Unused(
        rank=rank,
        share=needless / spent,
        looks=looks,
        parameters=whole(told.get("parameters")),
        values=whole(told.get("values")),
        largest=shape,
    )


DIAGNOSIS = Diagnosis(
    id="unused_gradients",
    title="Backward passes compute gradients that no optimizer uses",
    description=(
        "The graphs of a few backward passes of PyTorch on CPUs are walked before they begin. What "
        "of one leads to nothing but parameters that no optimizer holds, and whose values stay as "
        "they are, is computed for nothing, as where a model is fine-tuned whose first layers "
        "were meant to be frozen."
    ),
    judge=judge,
    applies=has_passes,
    intact=RANK_BY_RANK,
    passed="No backward pass was seen to compute gradients that no optimizer uses",
    evidence="the share of the backward passes, and of which parameters",
    gain_from="replay of backward passes without that share",
    rank=278,
    of_work=True,
    references=(
        "PyTorch, autograd mechanics: https://docs.pytorch.org/docs/stable/notes/autograd.html",
    ),
)
