"""What is said of steps that get longer as they do more of the same, or may do so."""

from perfscope.findings.core import wording
from perfscope.findings.core.finding import Quiet, not_measured, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import grown_operand
from perfscope.findings.facts.more_of_the_same import (
    grows_alike,
    has_calls,
    more_calls,
    more_samples,
    others_grow_less,
    turns_of_loop,
)
from perfscope.findings.facts.step_growth import StepGrowth
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence
from perfscope.trace.model import Frame
from perfscope.units import format_seconds


def more_of_the_same(run: Facts, found: StepGrowth) -> Quiet | None:
    """That steps do more of all that they do, where that is so; None otherwise."""
    grown = f"from {format_seconds(found.taken_s[0])} to {format_seconds(found.taken_s[1])}"
    what = wording.called(found.frame) if found.is_of_function and found.frame else "Steps"
    lengths = f"{what} {'grows' if found.is_of_function else 'grow'} {grown}"
    for counts, named in (
        (more_samples, "samples of data"),
        (more_calls, "calls that communicate"),
    ):
        if (times := counts(run.results, found)) is not None:
            return _of_counts(lengths, named, times, found.times)
    if _works_on_more(run, found):
        return None
    alike = grows_alike(run.results, found)
    if found.is_of_function and (alike is not None or others_grow_less(run.results, found)):
        return None  # it grows beyond all others
    since = "" if found.since is None else f" from step {found.since} on"
    if alike is None and not has_calls(run.results):
        return _too_few_samples(run.results, found, f"{lengths}{since}")
    is_of_some = found.since is not None and len(found.ranks) < len(run.results.trace.ranks)
    if not alike or is_of_some:
        return None
    return passed(
        f"{lengths}{since}, and all that they do takes longer alike: each does more of the same, "
        "as longer episodes or sequences have it. If none is meant to be longer, look at what ends "
        "the loop inside a step.",
        Confidence.LOW,
    )


def _of_counts(lengths: str, named: str, times: float, grown: float) -> Quiet:
    """That a step does more of what is counted, and whether that is all that it grows by."""
    many, long = (f"{one:.1f}".removesuffix(".0") for one in (times, grown))
    more = f"{lengths}, as the number of {named} in a step does: {many} times as many."
    if times >= grown or many == long:
        return passed(more)
    return passed(
        f"{more} That is not all of it: a step takes {long} times as long.",
        Confidence.LOW,
    )


def _too_few_samples(results: Results, found: StepGrowth, lengths: str) -> Quiet:
    """That it is not known what grows; with the loop that turns more often, where one does."""
    loop = turns_of_loop(results, found)
    if loop is None:
        return not_measured(
            f"{lengths}. Too few stack samples tell whether a step does more of the same, or one "
            "part of it takes longer, and there are no calls to compare."
        )
    (function, lines), first, last = loop
    place = wording.called(Frame(function[0], function[1], lines[0]))
    return passed(
        f"{lengths}. The loop in lines {lines[0]} to {lines[1]} of {place} turns more often in a "
        f"step: its counter is {first:.3g} on average in the first steps and {last:.3g} in the "
        "last. Too few stack samples tell whether anything else takes longer.",
        Confidence.LOW,
    )


def _works_on_more(run: Facts, found: StepGrowth) -> bool:
    """Whether arrays that a function works on were seen to grow: it is what it works on."""
    return found.frame is not None and grown_operand(run.worked_on, found.frame) is not None
