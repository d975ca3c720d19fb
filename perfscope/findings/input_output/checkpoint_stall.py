"""Training that stands still while checkpoints are written."""

from perfscope.attribution.ledger import INDEX
from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, not_measured, passed
from perfscope.findings.core.gain import bound_s, predicted_gain
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.serial_work import own_seconds
from perfscope.judging import ALONE, MAIN
from perfscope.metrics.efficiency.phases import PhaseResult
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.replay.replay import Replay
from perfscope.schema.enums import Account, Confidence, PhaseKind
from perfscope.units import NS, format_bytes, format_seconds, format_share

PASSED = "Checkpoints cost little"
EDIT = Edit(Account.CHECKPOINT, background=True)


def judge(run: Facts) -> Outcome:
    """Whether checkpoints hold the training up, and who writes them."""
    results, replay = run.results, run.replay
    spent_s = (results.ledger.ns[INDEX[Account.CHECKPOINT]] * NS).tolist()
    phases = [phase for phase in results.phases if phase.kind is PhaseKind.CHECKPOINT]
    if not phases or not any(spent_s):
        return _nothing(results)
    phase = phases[0]
    work = own_seconds(phase)
    if len(work) > 1 and max(work) >= ALONE * sum(work):
        return passed(
            "One rank writes the checkpoints; what the others wait for it is judged apart."
        )
    found = predicted_gain(
        results, replay, [EDIT], bound_s=bound_s(results, spent_s), is_planned=True
    )
    is_fault = thresholds.deserved(found).is_fault
    writers = tuple(
        rank for rank, seconds in zip(phase.ranks, work, strict=True) if seconds >= MAIN * max(work)
    )
    return Finding(
        status=thresholds.deserved(found),
        title=_title(phase, writers, len(work)) if is_fault else PASSED,
        summary=_summary(results, phase, spent_s, found),
        gain=found,
        confidence=Confidence.HIGH if not found.is_bound else Confidence.MEDIUM,
        ranks=writers if is_fault else (),
        where=phase.where,
        evidence=_evidence(results, phase, spent_s, writers),
        actions=_actions(results, replay, phase, writers) if is_fault else (),
        overlaps=("load_imbalance",),
    )


def _nothing(results: Results) -> Outcome:
    if not results.phases and not results.trace.has_stacks:
        return not_measured(wording.no_phases(results.trace, "checkpoint", "*save*"))
    return passed("No checkpoint was seen in the analyzed window.", Confidence.MEDIUM)


def _title(phase: PhaseResult, writers: tuple[int, ...], ranks: int) -> str:
    place = wording.place(phase.where[0]) if phase.where else ""
    who = "Every rank writes" if len(writers) == ranks > 1 else "Training stands still for"
    return f"{who} checkpoints{f' in {place}' if place else ''}"


def _times(phase: PhaseResult) -> int:
    """Checkpoints of one rank."""
    return max(1, round(phase.count / max(1, len(phase.entering_ranks))))


def _summary(results: Results, phase: PhaseResult, spent_s: list[float], found: Gain) -> str:
    times = _times(phase)
    share = max(spent_s) / (results.focus.length_ns * NS)
    return (
        f"{times:,} {'checkpoint takes' if times == 1 else 'checkpoints take'} "
        f"{format_seconds(max(spent_s))} of the rank that writes longest, {format_share(share)} of "
        f"the analyzed window. Written in the background, the run would take {found.at_most}"
        f"{wording.saving(results, found.seconds)} less."
    )


def _evidence(
    results: Results, phase: PhaseResult, spent_s: list[float], writers: tuple[int, ...]
) -> tuple[Evidence, ...]:
    times = _times(phase)
    rows = [
        Evidence("Checkpoints of a rank", times, ""),
        Evidence("Each, on the rank that writes longest", max(spent_s) / times, "s"),
        Evidence("Ranks that write", f"{len(writers)} of {len(phase.ranks)}"),
    ]
    written = results.resources.written_bytes_by_rank
    if any(written):
        total = format_bytes(sum(written))
        rows.append(Evidence("Written by all ranks in the whole run", total))
    return tuple(rows)


def _actions(
    results: Results, replay: Replay, phase: PhaseResult, writers: tuple[int, ...]
) -> tuple[str, ...]:
    ranks, times = len(phase.ranks), _times(phase)
    actions = ["Hand a copy of the state to a background thread or process and train on."]
    if len(writers) == ranks > 1:
        actions.append(
            "If the ranks hold the same model, let rank 0 write it; if not, let each write its own "
            "shard. Ranks that write the same share the bandwidth of one file system."
        )
    if times > 1:
        rarer = replay.predict([Edit(Account.CHECKPOINT, keep_every=2)])
        back = wording.saves(results, rarer.gain_s) if rarer else ""
        actions.append(f"Save every 2nd time only{back}.")
    return tuple(actions)


DIAGNOSIS = Diagnosis(
    id="checkpoint_stall",
    title="Training stands still while checkpoints are written",
    description=(
        "Adds up the time in checkpoints that several ranks write, or the only one, and replays "
        "the run with the writing moved to the background; tells whether every rank writes the "
        "same."
    ),
    judge=judge,
    passed=PASSED,
    evidence="times, seconds each, bytes, how many ranks write",
    gain_from="replay with writing in the background; every 2nd",
    rank=120,
    references=(
        (
            "PyTorch, distributed checkpoints: "
            "https://docs.pytorch.org/docs/stable/distributed.checkpoint.html"
        ),
    ),
)
