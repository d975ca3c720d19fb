"""Ranks that start, import or set up at different times, so that the first ones wait once."""

from dataclasses import replace
from functools import partial
from statistics import median_high

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, not_applicable, not_measured
from perfscope.findings.core.gain import saved
from perfscope.findings.core.one_rank import alone
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.start_up_facts import StartUpFacts, beyond
from perfscope.metrics.efficiency.pop import are_independent
from perfscope.metrics.results import Results
from perfscope.schema.enums import Basis, Confidence, Status
from perfscope.trace.model import Frame
from perfscope.units import capitalized, format_seconds, format_share

SKEW_LEAST_S = 1.0  # once, at the start: imports on a busy machine differ by as much
SKEW_WARN_S = 3.0
SKEW_FAIL_S = 10.0
PASSED = "The ranks begin to work together at about the same time"

WHOLE_RUN = "Record the whole job with perfscope run, and analyze it without --foa."


def judge(run: Facts) -> Outcome:
    """Whether ranks wait at the start for others, for whom, and why these are late."""
    results = run.results
    facts = run.start_up
    if facts is None and are_independent(results.trace):
        return not_applicable(wording.INDEPENDENT)
    if facts is None:
        unknown = f"It is not known how the run began: {results.start_up.reason}. {WHOLE_RUN}"
        return not_measured(wording.not_recorded(results.trace, "communication", unknown))
    length_s = _length_s(results, facts)
    share = facts.worth_s / length_s if length_s > 0 else 0.0
    status = _status(facts.worth_s, share)
    is_told = status is not Status.PASS
    late = _late(facts)
    return Finding(
        status=status,
        title=_title(facts, late) if is_told else PASSED,
        summary=_summary(facts, share),
        gain=_gain(results, facts, share) if is_told else None,
        confidence=Confidence.MEDIUM,
        ranks=_numbers(facts, late) if is_told else (),
        where=_where(facts, late) if is_told else (),
        evidence=_evidence(facts, late),
        actions=_actions(facts, late) if is_told else (),
        overlaps=("start_up", "rank_zero_evaluation"),
    )


def _length_s(results: Results, facts: StartUpFacts) -> float:
    """Seconds that the loss is judged by: the focus, and what is lost before it."""
    return results.window_s + facts.before_s


def _status(gain_s: float, share: float) -> Status:
    """Once a run: in seconds first, as what is a large share of a test is none of a training."""
    if gain_s < SKEW_LEAST_S or share < thresholds.WARN_SHARE:
        return Status.PASS
    if gain_s >= SKEW_FAIL_S and share >= thresholds.FAIL_SHARE:
        return Status.FAIL
    return Status.WARN if gain_s >= SKEW_WARN_S else Status.INFO


def _gain(results: Results, facts: StartUpFacts, share: float) -> Gain:
    """What lies before the focus of analysis cannot be replayed, and no edit saves it."""
    is_replayed = facts.is_replayed and not facts.before_s
    basis = Basis.REPLAY if is_replayed else Basis.UPPER_BOUND
    edits = () if facts.before_s else facts.explained
    gain = saved(results, facts.worth_s, basis=basis, edits=edits, is_of_run=True)
    return replace(gain, share=share, is_once=True)


def _is_before(facts: StartUpFacts) -> bool:
    """Whether most of it is lost before communication is initialized."""
    return facts.before_s >= facts.setup_s


def _late(facts: StartUpFacts) -> tuple[int, ...]:
    """Positions of the ranks for which the others wait, the last one first."""
    start_up = facts.start_up
    if _is_before(facts):
        late_s = [max(start_up.waiting_s) - seconds for seconds in start_up.waiting_s]
    else:
        late_s = list(start_up.setup_s)
    bound = max(late_s) - 0.5 * beyond(late_s)
    found = [place for place, seconds in enumerate(late_s) if seconds >= bound]
    return tuple(sorted(found, key=lambda place: -late_s[place]))


def _numbers(facts: StartUpFacts, late: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(facts.start_up.ranks[place] for place in late))


def _where(facts: StartUpFacts, late: tuple[int, ...]) -> tuple[Frame, ...]:
    frames = facts.start_up.before if _is_before(facts) else facts.start_up.after
    frame = frames[late[0]]
    return (frame,) if frame is not None else ()


def _started_later_s(facts: StartUpFacts, late: tuple[int, ...]) -> float:
    """How much later than the usual rank the late one was started."""
    start_s = facts.start_up.start_s
    return beyond(start_s) if start_s[late[0]] == max(start_s) else 0.0


def _title(facts: StartUpFacts, late: tuple[int, ...]) -> str:
    frames = _where(facts, late)
    at = f", {wording.place(frames[0])}," if frames and wording.place(frames[0]) else ""
    who = capitalized(wording.ranks(_numbers(facts, late)))
    numbers = _numbers(facts, late)
    waits = f"{wording.others([one for one in facts.start_up.ranks if one not in numbers])} once"
    is_one = len(late) == 1
    them = "it" if is_one else "them"
    if not _is_before(facts):
        does = "sets up" if is_one else "set up"
        return f"{who} {does} longer than the others{at} and {waits} for {them}"
    if _started_later_s(facts, late) >= 0.5 * facts.before_s:
        was = "is" if is_one else "are"
        return f"{who} {was} started later than the others and {waits} for {them}"
    does, can = ("takes", "it can") if is_one else ("take", "they can")
    return f"{who} {does} longer until {can} communicate{at} and {waits} for {them}"


def _summary(facts: StartUpFacts, share: float) -> str:
    parts = []
    if facts.before_s > 0:
        parts.append(
            f"the usual rank waits {format_seconds(facts.before_s)} longer than the last one "
            "while communication is initialized"
        )
    if facts.setup_s > 0:
        parts.append(f"uneven set-up after that costs {format_seconds(facts.setup_s)}")
    told = capitalized(" and ".join(parts)) if parts else "Nobody waits for another rank"
    if facts.queued_s > 0:
        queued, cost = format_seconds(facts.queued_s), format_seconds(facts.before_s)
        told += f", {'all' if queued == cost and not facts.setup_s else queued} of it for a CPU"
    if format_seconds(facts.worth_s) == format_seconds(0.0):
        return f"{told}."
    return (
        f"{told}. Once a run, ranks that were ready at the same time would save about "
        f"{format_seconds(facts.worth_s)}, {format_share(share)} of the analyzed window"
        f"{' and what was waited before it' if facts.before_s > 0 else ''}."
    )


def _evidence(facts: StartUpFacts, late: tuple[int, ...]) -> tuple[Evidence, ...]:
    start_up, last = facts.start_up, late[0]
    name = f"rank {start_up.ranks[last]}"

    def row(label: str, seconds: tuple[float, ...]) -> Evidence:
        places = [p for p in range(len(seconds)) if p not in late] or [
            p for p in range(len(seconds)) if p != last
        ]
        usual = median_high(seconds[place] for place in places)
        return Evidence(
            f"{label}, {name}", seconds[last], "s", f"{format_seconds(usual)} on the others"
        )

    first = min(start_up.start_s)
    started = tuple(start - first for start in start_up.start_s)
    return (
        row("Started after the first rank", started),
        row("From its start until it initializes communication", start_up.before_s),
        row("Waiting while communication is initialized", start_up.waiting_s),
        row("Set-up after that", start_up.setup_s),
    )


def _actions(facts: StartUpFacts, late: tuple[int, ...]) -> tuple[str, ...]:
    who, frames = wording.ranks(_numbers(facts, late)), _where(facts, late)
    does, runs = ("does", "is") if len(late) == 1 else ("do", "are")
    whose = "its host's" if len(late) == 1 else "their hosts'"
    only = "this rank does" if len(late) == 1 else "these ranks do"
    place = f" in {wording.place(frames[0])}" if frames else ""
    if not _is_before(facts):
        return (
            (
                f"Let all ranks share what {who} {does} first{place}: each reads its part, or "
                "one reads and broadcasts while the others build the model."
            ),
            "Keep what every start needs in a prepared file instead of computing it each time.",
        )
    if _started_later_s(facts, late) >= 0.5 * facts.before_s:
        return (
            (
                f"Start all ranks at once, with srun instead of ssh in a row, and pull and unpack "
                f"containers before the job: {who} {runs} started late."
            ),
        )
    return (
        (
            f"Time the imports of {who} (python -X importtime) and compare {whose} file "
            "system: put the environment on a local disk, or in one container image."
        ),
        f"Do what only {only}, downloads or preprocessing, before the job is started.",
    )


DIAGNOSIS = Diagnosis(
    id="initialization_skew",
    title="Ranks wait at the start for others that are not ready",
    description=(
        "Compares how long each rank takes from its start to the first thing that all ranks do "
        "together: waiting in MPI_Init (or init_process_group) for ranks that start or import "
        "later, and set-up of different length before the first step, or before the first "
        "collective of all ranks where nothing tells the steps. It happens once a run and counts "
        "once: the waiting in MPI_Init as a bound, the rest by a replay in which no rank takes "
        "longer than the usual one. What the last rank waited longer for a CPU is taken off: who "
        "gets one first is chance."
    ),
    judge=judge,
    needs=(partial(alone, text="The run has a single rank: nobody waits for it."),),
    passed=PASSED,
    subject="Ranks that begin at different times",
    evidence="start, imports, waiting in `MPI_Init` and set-up by rank, line",
    gain_from=(
        "waiting in `MPI_Init` as a bound, set-up by a replay in which nobody takes longer "
        "than the usual rank"
    ),
    counts_from=(
        f"reported (info) from {SKEW_LEAST_S:g} s and {100 * thresholds.WARN_SHARE:g} % on, warns "
        f"from {SKEW_WARN_S:g} s, fails from {SKEW_FAIL_S:g} s and "
        f"{100 * thresholds.FAIL_SHARE:g} %, of the analyzed time and what was waited before "
        "it"
    ),
    rank=70,
    of_waiting=True,
    references=(
        (
            "Python's import time by module: "
            "https://docs.python.org/3/using/cmdline.html#cmdoption-X"
        ),
    ),
)
