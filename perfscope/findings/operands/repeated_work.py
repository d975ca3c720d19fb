"""Functions that compute the same from the same operands each time."""

from collections import defaultdict
from math import isclose

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Quiet, not_measured, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import (
    frames_of,
    has_operands,
    ranks_of,
    saved_at_most,
    seen_on,
    shape_of,
)
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.metrics.host.hot_lines import (
    HotLine,
    differing_share,
    is_by_turns,
    most_calls,
    repeated,
)
from perfscope.schema.enums import Confidence
from perfscope.trace.model import Frame
from perfscope.units import format_seconds, format_share, listed


def judge(run: Facts) -> Outcome:
    """Whether lines whose operands never differ take enough of the run to act on."""
    results = run.results
    functions = repeated(results, run.worked_on, run.hot_lines, run.line_samples).values()
    worst = max(functions, key=lambda one: sum(line.seconds for line in one), default=None)
    if worst is None:
        return _none_seen(differing_share(results, run.hot_lines))
    gain = saved_at_most(results, worst)
    status = thresholds.deserved(gain)
    if not status.is_fault:
        return passed(
            f"Lines whose operands never differ take {format_seconds(gain.seconds)} at most."
        )
    places = frames_of(worst)
    return Finding(
        status=status,
        title=f"{_who(worst)} {_does(worst)}",
        summary=_summary(run, worst, gain.seconds),
        gain=gain,
        confidence=Confidence.MEDIUM,
        ranks=ranks_of(worst),
        where=places,
        evidence=(*_evidence(run, worst), *seen_on(worst)),
        actions=(_action(worst),),
    )


def _none_seen(share: float) -> Quiet:
    """That no such line was seen, as far as that says anything of the run."""
    seen = f"Lines that take {format_share(share)} of the ranks' computing were seen to work on "
    seen = f"{seen}different operands at times. Of the rest" if share else "Of the lines"
    if share > MAIN:
        return passed(f"{seen} that is not known.")
    return not_measured(
        f"{seen} it is not known whether they work on the same each time: they were looked at too "
        "seldom, or take something other than arrays (files, pandas tables, lists, and so on)."
    )


def _does(lines: list[HotLine]) -> str:
    """What they do again: the same each time, or one of several things by turns."""
    if most := _most_contents(lines):
        return f"computes {most} results by turns from {_operands(lines)}, again and again"
    return f"computes the same from {_operands(lines)} each time"


def _most_contents(lines: list[HotLine]) -> int:
    """How many contents come by turns; 0 where they are the same each time."""
    return max((line.site.contents for line in lines if is_by_turns(line)), default=0)


def _operands(lines: list[HotLine]) -> str:
    """The names that most of the time is spent on."""
    names = dict.fromkeys(one.name for line in lines[:2] for one in line.site.operands)
    return listed([f"`{name}`" for name in list(names)[:3]])


def _looks(lines: list[HotLine]) -> int:
    return sum(line.site.looks for line in lines)


def _summary(run: Facts, lines: list[HotLine], seconds: float) -> str:
    seen = any(line.site.result_looks >= FEWEST_SAMPLES for line in lines)
    result = (
        "Neither did the results that were seen"
        if seen
        else ("Where it draws no random numbers, its result is the same as well")
    )
    saving = wording.saving(run.results, seconds, is_bound=True)
    calls = most_calls(lines, run.line_samples)
    looks = f"In {_looks(lines)} looks at what its lines take, in {calls} calls or more,"
    if most := _most_contents(lines):
        back = sum(line.site.returns for line in lines)
        return (
            f"{looks} there were {most} different contents of {_operands(lines)} at one line (of a "
            f"large array, a sample), which were back after others {back} times. Where it draws no "
            f"random numbers, so are its results. Computed once for each, it would save {saving}."
        )
    return (
        f"{looks} the contents of {_operands(lines)} (of a large array, a sample) never differed. "
        f"{result}. Computed once, it would save {saving}."
    )


def _evidence(run: Facts, lines: list[HotLine]) -> tuple[Evidence, ...]:
    rows = [
        Evidence("Looks at the operands of these lines", _looks(lines)),
        _different(lines),
        Evidence("Separate calls that samples show, at least", most_calls(lines, run.line_samples)),
    ]
    rows += [
        Evidence(f"`{one.name}` in line {line.site.frame.line}", shape_of(one))
        for line in lines[:3]
        for one in line.site.operands[:2]
    ]
    return tuple(dict.fromkeys(rows))


def _different(lines: list[HotLine]) -> Evidence:
    """How many contents were seen: one alone, or several that came back."""
    if most := _most_contents(lines):
        return Evidence("Different contents at one line, each of them back by turns", most)
    return Evidence("Of them with other contents than the first", 0)


def _who(lines: list[HotLine]) -> str:
    """The function, or the part of its lines that is the same where other parts differ."""
    parts: defaultdict[tuple[int, Frame], float] = defaultdict(float)
    for line in lines:
        parts[line.rank.number, line.site.frame] += line.part
    place = lines[0].site.frame
    if isclose(min(parts.values()), 1.0):
        return wording.called(place)
    return f"Part of line {place.line} in {wording.called(place)}"


def _action(lines: list[HotLine]) -> str:
    who = wording.called(lines[0].site.frame)
    if most := _most_contents(lines):
        return (
            f"Compute what {who} makes of {_operands(lines)} alone once for each of their {most} "
            "contents, before the loop, and keep it beside them; compute it again only where they "
            "change."
        )
    return (
        f"Compute what {who} makes of {_operands(lines)} alone once, before the loop, "
        "and keep it; compute it again only where its operands change."
    )


DIAGNOSIS = Diagnosis(
    id="repeated_work",
    title="The same is computed again and again",
    description=(
        "Looks, about once a second, at all that the current instruction of the program takes, and "
        "compares it with earlier looks: where everything is known and never differs over "
        "several calls, nor do the results that are seen, one call would do; where it is one of a "
        "few things that come back by turns, one call for each of them."
    ),
    judge=judge,
    applies=has_operands,
    intact=RANK_BY_RANK,
    passed="No line was seen to compute the same again and again",
    evidence="looks, separate calls, and the operands with their shapes",
    gain_from=(
        "upper bound: the time of these lines on the rank that spends most in them, without the "
        "part of the looks whose contents no other look has seen"
    ),
    rank=282,
    of_work=True,
)
