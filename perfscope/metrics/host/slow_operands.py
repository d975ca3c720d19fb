"""Which part of the time an operand costs by its values, type or layout, at most."""

import math
from collections.abc import Callable
from dataclasses import replace

from perfscope.metrics.host.hot_lines import HotLine, LineSamples
from perfscope.metrics.host.looks import FEWEST_LOOKS
from perfscope.trace.operands import (
    CACHE_LINE_BYTES,
    LEAST_TIMES,
    NEAR_CACHE_BYTES,
    SPARSE_TIMES,
    VECTOR_BYTES,
    Operand,
)


def subnormal(operand: Operand) -> float:
    """What vectors of values that hold a subnormal one take beyond the others.

    Nothing on a CPU that was timed to handle these as fast as others.
    """
    if operand.subnormal_times < LEAST_TIMES or operand.looks < FEWEST_LOOKS:
        return 0.0
    lanes = max(1, VECTOR_BYTES // operand.value_bytes)
    vectors = 1.0 - (1.0 - operand.share("subnormal")) ** lanes
    more = (operand.subnormal_times - 1.0) * vectors
    return more / (1.0 + more)


def across(operand: Operand) -> float:
    """What values take that lie in a cache line each, and these in no near cache together.

    In one piece a line holds several of them.
    """
    is_apart = operand.layout == "strided" and operand.stride_bytes >= CACHE_LINE_BYTES
    if not is_apart or operand.elements * CACHE_LINE_BYTES <= NEAR_CACHE_BYTES:
        return 0.0
    return max(0.0, 1.0 - operand.value_bytes / CACHE_LINE_BYTES)


def rows_across(operand: Operand) -> float:
    """What rows take that are picked from an array whose values of a row lie far apart."""
    return 0.0 if operand.picked_axis else _picked_across(operand)


def columns_across(operand: Operand) -> float:
    """What is picked along another axis than the first, as columns of a table are."""
    return _picked_across(operand) if operand.picked_axis else 0.0


def _picked_across(operand: Operand) -> float:
    """What values take that are picked where those of one place on an axis lie far apart.

    Each value costs a cache line of its own; of a place in one piece, a line holds several.
    """
    size = operand.shape[operand.picked_axis] if operand.picked_axis < len(operand.shape) else 0
    values = math.prod(operand.shape) // size if size else 0
    apart = operand.picked * values
    is_apart = operand.picked_apart_bytes >= CACHE_LINE_BYTES
    if not is_apart or values < 2 or apart * CACHE_LINE_BYTES <= NEAR_CACHE_BYTES:
        return 0.0
    in_one_piece = max(1.0, values * operand.value_bytes / CACHE_LINE_BYTES)
    return max(0.0, 1.0 - in_one_piece / values)


def of_zeros(operand: Operand) -> float:
    """What a table of numbers takes that are nearly all zero, beyond one that holds the others.

    Those take a sparse product longer, each by itself. Only a table has a sparse form that goes
    into one, or rows that are multiplied by one: pictures that are mostly empty are convolved as
    they are, and sums are of all values.
    What an operator computes anew each time, or may, is dense: making that sparse each time takes
    about as long as the product. Which of its values are zero may change: what counts is the look
    that saw the fewest zeros, as a field that a wave runs into is filled by and by. So a look tells
    as much on any rank, and at any line of the function.
    """
    axes = len([size for size in operand.shape if size > 1])
    is_table = axes == len(operand.shape) == 2 or (operand.is_factor and axes >= 2)
    is_large = operand.elements * operand.value_bytes > NEAR_CACHE_BYTES
    is_anew = operand.is_computed and operand.contents != 1
    is_taken = operand.dtype.startswith("float") and not operand.is_term and not is_anew
    if not is_table or not is_large or not is_taken or operand.kind_looks < FEWEST_LOOKS:
        return 0.0
    return max(0.0, 1.0 - SPARSE_TIMES * (1.0 - min(operand.least_zero, operand.share("zero"))))


def turned(operand: Operand) -> float:
    """Whether an array of foreign byte order is converted again in each call."""
    return float(operand.is_foreign and operand.contents == 1 and operand.looks >= FEWEST_LOOKS)


def of_odd_precision(operand: Operand) -> float:
    """Whether it is of a precision that CPUs do not compute in."""
    return float(operand.dtype in ("float16", "float128"))


def of_objects(operand: Operand) -> float:
    """Whether it holds objects of Python."""
    return float(operand.dtype == "object")


PARTS = (
    subnormal,
    turned,
    of_odd_precision,
    of_objects,
    of_zeros,
    across,
    rows_across,
    columns_across,
)


def part_of(line: HotLine, cause: Callable[[Operand], float]) -> float:
    """The part of a line's time that its operands cost at most by one of these causes."""
    if not line.site.is_innermost:
        return 0.0
    return max(map(cause, known(line)), default=0.0)


def known(line: HotLine) -> list[Operand]:
    """Its operands that were looked at often enough to tell of which kind they are."""
    return [one for one in line.site.operands if one.kind_looks >= FEWEST_LOOKS]


def slowed(line: HotLine, part: float, samples: LineSamples) -> HotLine:
    """The line with the seconds of such a part: of what else it calls, operands tell nothing."""
    return replace(
        line, seconds=line.seconds * part * samples.direct_share(line.rank, line.site.frame)
    )
