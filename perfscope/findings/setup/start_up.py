"""Time before the first ordinary step: loading, compiling, tracing."""

from statistics import median

from perfscope.findings.core import thresholds
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.keras_loops import loops_of_calls
from perfscope.findings.facts.tracing import TRACED_OFTEN, Traced, traced_often
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.trace.damage import Need
from perfscope.trace.model import Rank
from perfscope.units import NS, format_seconds, format_share

START_UP_SHARE = 0.2  # of the life of a rank, before ordinary steps
TRACED_PER_STEP = 0.02  # in fewer of the steps new shapes turn up and do not come again and again
MADE_LEAST_PER_STEP = 0.05  # functions: one for 20 steps and more is a model that is used
PASSED = "Start-up and first steps take an ordinary share of the run"
LONG = (
    "Train longer per start, keep compiled code (a compilation cache), and read data that every "
    "start needs from a node-local copy."
)
WARM_UP_STEPS = 5
WARM_UP_FACTOR = 2.0  # a first step that takes longer than so many ordinary ones warms up


def judge(run: Facts) -> Outcome:
    """Whether the run spends much of its time before it trains, and on what."""
    results = run.results
    again = _again(results)
    known = results.steps.count or any(r.init_exit_ns is not None for r in results.trace.ranks)
    if not known and not again:
        return not_measured(
            "Neither steps nor the start of communication are in the trace: record with perfscope "
            "run, and mark the steps with `with perfscope.step():` where no framework tells them."
        )
    before_s, warm_s = _before_s(results), warm_up_s(results)
    share = _share_of_life(results, before_s + warm_s)
    is_long = share >= START_UP_SHARE and before_s + warm_s >= thresholds.START_UP_LEAST_S
    return Finding(
        status=_status_of(results, again[0]) if again else Status.INFO if is_long else Status.PASS,
        title=_title(again, before_s + warm_s, share, is_long=is_long),
        summary=(
            f"A rank takes {format_seconds(before_s)} until it can communicate, or until its first "
            f"step; its first steps take {format_seconds(warm_s)} more than ordinary ones. "
            f"Together that is {format_share(share)} of its life."
        ),
        confidence=Confidence.HIGH,
        where=again[0].where if again else (),
        evidence=(
            Evidence("Before communication or the first step", before_s, "s"),
            Evidence("First steps beyond ordinary ones", warm_s, "s"),
            *_tracing(again),
        ),
        actions=(again[0].action,) if again else (LONG,) if is_long else (),
        overlaps=("memory_growth",),
    )


def _again(results: Results) -> list[Traced]:
    """What was traced too often, worst first; pipelines that calls of a model build are apart.

    Many models of one kind, as of an ensemble, are no fault as long as each of them takes steps.
    """
    apart = bool(loops_of_calls(results))
    few = MADE_LEAST_PER_STEP * results.steps.count
    found = [
        one
        for one in traced_often(results)
        if not (apart if one.is_pipeline else one.is_made_anew and one.functions < few)
    ]
    return sorted(found, key=lambda one: _status_of(results, one).order)


def _before_s(results: Results) -> float:
    """Seconds from the start of a process to communication or its first step, mean of ranks."""
    found = [_begin_ns(rank) - rank.start_ns for rank in results.trace.ranks]
    return max(0.0, sum(found) / len(found) * NS) if found else 0.0


def _begin_ns(rank: Rank) -> int:
    if rank.init_exit_ns is not None:
        return rank.init_exit_ns
    return int(rank.steps["t0"][0]) if len(rank.steps) else rank.start_ns


def _share_of_life(results: Results, seconds: float) -> float:
    whole, lives = results.trace.whole, results.ledger.life_ns.tolist()
    if whole is not None:  # the ledger is of some of the steps
        lives = [rank.end_ns - rank.start_ns for rank in whole.ranks]
    life_s = sum(lives) / len(lives) * NS if lives else 0.0
    return seconds / life_s if life_s > 0 else 0.0


def _status_of(results: Results, one: Traced) -> Status:
    """The status of what was compiled too often.

    Tracing in few of many steps, as for batches of several lengths, is only told; so is what
    PyTorch compiled often, as one function may be compiled once for each of many modules. What it
    gave up stays uncompiled for the rest of the run, however few steps that took.
    """
    if one.is_torch:
        return Status.WARN if one.is_given_up else Status.INFO
    if one.times < TRACED_PER_STEP * results.steps.count:
        return Status.INFO
    return Status.FAIL if one.times > thresholds.TRACED_FAIL else Status.WARN


def _tracing(again: list[Traced]) -> list[Evidence]:
    rows = []
    for one in again[:4]:
        if one.is_torch:
            label = f"{one.name}() was compiled by PyTorch"
            rows.append(Evidence(label, one.most_traces, "", "once or a few times"))
            continue
        rows.append(Evidence(f"{one.name}() was traced", one.most_traces, "", "once or twice"))
        rows.append(Evidence(f"Functions of this name that were made: {one.name}", one.functions))
    return rows


def warm_up_s(results: Results) -> float:
    """Seconds that the first steps took beyond the median step; 0 where steps are not known."""
    seconds, numbers = results.steps.max_seconds, results.steps.numbers
    if len(seconds) <= 2 * WARM_UP_STEPS or results.options.focus:
        return 0.0
    if numbers[0] > 1 or numbers[WARM_UP_STEPS] != numbers[0] + WARM_UP_STEPS:
        return 0.0  # the beginning was not recorded, or not every step is in the series
    usual = median(seconds)
    first = [s - usual for s in seconds[:WARM_UP_STEPS] if s > WARM_UP_FACTOR * usual]
    return sum(first)


def _title(again: list[Traced], mean_s: float, share: float, *, is_long: bool) -> str:
    if again and again[0].is_given_up:
        return f"{again[0].what} and gave up: it runs uncompiled for what is new"
    if again:
        if again[0].is_pipeline or again[0].is_made_anew:
            return again[0].what
        modules = ": for as many modules, or again and again"
        return f"{again[0].what}{modules if again[0].is_torch else ', and compiled each time'}"
    if is_long:
        return f"{format_seconds(mean_s)} ({format_share(share)}) pass before ordinary steps begin"
    return PASSED


DIAGNOSIS = Diagnosis(
    id="start_up",
    title="Time before the first ordinary step",
    description=(
        "Adds the time before the ranks can communicate, or before the first step without MPI "
        "(loading libraries, reading data), to what the first steps take beyond an ordinary one "
        "(compiling, tracing, filling caches), and compares it with the whole run; counts how "
        "often TensorFlow traced and torch.compile compiled each function."
    ),
    judge=judge,
    intact=frozenset(Need),
    passed=PASSED,
    evidence="seconds before communication, first steps, traces, file and line of the function",
    counts_from=(
        f"traced more than {TRACED_OFTEN} times warns, more than {thresholds.TRACED_FAIL} "
        f"fails, in fewer than {100 * TRACED_PER_STEP:g} % of the steps it is reported (info); "
        f"what torch.compile compiled more than {thresholds.COMPILED_OFTEN} times is reported, as "
        "often as PyTorch's limit allows, from when on it runs uncompiled, warns; "
        f"{100 * START_UP_SHARE:g} % of the run and {thresholds.START_UP_LEAST_S:g} s before "
        "ordinary steps are reported (info)"
    ),
    rank=370,
    references=(
        "TensorFlow, tf.function and tracing: https://www.tensorflow.org/guide/function#tracing",
        (
            "PyTorch, recompilation: https://docs.pytorch.org/docs/main/user_guide/torch_compiler/"
            "compile/programming_model.recompilation.html"
        ),
    ),
)
