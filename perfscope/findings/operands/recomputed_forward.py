"""Forward passes that are computed a second time in the backward passes."""

from collections.abc import Sequence

from perfscope.attribution.recomputed import Recomputed, recomputed
from perfscope.attribution.stack_rules import is_user_file
from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, passed
from perfscope.findings.core.gain import error_of_share, with_error
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.memory_limits import rooms
from perfscope.findings.facts.shorter_phases import without_share
from perfscope.judging import FEWEST_SAMPLES
from perfscope.metrics.communication.call_sites import MOST_PLACES
from perfscope.metrics.efficiency.phases import PhaseResult
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, PhaseKind
from perfscope.trace.model import Frame
from perfscope.units import format_bytes, format_share

KEEP = (
    "do without checkpointing these activations (torch.utils.checkpoint, "
    "gradient_checkpointing=True), or checkpoint fewer layers, as far as memory has room."
)
NOT_SEEN = "No layer of a forward pass was seen at work in a backward pass."


def has_passes(results: Results) -> bool:
    """Whether backward passes are told apart, and samples show what they do."""
    kinds = {phase.kind for phase in results.phases}
    return PhaseKind.BACKWARD in kinds and results.trace.has_stacks


def judge(run: Facts) -> Outcome:
    """How much of the backward passes computes forward passes again, and what it costs."""
    results = run.results
    found = [one for one in _recomputed(results) if one.samples >= FEWEST_SAMPLES]
    if not found:
        return passed(NOT_SEEN)
    passes = _of_kind(results, PhaseKind.BACKWARD)
    gain = _gain(run, passes, found)
    status = thresholds.deserved(gain)
    worst = max(found, key=lambda one: one.again_ns)
    if not status.is_fault:
        return passed(f"Forward work is only {format_share(worst.share)} of the backward pass.")
    saving = wording.saving(results, gain.seconds, is_bound=gain.is_bound)
    return Finding(
        status=status,
        title=(
            f"The backward pass computes {wording.place(_lines(worst)[0])} a second time, as its "
            "activations are checkpointed"
        ),
        summary=(
            f"Samples show forward work in {format_share(worst.share)} of the backward pass: its "
            "activations were not kept, so each layer is computed again before its gradients. Kept "
            f"activations would save {saving}, and take memory."
        ),
        gain=gain,
        confidence=Confidence.HIGH,
        ranks=tuple(one.rank for one in found),
        where=(*_lines(worst), *passes[0].where[:1]),
        evidence=(*map(_evidence, found[:MOST_PLACES]), *_memory(results)),
        actions=(_action(worst),),
    )


def _lines(found: Recomputed) -> tuple[Frame, ...]:
    """What is computed again, and the line that asks for it, which leads for a library's layer."""
    if found.asked_at is None:
        return (found.place,)
    lines = (found.place, found.asked_at)
    return lines if is_user_file(found.place.file) else lines[::-1]


def _action(found: Recomputed) -> str:
    return f"In {wording.place(found.asked_at or found.place)}: {KEEP}"


def _gain(run: Facts, passes: Sequence[PhaseResult], found: Sequence[Recomputed]) -> Gain:
    """What the run is shorter by without that share of the backward passes."""
    shares = {one.rank: one.share for one in found}
    gain = without_share(run, passes, shares)
    return with_error(gain, max(error_of_share(one.share, one.samples) for one in found))


def _memory(results: Results) -> tuple[Evidence, ...]:
    """What was left of the memory that kept activations would take."""
    return tuple(
        Evidence(f"Left of {room.name}, at the least moment", format_bytes(room.left_bytes))
        for room in rooms(results)[:1]
    )


def _recomputed(results: Results) -> tuple[Recomputed, ...]:
    forward, backward = (
        [results.phase_ids.index(phase.id) for phase in _of_kind(results, kind)]
        for kind in (PhaseKind.FORWARD, PhaseKind.BACKWARD)
    )
    # a loop of the program's own has no phase for its forward passes
    return recomputed(results.trace, results.timelines, results.focus, forward or [-1], backward)


def _of_kind(results: Results, kind: PhaseKind) -> Sequence[PhaseResult]:
    return [phase for phase in results.phases if phase.kind is kind]


def _evidence(one: Recomputed) -> Evidence:
    told = f"{format_share(one.share)} ({one.samples} samples)"
    return Evidence(f"Of the backward pass of rank {one.rank}, forward work", told)


DIAGNOSIS = Diagnosis(
    id="recomputed_forward",
    title="Forward passes are computed a second time in the backward pass",
    description=(
        "Looks for layers of the forward pass among the samples of backward passes, below what "
        "calls these. Activation checkpointing (gradient checkpointing) does so to save memory."
    ),
    judge=judge,
    applies=has_passes,
    intact=RANK_BY_RANK,
    passed="The backward pass computes no forward pass again",
    evidence="the share of backward passes in which layers are computed, and the memory left",
    gain_from=(
        "replay of backward passes without that share; its interval holds the samples' error, too"
    ),
    rank=283,
    of_work=True,
    references=(
        "PyTorch, torch.utils.checkpoint: https://docs.pytorch.org/docs/stable/checkpoint.html",
    ),
)
