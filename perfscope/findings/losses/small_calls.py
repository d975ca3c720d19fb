"""What is said of Python code that calls a library of arrays for a few values at a time."""

from __future__ import annotations

from dataclasses import replace

from perfscope.attribution.small_work import callers
from perfscope.findings.core.finding import Evidence, Finding
from perfscope.findings.core.wording import place, there
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.groups import Group
from perfscope.findings.losses.words import places, spent_by
from perfscope.schema.enums import Activity, Confidence
from perfscope.trace.small_calls import OnFewValues, small_calls
from perfscope.units import format_seconds


def with_small_calls(run: Facts, group: Group, finding: Finding) -> Finding:
    """The finding; of a loop of small calls how long one takes, and what to do in their place.

    Whether its turns depend on each other is not known: then no operation on whole arrays can
    replace it.
    """
    found = _seen(run, group)
    if found is None:
        return finding
    loop, empty = found.loop, found.empty
    first = group.entries[0]
    world = [rank.number for rank in run.results.trace.ranks]
    return replace(
        finding,
        title=(
            f"Calls on {_few(found.values)} values each, in a loop of Python, take "
            f"{spent_by(group, world)}, in {places(first)}"
        ),
        confidence=Confidence.MEDIUM,
        is_inferred=True,
        evidence=(
            *finding.evidence,
            Evidence("A turn of the loop there takes about", loop.turn_s, "s"),
            Evidence("An instruction of its bytecode takes about", loop.execution_s, "s"),
            Evidence("A call of the library on one value takes on this host", empty.call_s, "s"),
            Evidence("Values of a large array that take as long, about", empty.values),
        ),
        actions=(there(f"In {place(first.frame)}", _change(found)),),
    )


def _few(values: int) -> str:
    """How many values: `at most 300`, or `a few` where no array was seen that a call takes."""
    return f"at most {values:,}" if values > 1 else "a few"


def _seen(run: Facts, group: Group) -> OnFewValues | None:
    first = group.entries[0]
    if first.cause.activity is not Activity.INTERPRETER or first.frame is None:
        return None
    trace = run.results.trace
    found = small_calls(trace).get(first.frame)
    return found if found and first.frame.key in callers(trace) else None


def _change(found: OnFewValues) -> str:
    lines, call_s = found.loop.lines, found.empty.call_s
    loops = "the loop that calls this function"
    if lines is not None:
        begin, end = lines
        loops = (
            f"the loop in lines {begin} to {end}" if begin < end else f"the loop in line {begin}"
        )
    return (
        f"Compute all turns of {loops} with operations on whole arrays, as far as they do not "
        "depend on each other; where they do, compile the loop (Numba), or keep the numbers in "
        f"lists and use `math`. Each call works on {_few(found.values)} values and takes about as "
        f"long as one on a single value, {format_seconds(call_s)}."
    )
