"""Steps that take longer from quarter to quarter of the run."""

from collections import Counter

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Quiet, not_measured, passed
from perfscope.findings.core.gain import saved
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.function_growth import function_growth, grown_by_rank
from perfscope.findings.facts.growth_notes import more_of_the_same
from perfscope.findings.facts.hot_operands import grown_operand
from perfscope.findings.facts.imbalance_facts import DIVIDE_ANEW
from perfscope.findings.facts.only_here import shared_frames
from perfscope.findings.facts.own_callers import called_by_library
from perfscope.findings.facts.rank_growth import rank_growth
from perfscope.findings.facts.step_growth import (
    LEAST_STEPS,
    StepGrowth,
    later_rise,
    median_by_quarter,
    step_growth,
)
from perfscope.findings.facts.step_shift import step_shift
from perfscope.judging import MAIN
from perfscope.losses.account import TAKES_PART
from perfscope.metrics.results import Results
from perfscope.schema.enums import Activity, Confidence
from perfscope.trace.model import Frame
from perfscope.trace.operands import Operand
from perfscope.units import format_seconds, format_share, inside, listed

LOCAL = "<locals>"
"""In the name of a function that another one made, by Python 3.11 and later."""

BETWEEN = "between the first and last quarter of the run"
WRITES = (Activity.SERIALIZATION, Activity.FILES, Activity.COMPRESSION, Activity.HASHING)
"""Work on what is kept of which only the new part need be done, where the rest was written."""


def is_sampled(results: Results) -> bool:
    """Whether it is known how long main threads waited for a CPU: that grows for other reasons."""
    return any(len(rank.main_samples) for rank in results.trace.ranks)


def judge(run: Facts) -> Outcome:
    """Whether steps grow, what that cost, and the function that grows."""
    whole = step_growth(run.results)
    # ranks that wait for CPUs do so longer in one part of the run than in another
    told = None if run.waits_for_cpus else whole
    growth = told or function_growth(run.results, run.frame_times, whole)
    if growth is None and whole is not None:
        growth = rank_growth(run.results)
    found = growth or step_shift(run.results)
    if found is None:
        return _not_found(run.results, whole)
    is_of_all = found is whole or found.since is not None or found.is_of_function
    if is_of_all and (more := more_of_the_same(run, found)):
        return more
    margin_s = 2.0 * found.error_s
    interval_s = max(0.0, found.lost_s - margin_s), found.lost_s + margin_s
    gain = saved(run.results, found.lost_s, interval_s=interval_s)
    status = thresholds.unless_chance(thresholds.by_gain(gain), gain)
    if not status.is_fault:
        by = f"by {format_share(found.times - 1.0)}" if found.is_first_known else "little"
        return passed(f"Steps grow {by} in all.")
    ranks = _ranks(run, found)
    grown = grown_operand(run.worked_on, found.frame)
    return Finding(
        status=status,
        title=_title(found, ranks if len(ranks) < len(run.results.trace.ranks) else ()),
        summary=_summary(found),
        gain=gain,
        confidence=Confidence.MEDIUM,
        ranks=ranks,
        where=(found.frame,) if found.frame else (),
        evidence=(*_evidence(found), *((_sizes(grown),) if grown else ())),
        actions=_actions(run, found, ranks, grown, others=_level_on(run.results, found, ranks)),
    )


def _not_found(results: Results, whole: StepGrowth | None) -> Quiet:
    """That no work is seen to grow; where steps take longer all the same, that it is not known."""
    if whole is not None:
        return not_measured(
            f"Steps grow from {format_seconds(whole.first_s)} to {format_seconds(whole.last_s)} "
            "over the run, in which ranks wait for CPUs: whether their work grows as well is not "
            "known. Record again where nothing else runs."
        )
    medians = median_by_quarter(results)
    if not medians:
        return not_measured(f"To compare the quarters of a run, {LEAST_STEPS} steps are needed.")
    times = listed([format_seconds(one) for one in medians])
    seen = f"The median steps of the quarters of the run take {times}"
    rise = saved(results, later_rise(results))
    if thresholds.by_bound(rise.share).is_fault:
        return not_measured(
            f"{seen}. They get longer from the shortest one on, and no work was seen to grow from "
            "each quarter to the next on all ranks taken together: work may move between ranks, or "
            "something else may have used the machine before. Record again where nothing else runs."
        )
    return passed(f"{seen}. No work was seen to grow from each quarter to the next.")


def _level_on(results: Results, found: StepGrowth, ranks: tuple[int, ...]) -> tuple[int, ...]:
    """The ranks that run a function as well that grows on others; none where it is of no function.

    What is kept of all steps, all of them keep.
    """
    if not found.is_of_function or found.frame is None or not ranks:
        return ()
    seen = {frame.key for frame in shared_frames(results, *ranks)}
    rest = tuple(rank.number for rank in results.trace.ranks if rank.number not in ranks)
    return rest if found.frame.key in seen else ()


def _ranks(run: Facts, found: StepGrowth) -> tuple[int, ...]:
    """The ranks on which the function grows, where it is one, or that work longer since."""
    if found.ranks or found.since is not None:
        return found.ranks
    if found.frame is None:
        return ()
    more = grown_by_rank(run.results, run.frame_times, found.frame)
    least = TAKES_PART * max(more.values(), default=0.0)
    return tuple(rank for rank, seconds in more.items() if seconds > least)


def _summary(found: StepGrowth) -> str:
    lost = format_seconds(found.lost_s)
    if found.since is not None:
        return (
            f"From step {found.since} on nearly every step takes {format_seconds(found.last_s)} or "
            f"more, waiting for CPUs aside, as against {format_seconds(found.first_s)} before, "
            f"with the same calls: {lost} more in all."
        )
    if found.levels_off:
        return f"{_who(found)} rose early in the run and has stayed there: {lost} more in all."
    return (
        f"{_who(found)} keeps growing from quarter to quarter{_counted_from(found)}. At this pace "
        f"a run twice as long loses four times the {lost} lost here."
    )


def _counted_from(found: StepGrowth) -> str:
    """What the seconds are counted from, where that is not the first quarter; "" where it is."""
    if found.begin_s is None or not found.is_first_known:
        return ""
    told = format_seconds(found.begin_s), format_seconds(found.taken_s[0])
    if told[0] == told[1]:
        return ""
    return f", from {told[0]} at the very start (extrapolated)"


def _may_keep_size(run: Facts, found: StepGrowth) -> bool:
    """Whether it may take the same amount of data for longer, as far as was seen.

    A call of a numeric library does so where the values change: what the program itself goes
    through grows, and so do operands that were seen to, and what is no array, such as a list, where
    arrays were looked at.
    """
    if found.frame is None:
        return False
    key, ratio = found.frame.key, found.times
    looked_at = [site for rank in run.worked_on for site in rank]
    sites = [site for site in looked_at if site.frame.key == key]
    if looked_at and all(site.frame != found.frame for site in sites):
        return False
    operands = [one for site in sites for one in site.operands if one.fewest]
    if any(one.elements >= ratio * one.fewest for one in operands):
        return False
    return _main_activity(run, found.frame) is Activity.NUMERIC


def _main_activity(run: Facts, frame: Frame) -> Activity | None:
    """What a function spends most of its time on; None where nothing takes most of it."""
    spent = Counter[Activity]()
    for row in run.results.activities.rows:
        if row.where is not None and row.where.key == frame.key:
            spent[row.activity] += row.ns
    most, ns = max(spent.items(), key=lambda one: one[1], default=(None, 0))
    return most if ns > MAIN * spent.total() else None


def _sizes(grown: Operand) -> Evidence:
    """The fewest and the most values of an array that were seen."""
    return Evidence(f"Values in `{grown.name}`, from {grown.fewest:,} to", grown.elements)


def _actions(
    run: Facts,
    found: StepGrowth,
    ranks: tuple[int, ...],
    grown: Operand | None,
    *,
    others: tuple[int, ...],
) -> tuple[str, ...]:
    name = wording.called(found.frame) if found.frame else "a step"
    kept = _less_of_what_is_kept(run, found, name, grown)
    if found.shrinking:
        less, more = wording.ranks(found.shrinking), wording.ranks(found.ranks)
        return (f"{DIVIDE_ANEW}: it moves from {less} to {more}.", kept)
    registered = tuple(filter(None, [_registered(run.results, found)]))
    goes_on = not found.levels_off and found.since is None
    if goes_on and not others and not _may_keep_size(run, found):
        return (kept, *registered)
    than = "late in the run than early" if goes_on else "from then on than before"
    if others:
        slower, level = wording.ranks(ranks), wording.ranks(others)
        than = f"on {slower} than on {level}, where it gets no slower"
    once = (
        "register hooks and callbacks once, as those that are registered again in each epoch pile "
        "up; "
    )
    changed = (
        f"Have {name} do no more {than}: {'' if registered else once}keep what it works on at one "
        "size; and keep values from getting subnormal (nearly zero), with which arithmetic can be "
        "many times slower."
    )
    return (changed, *registered, kept) if others or goes_on else (changed, *registered)


def _registered(results: Results, found: StepGrowth) -> str:
    """What may be done with a function that the program gave to a library; "" of any other one.

    It was made inside another function, and the library alone calls it: if it is given again and
    again, each step calls it more often. Samples tell how long it runs and not how often it is
    called, so that this is never the first thing to do.
    """
    if found.frame is None or LOCAL not in found.frame.function:
        return ""
    library = called_by_library(results, found.frame)
    if not library:
        return ""
    name, made = wording.called(found.frame), found.frame.function.split(f".{LOCAL}")[0]
    return (
        f"If {name} is registered as a hook or callback more than once, register it once, or "
        f"remove it before: {made}() makes it, and {library} calls it. Those that are registered "
        "again in each epoch pile up."
    )


def _less_of_what_is_kept(run: Facts, found: StepGrowth, name: str, grown: Operand | None) -> str:
    """What to do where all that is kept is gone through again; what only writes it may append."""
    frame = found.frame
    line = f" (line {frame.line})" if frame and found.is_of_function else ""
    array = f" (`{grown.name}` grows)" if grown else ""
    does = _main_activity(run, frame) if frame else None
    if does is not None and does in WRITES:
        return (
            f"In {name}{line}, which spends most of its time {inside(does.label)}: write only what "
            "is new, appended to what is there, or all of it once at the end, instead of "
            f"everything kept so far{array} again."
        )
    return (
        f"In {name}{line}: work on what is new alone, with a running result or a bounded window, "
        f"instead of on everything kept so far{array}."
    )


def _title(found: StepGrowth, ranks: tuple[int, ...]) -> str:
    """What grows, and on which ranks where it does not on all."""
    first, last = map(format_seconds, found.taken_s)
    if found.since is not None:
        where = f", mainly in {wording.called(found.frame)}" if found.frame else ""
        who = f" on {wording.ranks(found.ranks)}" if found.ranks else ""
        return f"From step {found.since} on, steps work for {last} instead of {first}{who}{where}"
    lengths = f"from {first} to {last}" if found.is_first_known else f"to {last}"
    if found.ranks:
        where = f", mainly in {wording.called(found.frame)}" if found.frame else ""
        less = (
            f", while that of {wording.ranks(found.shrinking)} shrinks" if found.shrinking else ""
        )
        return f"The work of {wording.ranks(found.ranks)} in a step grows {lengths}{where}{less}"
    if found.frame is None:
        return f"Steps grow {lengths} {BETWEEN}"
    function = wording.called(found.frame)
    if found.is_of_function:
        lengths = lengths if found.is_first_known else f"{last} at its end"
        return f"{function} takes longer per step as the run goes on, {lengths}"
    who = f" on {wording.ranks(ranks)}" if ranks else ""
    return f"Steps grow {lengths} {BETWEEN}, mainly in {function}{who}"


def _who(found: StepGrowth) -> str:
    if found.is_of_function:
        return "The time this function takes in a step"
    if found.ranks:
        return f"What {wording.ranks(found.ranks)} works in a step, waiting for CPUs aside,"
    return "The median step"


def _evidence(found: StepGrowth) -> tuple[Evidence, ...]:
    if found.since is not None:
        return (
            Evidence(f"Median step before step {found.since}", found.first_s, "s"),
            Evidence("Shorter steps since, waiting for CPUs aside", found.last_s, "s", "as before"),
            Evidence("Beyond steps as before", found.lost_s, "s"),
        )
    step = "In a step" if found.is_of_function else "Median step"
    first_s, last_s = found.taken_s
    first = f"{step}, first quarter of the run"
    rows = (
        Evidence(first, first_s, "s")
        if found.is_first_known
        else Evidence(first, "not known: hardly any sample"),
        Evidence(f"{step}, last quarter", last_s, "s", "as in the first"),
        *_begun(found, step),
        Evidence("Beyond that of the very start, added up over all steps", found.lost_s, "s"),
    )
    if found.queued <= 1.0 + thresholds.WARN_SHARE:
        return rows
    waited = format_share(1.0 - 1.0 / found.queued)
    return (*rows, Evidence("Of each, waiting for a CPU: mean of the run", waited))


def _begun(found: StepGrowth, step: str) -> tuple[Evidence, ...]:
    """What a step took before it had grown."""
    if found.begin_s is None or not found.is_first_known:
        return ()
    label = f"{step}, at the very start: extrapolated from the first two quarters"
    return (Evidence(label, found.begin_s, "s"),)


DIAGNOSIS = Diagnosis(
    id="growing_steps",
    title="Steps take longer the longer the run lasts",
    description=(
        "Compares the median step of each quarter of the run and, if that is inconclusive or "
        "ranks wait for CPUs, what each function needs apart from that waiting. What rises "
        "gradually and falls in no quarter, by more than chance and more than all other work, "
        "is growth: a list that is searched, a history that is summed again each time, a log "
        "that is rewritten. A step after which all steps take longer at the same calls is "
        "reported as well."
    ),
    judge=judge,
    applies=is_sampled,
    passed="Steps do not take longer the longer the run lasts",
    evidence=(
        "median step, or time of the function in a step, of the first and the last quarter, "
        "the function that takes more time in the last one"
    ),
    gain_from=(
        "seconds beyond what steps took at the beginning (what grows evenly has grown in the first "
        "quarter as well), as an upper bound"
    ),
    counts_from=(
        f"{LEAST_STEPS} steps; {100 * thresholds.WARN_SHARE:g} % of the window (fails from "
        f"{100 * thresholds.FAIL_SHARE_UPPER_BOUND:g} % on)"
    ),
    rank=105,
    of_work=True,
)
