"""Evaluation or progress output by all ranks, more often than the run can afford."""

from dataclasses import replace
from math import sqrt
from pathlib import PurePath

import numpy as np

from perfscope.attribution.focus import Focus
from perfscope.attribution.stack_rules import (
    EVALUATION_LIKE,
    computes_figure,
    is_user_file,
    names_training,
)
from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import (
    Evidence,
    Finding,
    Gain,
    Spent,
    not_applicable,
    not_measured,
    passed,
)
from perfscope.findings.core.gain import bound_s, predicted_gain
from perfscope.findings.facts.call_site import led_by_call
from perfscope.findings.facts.doubtful_evaluation import doubtful_evaluation
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.network_facts import told_steps
from perfscope.findings.facts.rarer import RARER, less_often, rarer
from perfscope.findings.facts.serial_work import PROGRESS, own_seconds
from perfscope.judging import ALONE, FEWEST_SAMPLES, MAIN, NEGLIGIBLE
from perfscope.metrics.efficiency.phases import PhaseResult
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.replay.replay import Replay
from perfscope.schema.common import TOLD_STEPS
from perfscope.schema.enums import Confidence, PhaseKind, Status
from perfscope.structures import dataclass
from perfscope.trace.model import Rank
from perfscope.units import NS, format_seconds

EVALUATION_SHARE = 0.10  # the same of evaluation, which tells whether the training is any good
VALIDATION_SHARE = 0.20  # of evaluation once an epoch: what a fifth of the data held back costs
PASSED = "Evaluation and progress output cost little"
UNKNOWN = "Whether evaluation and progress output cost much is not certain"
EVALUATES = {PhaseKind.EVALUATE, PhaseKind.PREDICT}
TRAINS = {PhaseKind.TRAIN, PhaseKind.FORWARD, PhaseKind.BACKWARD, PhaseKind.OPTIMIZER}
UNCERTAIN = " Few samples tell it: whether it is too much, a longer recording shows."


@dataclass(frozen=True)
class _Habit:
    """Work that ranks do again and again between training steps."""

    phase: PhaseResult
    seconds: float  # of the rank that spends most on it
    times: int  # that a rank does it
    samples: float | None  # of that rank that tell it, about; None: it is known exactly
    may_share: float  # of the run, that it may take

    @property
    def certain_s(self) -> float:
        """The seconds, of n samples less their standard error, 1 / sqrt(n) of them."""
        error = 0.0 if self.samples is None else 1.0 / sqrt(max(1.0, self.samples))
        return self.seconds * (1.0 - error)

    @property
    def is_output(self) -> bool:
        """Progress output and not evaluation."""
        return self.phase.id == PROGRESS


def judge(run: Facts) -> Outcome:
    """Whether all ranks evaluate or print too often, and what doing it more rarely saves."""
    results, replay = run.results, run.replay
    habits = _habits(results)
    if not habits:
        return _nothing(results)
    main = habits[0]
    every = _rarer(results, main)
    edit = Edit(phase=main.phase.id, keep_every=every)
    if is_full := _is_in_full(results, main):
        edit = Edit(phase=main.phase.id, factor=1 / len(main.phase.ranks))
    work = own_seconds(main.phase)
    found = predicted_gain(results, replay, [edit], bound_s=bound_s(results, work), is_planned=True)
    kept = 1 / len(main.phase.ranks) if is_full else (main.times // every) / main.times
    off_s = sum(work) / len(work) * (1 - kept)
    lead = "of work that it takes off each rank"
    found = replace(found, spent=Spent(off_s, lead=lead, is_gone=True))
    is_affordable = _is_affordable(results, main, main.seconds)
    is_certain = _is_affordable(results, main, main.certain_s) == is_affordable
    status = thresholds.deserved(found) if is_certain and not is_affordable else Status.PASS
    is_fault = status.is_fault
    return Finding(
        status=status,
        title=_title(main, is_full=is_full) if is_fault else PASSED if is_certain else UNKNOWN,
        summary=_summary(results, main, None if is_full else every, found)
        + ("" if is_certain else UNCERTAIN),
        gain=found,
        confidence=Confidence.HIGH if main.phase.source != "sampled" else Confidence.MEDIUM,
        ranks=main.phase.entering_ranks if is_fault else (),
        window_s=_window(main),
        where=main.phase.where if is_full else led_by_call(results, main.phase),
        evidence=_evidence(results, replay, habits, None if is_full else every),
        actions=_actions(results, main, every, is_full=is_full) if is_fault else (),
        overlaps=("rank_zero_evaluation", "load_imbalance"),
    )


def _habits(results: Results) -> list[_Habit]:
    """What several ranks, or the only one, do more than once; the most beyond its share first."""
    found = []
    ranks = len(results.trace.ranks)
    is_training = _trains(results)
    for phase in results.phases:
        is_output = phase.id == PROGRESS
        is_like = phase.id == EVALUATION_LIKE  # between training steps, by its rhythm
        is_evaluation = phase.kind in EVALUATES and (is_training or _is_rare(results, phase))
        if not (is_output or is_like or is_evaluation):
            continue
        work = own_seconds(phase)
        alone = max(work) >= ALONE * sum(work)
        if not sum(work) or (ranks > 1 and alone):
            continue  # one rank does it while the others wait: another diagnosis
        times = _times(phase)
        if times >= 2 and not _is_part_of_steps(results, phase, times):
            samples, may = _samples(results, phase), _may_share(results, phase, times)
            found.append(_Habit(phase, max(work), times, samples, may))
    return sorted(found, key=lambda habit: -habit.certain_s / habit.may_share)


def _trains(results: Results) -> bool:
    """Whether the program trains at all: in others evaluation is what they are for."""
    if results.steps.source in TOLD_STEPS:
        return True
    if any(phase.kind in TRAINS for phase in results.phases):
        return True
    files = {frame.file for frame in results.trace.frames if is_user_file(frame.file)}
    return any(names_training(PurePath(file).stem) for file in files)


def _times(phase: PhaseResult) -> int:
    """How often a rank does it."""
    return round(phase.count / max(1, len(phase.entering_ranks)))


def _is_rare(results: Results, phase: PhaseResult) -> bool:
    """Whether most steps go without it, and most time: it is not what the program is for.

    What few samples tell of each time may have been missed in other steps, unless those in which it
    was seen have a period.
    """
    length_s, times = results.focus.length_ns * NS, _times(phase)
    samples = _samples(results, phase)
    is_seen = samples is None or samples >= FEWEST_SAMPLES * times
    recurring = results.labels.recurring if results.labels else ()
    is_seen = is_seen or any(frame.key in recurring for frame in phase.where)
    few = 2 <= times < MAIN * results.steps.count
    return few and is_seen and max(own_seconds(phase), default=0.0) < MAIN * length_s


def _may_share(results: Results, phase: PhaseResult, times: int) -> float:
    """Of the run, what is no fault: more for evaluation, most once an epoch.

    A function that computes an accuracy, a score or the like may be all the evaluation there is.
    """
    figures = [frame for frame in phase.where if computes_figure(frame)]
    if phase.id == PROGRESS and not figures:
        return thresholds.FAIL_SHARE_UPPER_BOUND
    epochs = max((_epochs(rank, results.focus) for rank in results.trace.ranks), default=0)
    is_usual = epochs > 0 and times <= epochs + 1  # and once more at the end
    return VALIDATION_SHARE if is_usual else EVALUATION_SHARE


def _epochs(rank: Rank, focus: Focus) -> int:
    """Epochs in the focus that a framework or a marker told of."""
    steps = rank.steps
    inside = (steps["t1"] > focus.start_ns) & (steps["t0"] < focus.end_ns)
    return len(np.unique(steps["epoch"][inside & (steps["epoch"] >= 0)]))


def _samples(results: Results, phase: PhaseResult) -> float | None:
    """How many samples tell of the rank that is in a phase longest; None where it is marked."""
    if phase.source != "sampled":
        return None
    work = own_seconds(phase)
    rank = results.trace.ranks[work.index(max(work))]
    sampled = len(rank.main_stacks)
    lived_s = (rank.end_ns - rank.start_ns) * NS
    return sampled * max(work) / lived_s if lived_s > 0 else 0.0


def _is_part_of_steps(results: Results, phase: PhaseResult, times: int) -> bool:
    """Whether it is a prediction that the program is for, or that nearly every step needs."""
    if phase.kind is not PhaseKind.PREDICT:
        return False
    return times > MAIN * told_steps(results)


def _nothing(results: Results) -> Outcome:
    sampled = results.trace.has_stacks
    if not results.phases and not sampled:
        return not_measured(wording.no_phases(results.trace, "evaluate", "*evaluate*"))
    if (left := _most_left_out(results)) is not None:
        return _left_out(results, left)
    if (either := doubtful_evaluation(results, EVALUATION_SHARE)) is not None:
        return either
    return passed(
        "No evaluation and no output that several ranks repeat was seen between the steps.",
        Confidence.MEDIUM,
    )


def _most_left_out(results: Results) -> PhaseResult | None:
    """The evaluation that takes longest and was not judged; None where none takes much."""
    left = [one for one in results.phases if one.kind in EVALUATES and any(own_seconds(one))]
    most = max(left, key=lambda one: max(own_seconds(one)), default=None)
    least_s = EVALUATION_SHARE * results.focus.length_ns * NS
    return most if most is not None and max(own_seconds(most)) > least_s else None


def _left_out(results: Results, phase: PhaseResult) -> Outcome:
    """Why evaluation that takes much is no fault here."""
    work = own_seconds(phase)
    if len(work) > 1 and max(work) >= ALONE * sum(work):
        return passed(
            "No evaluation that several ranks repeat was seen: one rank does it.", Confidence.MEDIUM
        )
    share = wording.of_window(max(work) / (results.focus.length_ns * NS))
    if _times(phase) < 2:
        return passed(f"{phase.label} comes once, and takes {share}.", Confidence.MEDIUM)
    if _is_part_of_steps(results, phase, _times(phase)):
        return passed(
            f"{phase.label} takes {share}, as a part of nearly each step.", Confidence.MEDIUM
        )
    return not_applicable(
        f"{phase.label} takes {share}, and nothing shows that the program trains: it may be what "
        "the program is for."
    )


def _rarer(results: Results, habit: _Habit) -> int:
    """The smallest factor that leaves little of it, at most as often as it is done now."""
    # what tells whether training is any good is not to be left out altogether
    most = habit.times if habit.is_output else max(2, habit.times // 2)
    return rarer(results, habit.seconds, most)


def _is_in_full(results: Results, habit: _Habit) -> bool:
    """Whether each rank seems to do all of it: with the others, as long, and without a word.

    Ranks that share an evaluation add up what they found at its end. Where no call of any rank was
    recorded, as of compiled functions that exchange by themselves, nobody knows.
    """
    phase, work = habit.phase, own_seconds(habit.phase)
    ranks = len(results.trace.ranks)
    is_alike = ranks > 1 and len(phase.entering_ranks) == ranks and min(work) > ALONE * max(work)
    is_heard = any(len(one.operations) or one.totals for one in results.trace.ranks)
    talks = not is_heard or sum(phase.communication_s_by_rank) > NEGLIGIBLE * sum(work)
    first: dict[int, tuple[float, float]] = {}
    for rank, begin, end in phase.windows_s:
        first.setdefault(rank, (begin, end))
    begins, ends = [one[0] for one in first.values()], [one[1] for one in first.values()]
    is_together = bool(first) and max(begins) < min(ends)
    return is_alike and is_together and not talks and not habit.is_output


def _is_affordable(results: Results, habit: _Habit, seconds: float) -> bool:
    """Whether so many seconds are no more than it may take."""
    return seconds <= habit.may_share * results.focus.length_ns * NS


def _title(habit: _Habit, *, is_full: bool) -> str:
    """What is wrong, in the terms of the first action: it is done in full, or too often."""
    place = wording.place(habit.phase.where[0]) if habit.phase.where else ""
    if is_full:
        is_like = habit.phase.id == EVALUATION_LIKE
        done = "run all of what looks like an evaluation" if is_like else "evaluate all of the data"
        where = f" in {place}" if place else ""
        return f"Each rank seems to {done}{where}, {habit.times:,} times"
    what = "Progress output" if habit.is_output else "Evaluation"
    what = "What looks like an evaluation runs" if habit.phase.id == EVALUATION_LIKE else what
    entering = habit.phase.entering_ranks
    everybody = len(entering) == len(habit.phase.ranks)
    who = "each rank" if everybody else wording.ranks(entering)
    return f"{what} too often{f': {place}' if place else ''}, {habit.times:,} times on {who}"


def _summary(results: Results, habit: _Habit, every: int | None, found: Gain) -> str:
    steps = results.steps.count
    apart = round(steps / habit.times)
    often = f", once in {apart:,} steps" if apart > 1 else ""
    share = habit.seconds / (results.focus.length_ns * NS)
    changed = f"done {_rarely(habit, every)}" if every else "split over the ranks"
    return (
        f"Each time takes {format_seconds(habit.seconds / habit.times)}{often}; in all "
        f"{wording.of_window(share)}. If it were {changed}, the run would take "
        f"{wording.saving(results, found.seconds, is_bound=found.is_bound)} less."
    )


def _rarely(habit: _Habit, every: int) -> str:
    """How often it would be done: `every 10th time only`, `once in the run`."""
    if every >= habit.times:
        return "once in the run" if habit.is_output else "at the end of the run"
    return "half as often" if every == RARER[0] else f"every {wording.ordinal(every)} time only"


def _window(habit: _Habit) -> tuple[float, float] | None:
    windows = habit.phase.windows_s
    return (windows[0][1], max(end for _, _, end in windows)) if windows else None


def _evidence(
    results: Results, replay: Replay, habits: list[_Habit], every: int | None
) -> tuple[Evidence, ...]:
    main = habits[0]
    rows = [
        Evidence("Times on each rank", main.times, ""),
        Evidence("Each time", main.seconds / main.times, "s"),
    ]
    rows += [
        Evidence(f"{habit.phase.label}: work of the busiest rank", habit.seconds, "s")
        for habit in habits
    ]
    waiting_s = sum(results.communication.wait_s_by_rank)
    rows.append(Evidence("Waiting for other ranks in the whole run, added up", waiting_s, "s"))
    for other in RARER:
        if other != every and other < main.times:
            edit = Edit(phase=main.phase.id, keep_every=other)
            if prediction := replay.predict([edit]):
                label = f"Gain if done {_rarely(main, other)}"
                rows.append(Evidence(label, prediction.gain_s, "s"))
    return tuple(rows)


def _actions(results: Results, habit: _Habit, every: int, *, is_full: bool) -> tuple[str, ...]:
    where = habit.phase.where
    place = wording.place(where[0]) if where else habit.phase.label
    doing = "Compute and print it" if habit.is_output else "Evaluate"
    if habit.phase.id == EVALUATION_LIKE:
        doing = "If training does not need it, do it"
    called = f"call {place} {less_often(results.steps.count, habit.times, every)}"
    lines = led_by_call(results, habit.phase)
    at = f", in {wording.place(lines[0])}" if lines[:1] != where[:1] else ""
    actions = [f"{doing} {_rarely(habit, every)}: {called}{at}."]
    if habit.is_output:
        actions.append(
            "Keep the figure as a running sum on each rank, without copying data again, and add it "
            "up over the ranks only when it is printed."
        )
    elif is_full:
        ranks = len(habit.phase.ranks)
        split = (
            f"Where each rank does all of {place}, split it over the ranks: each takes every "
            f"{wording.ordinal(ranks)} sample (data[rank::{ranks}]), and one all-reduce adds up "
            "the sums."
        )
        return (split, *actions)
    else:
        actions.append("Evaluate on a part of the data while training, on all of it at the end.")
    return tuple(actions)


DIAGNOSIS = Diagnosis(
    id="frequent_evaluation",
    title="All ranks evaluate or print too often",
    description=(
        "Looks for evaluation, prediction and progress output (computing and printing a loss, "
        "an error, statistics) that ranks repeat between training steps, and replays the run "
        "as if it happened only every k-th time."
    ),
    judge=judge,
    passed=PASSED,
    evidence="times, seconds each, function and line",
    gain_from=(
        "replay with the evaluation split over the ranks, where each seems to do all of it, else "
        f"with every k-th time only: the smallest k of {', '.join(map(str, RARER))} "
        f"that leaves at most {100 * thresholds.FAIL_SHARE_UPPER_BOUND:g} % of the rest"
    ),
    counts_from=(
        "twice, and progress output of more than "
        f"{100 * thresholds.FAIL_SHARE_UPPER_BOUND:g} % of the run, "
        f"evaluation of more than {100 * EVALUATION_SHARE:g} % ({100 * VALIDATION_SHARE:g} % "
        "where it comes once an epoch, and once more at the end), of sampled phases less the "
        "standard error of n samples (n^-1/2); evaluation in a program that never "
        "trains, unless most steps go without it, and predictions that nearly every step "
        "makes do not count"
    ),
    rank=30,
    references=(
        (
            "Linaro Performance Reports, characterizing MPI time: "
            "https://docs.linaroforge.com/latest/html/performance-reports/"
        ),
    ),
)
