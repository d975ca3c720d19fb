"""The answer of a comparison in sentences, and how it was found."""

import math
from collections.abc import Sequence

from perfscope.schema.compare import Answer, Compare, Comparison
from perfscope.studies.compare.compare import POWER
from perfscope.units import capitalized, format_bytes, format_change, format_changes, format_seconds

STATUSES = {Answer.SLOWER: "fail", Answer.UNKNOWN: "info", Answer.UNCLEAR: "info"}


def verdict(found: Compare) -> tuple[str, str]:
    """Status and sentence on the first screen."""
    first, *others = sorted(found.comparisons, key=_weight)
    status = STATUSES.get(first.answer, "pass")
    sentence = " ".join([sentence_of(first, found), *map(_briefly, others)])
    if found.unlike:
        status = "fail" if status == "fail" else "warn"
        sentence = f"Not like with like: {' '.join(found.unlike)} {sentence}"
    return status, sentence


def _weight(row: Comparison) -> tuple[int, float]:
    """What was shown comes before what was not, large changes before small ones."""
    order = (Answer.SLOWER, Answer.FASTER, Answer.SAME)
    place = order.index(row.answer) if row.answer in order else len(order)
    return place, -abs(math.log(row.ratio)) if row.ratio else 0.0


def _briefly(row: Comparison) -> str:
    """What one comparison says beside another one: the whole of it stands further down."""
    side, against, change = row.side, row.against, format_change(row.ratio)
    if row.answer is Answer.UNKNOWN or row.interval is None:
        return f"It is unknown whether {side} differs from {against}."
    told = f"({change}, 95 % confidence interval {format_changes(row.interval)})"
    if row.answer in (Answer.SLOWER, Answer.FASTER):
        return f"{side} is {row.answer.value} than {against} {told}."
    if row.answer is Answer.SAME:
        return f"{side} is as fast as {against} {told}."
    return f"No significant difference between {side} and {against} {told}."


def sentence_of(row: Comparison, found: Compare) -> str:
    """What one comparison says."""
    side, against = row.side, row.against
    if row.before.typical is None or row.after.typical is None:
        return f"{side} cannot be compared with {against}: {row.reason}."
    before, after = (
        written(one.typical or 0.0, found.unit.unit) for one in (row.before, row.after)
    )
    values = f"{found.unit.label} {after} instead of {before}"
    change = format_change(row.ratio)
    if row.answer is Answer.UNKNOWN or row.interval is None:
        return (
            f"It is unknown whether {side} differs from {against}: {row.reason}. "
            f"Measured: {values} ({change})."
        )
    interval = format_changes(row.interval)
    runs = "{} and {} runs".format(*row.counts)
    estimated = "estimated change " if row.method == "ranks" else ""
    told = f"{values} ({estimated}{change}, 95 % confidence interval {interval}, {runs})."
    if row.answer in (Answer.SLOWER, Answer.FASTER):
        return f"{side} is {row.answer.value} than {against}: {told}"
    if row.answer is Answer.SAME:
        limit = f"{100 * (found.factor - 1):.3g} %"
        return f"{side} is as fast as {against} within {limit}: {told}"
    reach = (
        f" With {runs} and this noise only differences of {100 * row.detectable:.0f} % or more "
        f"are detectable ({100 * POWER:.0f} % power); more repeats detect smaller ones."
        if row.detectable is not None
        else ""
    )
    return f"No significant difference between {side} and {against}: {told}{reach}"


def written(value: float, unit: str) -> str:
    """A value of a measure with its unit."""
    if unit == "s":
        return format_seconds(value)
    if unit == "B":
        return format_bytes(value)
    return f"{value:,.0f} {unit}" if abs(value) >= 1000 else f"{value:.4g} {unit}"


def how_measured(found: Compare) -> Sequence[tuple[str, str]]:
    """Definitions behind the numbers of the page."""
    methods = {row.method for row in found.comparisons}
    certain = _CERTAIN.format(level=100 * found.level, factor=found.factor)
    terms = [
        ("Slower, faster", certain),
        ("As fast", _AS_FAST),
        ("Unit of comparison", f"{capitalized(found.unit.label)}: {found.unit.why}."),
        ("Repeats", _REPEATS),
    ]
    if "ranks" in methods:
        terms.append(("Test", _RANKS))
    if "student" in methods:
        terms.append(("Test of few runs", _STUDENT))
    if len(found.comparisons) > 1:
        terms.append(("Several sides", _HOLM))
    terms.append(("Waterfall", _WATERFALL))
    return terms


_CERTAIN = (
    "The difference is significant at the {level:.0f} % level, and it is at least a factor of "
    "{factor:g} (--factor)."
)
_AS_FAST = (
    "The whole interval of the difference lies within that factor. Where it does not and the "
    "difference is not significant either, nothing is shown either way: that does not mean that "
    "the sides are equally fast."
)
_REPEATS = (
    "Each run contributes one number. The steps of a run share its nodes, neighbors and memory, so "
    "they are not independent repeats, and a single run per side cannot tell a difference from "
    "noise. A side is shown by the geometric mean of its runs where Student's t test compares the "
    "sides, and by their median where the rank test does."
)
_HOLM = "Each side is compared with the first one; p values are adjusted by Holm's method."
_RANKS = (
    "Mann-Whitney's rank test, exact, two-sided; the difference is Hodges-Lehmann's estimate with "
    "its interval. No distribution of the noise is assumed."
)
_STUDENT = (
    "Student's t test on logarithms: with fewer than four runs per side no order of ranks is rare "
    "enough to be significant. It assumes log-normal noise of equal spread on both sides."
)
_WATERFALL = (
    "Mean seconds per rank by account of the time ledger, averaged over the repeats, so that the "
    "parts add up to the difference exactly. Where the sides ran different numbers of steps, they "
    "are per step, without start-up and shutdown, which happen once per run."
)
