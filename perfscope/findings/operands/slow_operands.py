"""Operands that a CPU handles slowly: subnormal values, zeros, foreign types, wide strides."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, Quiet, passed
from perfscope.findings.facts.backward_passes import backward_s
from perfscope.findings.facts.device_facts import is_of_torch
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import (
    frames_of,
    has_operands,
    ranks_of,
    saved_at_most,
    seen_on,
    shape_of,
    spent_by_rank,
)
from perfscope.findings.facts.transform_lengths import of_lengths, transformed, unknown_lengths
from perfscope.metrics.host import slow_operands
from perfscope.metrics.host.hot_lines import HotLine, looked_at_share
from perfscope.schema.enums import Confidence
from perfscope.structures import dataclass
from perfscope.trace.model import Frame
from perfscope.trace.operands import SUBNORMAL_TIMES, Operand
from perfscope.units import capitalized, format_share


@dataclass(frozen=True)
class Cause:
    """Why operands are slow, and what helps."""

    part: Callable[[Operand], float]  # of the time that it takes with such an operand, at most
    title: str  # behind the function; `{0}` is the operand, `{1}` its precision, `{2}` an axis
    why: str
    action: str
    of_torch: str = ""  # instead, where the job computes with PyTorch


TO_ZERO = (
    "set tiny values to zero (`{0}[abs({0}) < 1e-30] = 0`), or clamp them from below. Check that "
    "the results tolerate that."
)
"""`{0}` is the operand."""

AS_PICKED = (
    "Have what follows take the result with that axis first: to copy it back into the old order "
    "costs half or more of what this saves."
)
"""The copy back goes across memory as the picking did."""

CAUSES = (
    Cause(
        slow_operands.subnormal,
        "computes with subnormal values of `{0}`, which the CPU handles in microcode",
        "Values so near to zero that they lose digits are handled by the CPU's microcode, up to a "
        "hundred times as slowly as others",
        capitalized(TO_ZERO),
        f"Flush them to zero: torch.set_flush_denormal(True), or {TO_ZERO}",
    ),
    Cause(
        slow_operands.turned,
        "converts `{0}` in each operation: its bytes are in the other order than the CPU's",
        "Its bytes are in the other order than the CPU's: NumPy converts the whole array in each "
        "operation, in slow loops instead of those of BLAS and vector instructions",
        "Convert it once, where it is read: `x = x.astype(x.dtype.newbyteorder('='))`.",
    ),
    Cause(
        slow_operands.of_odd_precision,
        "computes in {1} on the CPU, with `{0}`",
        "Numeric libraries have no CPU arithmetic in this precision, and BLAS no products: each "
        "operation converts its values, or computes them one by one",
        "Keep `{0}` in single or double precision while computing; convert only what is stored.",
    ),
    Cause(
        slow_operands.of_objects,
        "takes Python objects one by one from the array `{0}`",
        "The array holds Python objects: an operation on it calls one for each of its elements",
        "If they are numbers, make `{0}` an array of numbers (`np.asarray(x, dtype=float)`), with "
        "rows of equal length. If they are strings and each call goes through them again, turn "
        "them into numbers once.",
    ),
    Cause(
        slow_operands.of_zeros,
        "computes with a mostly-zero array, `{0}`",
        "Nearly all of its values are zero, and each is still read and multiplied",
        "Keep only what is not zero: a sparse matrix (`scipy.sparse.csr_matrix({0})`), or indices "
        "and values. Where each row holds a single one, index the rows instead of multiplying.",
        "Keep only what is not zero: `{0}.to_sparse_csr()` once, or indices and values. Where each "
        "row holds a single one, index the rows (an embedding) instead of multiplying.",
    ),
    Cause(
        slow_operands.across,
        "works across the memory layout of `{0}`",
        "Neighboring values lie a cache line or more apart: each value fetches a whole line",
        "Store the array in the order in which it is read (`np.ascontiguousarray(x.T)` once), or "
        "compute all its columns at once.",
    ),
    Cause(
        slow_operands.rows_across,
        "picks rows across the memory layout of `{0}`",
        "The values of a row lie a cache line or more apart: each value that is picked fetches a "
        "whole line, where a contiguous row needs one line for several values",
        "Store `{0}` row by row once, before the loop: `{0} = np.ascontiguousarray({0})`. What "
        "`DataFrame.to_numpy()` returns may lie column by column, as a transposed array does.",
        "Store `{0}` row by row once, before the loop: `{0} = {0}.contiguous()` of a tensor, "
        "`np.ascontiguousarray({0})` of an array. What `DataFrame.to_numpy()` returns may lie "
        "column by column, as a transposed array or tensor does.",
    ),
    Cause(
        slow_operands.columns_across,
        "picks along axis {2} of `{0}`, across its memory layout",
        "What has one number on that axis lies a cache line or more apart: each value that is "
        "picked fetches a whole line, where values in one piece need one line for several",
        "Store `{0}` with that axis first, once before the loop "
        "(`np.ascontiguousarray(np.moveaxis({0}, {2}, 0))`, of a table `{0}.T`), and pick rows. "
        f"{AS_PICKED}",
        "Store `{0}` with that axis first, once before the loop (`{0}.movedim({2}, 0)"
        ".contiguous()` of a tensor, `np.ascontiguousarray(np.moveaxis({0}, {2}, 0))` of an "
        f"array), and pick rows. {AS_PICKED}",
    ),
)


def judge(run: Facts) -> Outcome:
    """Whether lines with slow operands take enough of the run to act on, by the costliest cause."""
    results = run.results
    found = _slowed(run)
    transforms = transformed(run)
    of_length = of_lengths(run, transforms)
    worst = max(found, key=lambda one: sum(line.seconds for line in found[one]), default=None)
    others_s = sum(line.seconds for line in found[worst]) if worst is not None else 0.0
    if of_length is not None and sum(one.line.seconds for one in transforms) > others_s:
        return of_length
    if worst is None:
        return _nothing_slow(run, unknown_lengths(transforms))
    lines, cause = sorted(found[worst], key=lambda one: -one.seconds), CAUSES[worst]
    gain = _with_passes(run, saved_at_most(results, lines), lines, cause)
    status = thresholds.deserved(gain)
    if not status.is_fault:
        return passed("Lines with operands that CPUs handle slowly take little of the run.")
    operand = max(slow_operands.known(lines[0]), key=cause.part)
    places = frames_of(lines)
    made_in = _made_in(run, lines[0]) if operand.layout == "strided" else ()
    change = cause.of_torch if cause.of_torch and is_of_torch(results) else cause.action
    return Finding(
        status=status,
        title=f"{wording.place(places[0])} {_filled(cause.title, operand)}",
        summary=(
            f"{cause.why}. `{operand.name}` is {shape_of(operand)}. With other operands these "
            f"lines would save {wording.saving(results, gain.seconds, is_bound=True)}: on "
            f"{wording.ranks([_slowest(lines)])} they take that much longer at most."
        ),
        gain=gain,
        confidence=Confidence.MEDIUM,
        ranks=ranks_of(lines),
        where=(*places, *made_in),
        evidence=(*_evidence(lines[0], operand), *seen_on(lines)),
        actions=(_filled(change, operand), *map(_there, made_in)),
        overlaps=("repeated_work", "growing_steps"),
    )


def _slowed(run: Facts) -> Mapping[int, list[HotLine]]:
    """By the number of the cause, what lines take for it, in the backward pass as well."""
    found: defaultdict[int, list[HotLine]] = defaultdict(list)
    ranks = [rank.number for rank in run.results.trace.ranks]
    passes_s = {number: backward_s(run.results, number) for number in ranks}
    for line in run.hot_lines:
        for number, cause in enumerate(CAUSES):
            if part := slow_operands.part_of(line, cause.part):
                slowed = slow_operands.slowed(line, part, run.line_samples)
                more_s = min(_gradients(line, cause) * slowed.seconds, passes_s[line.rank.number])
                passes_s[line.rank.number] -= more_s
                found[number].append(replace(slowed, seconds=slowed.seconds + more_s))
    return found


def _gradients(line: HotLine, cause: Cause) -> int:
    """Products of the backward pass that what is zero is multiplied in as well.

    Of a product of matrices, the gradient of the other factor, where that has one. Its own is a
    product of two that are not zero.
    """
    if cause.part is not slow_operands.of_zeros:
        return 0
    others = (
        one for one in line.site.operands if one.is_factor and not slow_operands.of_zeros(one)
    )
    return sum(one.has_gradient or one.is_parameter for one in others)


def _with_passes(run: Facts, gain: Gain, lines: Sequence[HotLine], cause: Cause) -> Gain:
    """The gain, which says so where it counts what is not spent in the lines themselves."""
    with_them = {line.rank.number for line in lines if _gradients(line, cause)}
    if not any(backward_s(run.results, number) for number in with_them):
        return gain
    counts = "counts the products of the backward pass for it, as long as forwards"
    return replace(gain, counts=counts, counts_more=True)


def _nothing_slow(run: Facts, unknown: str) -> Quiet:
    """That no slow operand was seen; `unknown` says of which transforms it is not known."""
    share = format_share(looked_at_share(run.results, run.hot_lines))
    return passed(
        f"Lines that take {share} of the ranks' computing were looked at: what they take is of "
        f"types and layouts that CPUs handle well. Of the rest that is not known.{unknown}",
        Confidence.LOW if unknown else Confidence.HIGH,
    )


def _made_in(run: Facts, line: HotLine) -> tuple[Frame, ...]:
    """The nearest caller whose own arrays lie in rows: what it passes is made there."""
    sites, frame = run.worked_on[run.results.trace.ranks.index(line.rank)], line.site.frame
    met = {frame}
    while callers := [one for site in sites if site.frame == frame for one in site.callers]:
        frame = max(callers, key=lambda one: one[1])[0]
        arrays = [one for site in sites if site.frame == frame for one in site.operands]
        if frame in met or not arrays:
            return ()
        if all(one.layout == "rows" for one in arrays):
            return (frame,)
        met.add(frame)
    return ()


def _there(caller: Frame) -> str:
    return (
        f"The view is made for the call in {wording.place(caller)}, whose own arrays lie in rows: "
        "copy it once there."
    )


PRECISIONS = {"float16": "half precision (float16)", "float128": "extended precision (float128)"}
"""Those of `of_odd_precision`, in words."""


def _filled(text: str, operand: Operand) -> str:
    precision = PRECISIONS.get(operand.dtype, operand.dtype)
    return text.format(operand.name, precision, operand.picked_axis)


def _slowest(lines: Sequence[HotLine]) -> int:
    """The rank that spends most in the lines."""
    spent = spent_by_rank(lines)
    return max(spent, key=lambda rank: spent[rank])


def _evidence(line: HotLine, operand: Operand) -> tuple[Evidence, ...]:
    rows = [
        Evidence(f"Looks at line {line.site.frame.line}", line.site.looks),
        Evidence(f"`{operand.name}`", shape_of(operand)),
    ]
    if operand.share("subnormal"):
        share = format_share(operand.share("subnormal"))
        rows.append(Evidence("Subnormal of its sampled values", share))
        if slow_operands.subnormal(operand) and operand.subnormal_times != SUBNORMAL_TIMES:
            times = f"{operand.subnormal_times:.3g} times as long as others"
            rows.append(Evidence("Such values take this CPU, as timed while it ran", times))
    if slow_operands.of_zeros(operand):
        rows.append(Evidence("Zero of its sampled values", format_share(operand.share("zero"))))
    if operand.picked:
        rows.append(Evidence(f"Indices selected along axis {operand.picked_axis}", operand.picked))
        rows.append(Evidence("Stride between values", operand.picked_apart_bytes, "bytes"))
    elif operand.layout == "strided":
        rows.append(Evidence("From one value to the next", operand.stride_bytes, "bytes"))
    return tuple(rows)


DIAGNOSIS = Diagnosis(
    id="slow_operands",
    title="Operands are of a kind that CPUs handle slowly",
    description=(
        "Looks at what the lines of the program compute with: subnormal values, arrays whose bytes "
        "are in foreign order and that are converted again each time, half and extended "
        "precision on the CPU, arrays of Python objects, tables that are nearly all zeros, and "
        "values that lie a cache line apart, also of rows that are picked by an array of numbers. "
        "Of Fourier transforms, whether their length has a large prime factor."
    ),
    judge=judge,
    applies=has_operands,
    intact=RANK_BY_RANK,
    passed="No operand of a kind that CPUs handle slowly was seen",
    evidence="the operand with shape and type, and what is slow about it",
    gain_from=(
        "upper bound: the time of these lines on the rank that spends most in them; of subnormal "
        "values what is left where each takes as many times as long as another as it took this CPU "
        "when it was timed there, at the first of them (a hundred where it was not; less than 1.5 "
        "is none); of rows that are picked, the cache lines that rows in one piece would not need; "
        "of zeros in a product of matrices, the products of the backward pass as well; "
        "of Fourier transforms, what the next length of small factors saves by pocketfft's estimate"
    ),
    rank=284,
    of_work=True,
)
