"""Arrays in single precision that meet some in double, so that all is computed in double."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.first_meeting import (
    DOUBLE,
    SINGLE,
    Meeting,
    decides,
    first_meeting,
)
from perfscope.findings.facts.hot_operands import (
    has_operands,
    saved_of_ranks,
    shape_of,
)
from perfscope.judging import MAIN, SMALL_BYTES
from perfscope.metrics.communication.call_sites import MOST_PLACES
from perfscope.schema.enums import Confidence, Status
from perfscope.trace.model import Frame
from perfscope.trace.operands import Operand, WorkedOn
from perfscope.units import listed

OVERLAPS = ("slow_operands", "repeated_work")
ACTION = (
    "If single precision is enough, as it is for `{0}`, make `{1}` single "
    "(`.astype(np.float32)`) {2}."
)
WHY_DOUBLE = (
    "Random numbers, means and quotients of integers are double in NumPy unless it is told "
    "otherwise; since NumPy 2 so is an array that is combined with a number taken from a double "
    "one, as in `field * array.min()`: write `field * float(array.min())`."
)
ALL_SINGLE = (
    "If single precision is enough, make the arrays single where they are made "
    "(`.astype(np.float32)`, `dtype=np.float32`), and compare the results."
)
MODEL_SINGLE = (
    "If single precision is enough, as for training most models it is, convert the model "
    "(`model.float()`), make its inputs single (`dtype=torch.float32`), leave out "
    "`torch.set_default_dtype(torch.float64)`, and compare the results."
)
HALF_LEFT = (
    "That is half of the time of lines that compute in double precision, their messages included; "
    "single precision takes the other half"
)
OF_NUMBER = (
    "If single precision, which `{0}` has, is enough, convert `{1}` {2}: `float(...)` "
    "makes a Python number of it, `np.float32(...)` one in single precision. Since NumPy 2 a NumPy "
    "float64 scalar promotes a float32 array to float64; a Python number does not."
)


def judge(run: Facts) -> Outcome:
    """Whether work that single precision made double takes enough of the run to act on."""
    results = run.results
    meetings = _meetings(run)
    if not meetings:
        return _all_double(run)
    frame, (single, double) = next(iter(meetings.items()))
    own = [[one for one in sites if _is_double(one) or widened(one)] for sites in run.worked_on]
    gain = _gain(run, own)
    status = thresholds.deserved(gain)
    if not status.is_fault:
        return passed("Lines that compute in double what is partly single take little of the run.")
    seen = Meeting(frame, single, double)
    first = first_meeting(run, seen)
    cause = first or seen
    return Finding(
        status=status,
        title=_title(seen, first),
        summary=(
            f"{_converts(cause)} and computes in double precision, and what is "
            "made of its result is mostly double as well. In single precision, all work on such "
            "arrays would take "
            f"{wording.saving(results, gain.seconds, is_bound=True)} less."
        ),
        gain=gain,
        confidence=Confidence.MEDIUM,
        ranks=tuple(
            rank.number
            for rank, sites in zip(results.trace.ranks, run.worked_on, strict=True)
            if any(map(widened, sites))
        ),
        where=_where(cause, meetings),
        evidence=(
            Evidence(f"`{cause.double.name}`", shape_of(cause.double)),
            Evidence(f"`{cause.single.name}`", shape_of(cause.single)),
            *_others(chain(*own), cause.double.name),
        ),
        actions=(_action(cause), *(() if cause.double.is_number else (WHY_DOUBLE,))),
        overlaps=OVERLAPS,
    )


def _all_double(run: Facts) -> Outcome:
    """What is said where all arrays are in double precision.

    Whether single is enough no recording tells; to what learns it is, as a rule.
    """
    own = [[one for one in sites if _is_double(one) and _is_large(one)] for sites in run.worked_on]
    gain = _gain(run, own)
    seen = (one for site in chain(*run.worked_on) for one in site.operands)
    is_mixed = any(one.dtype == SINGLE and one.elements > 1 for one in seen)
    if is_mixed or not thresholds.deserved(gain).is_fault:
        return passed("No array in single precision was seen to meet one in double precision.")
    spent_s: defaultdict[Frame, float] = defaultdict(float)
    for rank, sites in zip(run.results.trace.ranks, own, strict=True):
        for frame in {site.frame for site in sites}:
            spent_s[frame] += run.line_samples.seconds(rank, {frame})
    frames = sorted(spent_s, key=lambda one: -spent_s[one])
    operands = [one for sites in own for site in sites for one in site.operands]
    learns = any(one.is_parameter or one.has_gradient for one in operands)
    return Finding(
        status=Status.WARN if learns else Status.INFO,
        title=f"{wording.place(frames[0])} computes in double precision",
        summary=(
            "Lines that work on large arrays in double precision would take half as long in "
            "single precision, which would save "
            f"{wording.saving(run.results, gain.seconds, is_bound=True)}. Whether seven digits are "
            "enough, no recording tells; for training most models they are."
        ),
        gain=gain if learns else None,
        is_inferred=learns,
        confidence=Confidence.LOW,
        where=tuple(frames[:MOST_PLACES]),
        evidence=_others(chain(*own), ""),
        actions=(MODEL_SINGLE if learns else ALL_SINGLE,),
        overlaps=OVERLAPS,
    )


def _is_large(site: WorkedOn) -> bool:
    """Whether what it takes is so large that the call itself takes little of its time."""
    largest = max((one.elements for one in site.operands), default=0)
    return largest * np.dtype(DOUBLE).itemsize >= SMALL_BYTES


def _where(cause: Meeting, meetings: Iterable[Frame]) -> tuple[Frame, ...]:
    """Where single meets double first, where the double operand is made, and the other places."""
    made = (cause.double.made,) if cause.double.made else ()
    return tuple(dict.fromkeys((cause.frame, *made, *meetings)))


def _title(seen: Meeting, first: Meeting | None) -> str:
    """Where work is double, and by what: of what was passed there also where that was."""
    cause = first or seen
    passed = f", passed in {wording.place(first.frame)}," if first else ""
    return (
        f"{wording.place(seen.frame)} computes in double precision, because {DOUBLE} "
        f"`{cause.double.name}`{passed} promotes {SINGLE} `{cause.single.name}`"
    )


def _converts(cause: Meeting) -> str:
    single, double = cause.single, cause.double
    return (
        f"`{double.name}` is {shape_of(double)}, and `{single.name}` {shape_of(single)}: each call "
        f"converts all of `{single.name}`"
    )


def _action(cause: Meeting) -> str:
    told = OF_NUMBER if cause.double.is_number else ACTION
    made = cause.double.made
    unknown = "where it is made, which this recording does not tell"
    where = unknown if made is None else f"in {wording.place(made)}, which makes it"
    return told.format(cause.single.name, cause.double.name, where)


def _meetings(run: Facts) -> dict[Frame, tuple[Operand, Operand]]:
    """The lines where single meets double precision, and what does; those of most time first.

    Of which types they are is no matter of chance: one look shows it, where many are needed to
    tell that contents are the same.
    """
    found: dict[Frame, tuple[Operand, Operand]] = {}
    spent_s: defaultdict[Frame, float] = defaultdict(float)
    for rank, sites in zip(run.results.trace.ranks, run.worked_on, strict=True):
        own = {site.frame: pair for site in sites if (pair := widened(site))}
        for frame, pair in own.items():
            found.setdefault(frame, pair)
            spent_s[frame] += run.line_samples.seconds(rank, {frame})
    return {frame: found[frame] for frame in sorted(found, key=lambda one: -spent_s[one])}


def _gain(run: Facts, own: Sequence[Sequence[WorkedOn]]) -> Gain:
    """Half of what lines take that compute in double precision, by rank.

    Twice as many values in single precision fit a register of the CPU, and its caches.
    """
    halves_s = [
        MAIN * run.line_samples.seconds(rank, {one.frame for one in sites})
        for rank, sites in zip(run.results.trace.ranks, own, strict=True)
    ]
    return replace(saved_of_ranks(run.results, halves_s), bridge=HALF_LEFT)


def widened(site: WorkedOn) -> tuple[Operand, Operand] | None:
    """The array in single and the one in double precision that an operator takes, where it does.

    A transposed array is told as the array.
    """
    names = [name.removesuffix(".T").removesuffix(".mT") for name in site.met]
    both = [one for name in names for one in site.operands if one.name == name]
    single = [one for one in both if one.dtype == SINGLE and one.elements > 1]
    double = [one for one in both if one.dtype == DOUBLE and decides(one)]
    return (single[0], double[0]) if single and double and site.is_innermost else None


def _is_double(site: WorkedOn) -> bool:
    """Whether no array that it takes is larger than one in double precision."""
    doubles = [one.elements for one in site.operands if one.dtype == DOUBLE]
    return max(doubles, default=0) == max((one.elements for one in site.operands), default=-1)


def _others(sites: Iterable[WorkedOn], name: str) -> tuple[Evidence, ...]:
    """What else is in double precision; nothing where nothing is."""
    names = dict.fromkeys(
        one.name
        for site in sites
        for one in site.operands
        if one.dtype == DOUBLE and one.name != name
    )
    told = [f"`{one}`" for one in list(names)[:MOST_PLACES]]
    label = "Also seen in double precision"
    return (Evidence(label, listed(told)),) if told else ()


DIAGNOSIS = Diagnosis(
    id="widened_operands",
    title="Single precision is computed in double",
    description=(
        "Looks at the two arrays that an operator takes: where one is in single and the other in "
        "double precision, NumPy converts the first in each call, and all that follows is computed "
        "in double precision, which takes a CPU twice as long. Where lines that take much of the "
        "run work on large arrays that are all double, that is noted."
    ),
    judge=judge,
    applies=has_operands,
    intact=RANK_BY_RANK,
    passed="Single precision is not computed in double",
    evidence="both arrays with shape and type, and others that were seen in double precision",
    gain_from=(
        "upper bound: half of the time of lines that work mostly on arrays in double precision, "
        "and of what they call, on the rank that spends most in them"
    ),
    rank=285,
    of_work=True,
)
