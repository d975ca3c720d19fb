"""Training that stands still while checkpoints are written."""

import numpy as np

from perfscope.attribution.ledger import INDEX
from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, not_measured, passed
from perfscope.findings.core.gain import bound_s, predicted_gain
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.rarer import RARER, rarer
from perfscope.findings.facts.serial_work import own_seconds
from perfscope.judging import ALONE, MAIN, NEGLIGIBLE
from perfscope.metrics.efficiency.phases import PhaseResult
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.replay.replay import Replay
from perfscope.schema.enums import Account, Confidence, PhaseKind
from perfscope.structures import dataclass
from perfscope.units import NS, format_seconds, format_share

PASSED = "Checkpoints cost little"
BEHIND = Edit(Account.CHECKPOINT, background=True)


@dataclass(frozen=True)
class _Habit:
    """How the ranks save: in which phase, how often a rank does, and who writes."""

    phase: PhaseResult
    times: int
    writers: tuple[int, ...]

    @property
    def longest(self) -> int:
        """The position of the rank that spends most on it."""
        seconds = self.phase.seconds_by_rank
        return seconds.index(max(seconds))

    @property
    def seconds(self) -> float:
        """What that rank spends on it, the exchange of state with other ranks included."""
        return self.phase.seconds_by_rank[self.longest]

    @property
    def exchange_s(self) -> float:
        """The part of it in which it exchanges state with the others, and waits for them."""
        return self.phase.communication_s_by_rank[self.longest]


def judge(run: Facts) -> Outcome:
    """Whether checkpoints hold the training up, and who writes them."""
    results, replay = run.results, run.replay
    spent_s = (results.ledger.ns[INDEX[Account.CHECKPOINT]] * NS).tolist()
    phases = [phase for phase in results.phases if phase.kind is PhaseKind.CHECKPOINT]
    if not phases or not any(spent_s):
        return _nothing(results)
    habit = _habit(results, phases[0])
    work = own_seconds(habit.phase)
    if len(work) > 1 and max(work) >= ALONE * sum(work):
        return passed(
            "One rank writes the checkpoints; what the others wait for it is judged apart."
        )
    found = _first(results, replay, habit, spent_s)
    is_fault = thresholds.deserved(found).is_fault
    exchanges = habit.exchange_s >= NEGLIGIBLE * habit.seconds
    return Finding(
        status=thresholds.deserved(found),
        title=_title(habit) if is_fault else PASSED,
        summary=_summary(results, habit, found),
        gain=found,
        confidence=Confidence.HIGH if not found.is_bound else Confidence.MEDIUM,
        ranks=habit.writers if is_fault else (),
        where=habit.phase.where,
        evidence=_evidence(habit),
        actions=_actions(results, replay, habit, found) if is_fault else (),
        overlaps=("load_imbalance", "network_bound") if exchanges else ("load_imbalance",),
    )


def _habit(results: Results, phase: PhaseResult) -> _Habit:
    """Those write of whom a framework or a marker tells it; else those who work most on it."""
    work = own_seconds(phase)
    told = [np.any(rank.phases["kind"] == PhaseKind.CHECKPOINT) for rank in results.trace.ranks]
    least = MAIN * max(work)
    writers = [
        number
        for number, seconds, is_told in zip(phase.ranks, work, told, strict=True)
        if seconds >= least and (is_told or not any(told))
    ]
    times = max(1, round(phase.count / max(1, len(phase.entering_ranks))))
    return _Habit(phase, times, tuple(writers))


def _rarely(results: Results, habit: _Habit) -> Edit:
    """Saving so much more rarely that it takes little; what a failure would cost has a bound."""
    every = rarer(results, habit.seconds, max(2, habit.times // 2))
    return Edit(Account.CHECKPOINT, phase=habit.phase.id, keep_every=every)


def _first(results: Results, replay: Replay, habit: _Habit, spent_s: list[float]) -> Gain:
    """What the better of two changes saves: the writing behind the training, or more rarely.

    What ranks exchange for a checkpoint is not to be had behind the training.
    """
    bound = bound_s(results, spent_s)
    found = [predicted_gain(results, replay, [BEHIND], bound_s=bound, is_planned=True)]
    if habit.times > 1 and not found[0].is_bound:
        edit = _rarely(results, habit)
        found.append(predicted_gain(results, replay, [edit], bound_s=bound, is_planned=True))
    return max(found, key=lambda gain: gain.seconds)


def _nothing(results: Results) -> Outcome:
    if not results.phases and not results.trace.has_stacks:
        return not_measured(wording.no_phases(results.trace, "checkpoint", "*save*"))
    return passed(
        "No checkpoint was seen in the analyzed window. Files that other functions write are not "
        "counted here.",
        Confidence.MEDIUM,
    )


def _title(habit: _Habit) -> str:
    phase = habit.phase
    place = wording.place(phase.where[0]) if phase.where else ""
    is_all = len(habit.writers) == len(phase.ranks) > 1
    who = "Every rank writes" if is_all else "Training stands still for"
    return f"{who} checkpoints{f' in {place}' if place else ''}"


def _summary(results: Results, habit: _Habit, found: Gain) -> str:
    share = habit.seconds / (results.focus.length_ns * NS)
    every = _every(found)
    done = f"Made {_how_rarely(habit, every)}" if every else "Written in the background"
    exchange = (
        f", {format_seconds(habit.exchange_s)} of it to exchange state with other ranks"
        if habit.exchange_s >= NEGLIGIBLE * habit.seconds
        else ""
    )
    return (
        f"{habit.times:,} {'checkpoint takes' if habit.times == 1 else 'checkpoints take'} "
        f"{format_seconds(habit.seconds)} of the rank that spends most on them, "
        f"{format_share(share)} of the analyzed window{exchange}. {done}, the run would take "
        f"{found.roughly}{wording.saving(results, found.seconds)} less."
    )


def _every(found: Gain) -> int | None:
    """How much more rarely the first action saves; None where it writes in the background."""
    return found.edits[0].keep_every if found.edits else None


def _how_rarely(habit: _Habit, every: int) -> str:
    return (
        "once, at the end of the run"
        if every >= habit.times
        else f"every {wording.ordinal(every)} time only"
    )


def _evidence(habit: _Habit) -> tuple[Evidence, ...]:
    rows = [
        Evidence("Checkpoints of a rank", habit.times, ""),
        Evidence("Each, on the rank that spends most on them", habit.seconds / habit.times, "s"),
        Evidence("Ranks that write", f"{len(habit.writers)} of {len(habit.phase.ranks)}"),
    ]
    if habit.exchange_s >= NEGLIGIBLE * habit.seconds:
        each_s = habit.exchange_s / habit.times
        rows.append(Evidence("Exchange of state with other ranks, each", each_s, "s"))
    return tuple(rows)


def _actions(results: Results, replay: Replay, habit: _Habit, found: Gain) -> tuple[str, ...]:
    ranks, every = len(habit.phase.ranks), _every(found)
    edit = _rarely(results, habit)
    behind, rare = replay.predict([BEHIND]), replay.predict([edit])
    back = wording.saves(results, behind.gain_s) if behind and every else ""
    back = f"Hand a copy of the state to a background thread or process and train on{back}."
    back_rare = wording.saves(results, rare.gain_s) if rare and not every else ""
    rarely = f"Save {_how_rarely(habit, edit.keep_every or 1)}{back_rare}."
    actions = [rarely, back] if every else [back]
    if len(habit.writers) == ranks > 1:
        actions.append(
            "If the ranks hold the same model, let rank 0 write it; if not, let each write its own "
            "shard. Ranks that write the same share the bandwidth of one file system."
        )
    elif every and habit.exchange_s > MAIN * habit.seconds:
        actions.append(
            "Let each rank write the part of the state that it holds (torch.distributed.checkpoint "
            "does): then nothing has to be gathered."
        )
    if habit.times > 1 and not every:
        actions.append(rarely)
    return tuple(actions)


DIAGNOSIS = Diagnosis(
    id="checkpoint_stall",
    title="Training stands still while checkpoints are written",
    description=(
        "Adds up the time in checkpoints that several ranks work on, or the only one, with what "
        "they exchange for it, and replays the run with the writing moved to the background, and "
        "with fewer of them; tells whether every rank writes the same."
    ),
    judge=judge,
    passed=PASSED,
    evidence="times, seconds each, those of the exchange of state, how many ranks write",
    gain_from=(
        "replay with writing in the background, or more rarely (the smallest of every "
        f"{', '.join(map(wording.ordinal, RARER))} time that leaves at most "
        f"{100 * thresholds.FAIL_SHARE_UPPER_BOUND:g} % of the rest), whichever saves more"
    ),
    rank=120,
    references=(
        (
            "PyTorch, distributed checkpoints: "
            "https://docs.pytorch.org/docs/stable/distributed.checkpoint.html"
        ),
    ),
)
