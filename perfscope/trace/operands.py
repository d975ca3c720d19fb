"""What lines of the program were seen to work on, read defensively from a rank's metadata."""

import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from perfscope.places import named_function
from perfscope.structures import dataclass
from perfscope.trace.counts import whole
from perfscope.trace.model import Frame
from perfscope.trace.power_times import number, powers_of

MANY_CONTENTS = 64
"""Different contents that are counted; so many stand for more."""

CACHE_LINE_BYTES = 64
"""What a CPU fetches for one value."""

NEAR_CACHE_BYTES = 32 << 10
"""What the nearest cache of a CPU holds."""

SUBNORMAL_TIMES = 100
"""How many times as long an operation on subnormal values takes, at most: where nobody timed it."""

LEAST_TIMES = 1.5
"""Less than that is none, as far as it can be timed."""

VECTOR_BYTES = 32
"""What one instruction works on, which is slow as a whole where one of its values is."""

SPARSE_TIMES = 10
"""How many times as long a value of a sparse matrix takes as one of a dense matrix, about."""

ROWS_READ = 32
"""Of a table, that a look reads at most."""

INDICES = "int", "uint", "bool"
"""Kinds of numbers that places on an axis are picked by."""

LONGEST_NAME = 80
MOST_AXES = 64
"""Of an array; NumPy has no more."""

_MOST_COMPUTED = 64
_MOST_MEETINGS = 32
_MOST_LENGTHS = 8
BITS = 8


@dataclass(frozen=True)
class Operand:
    """One name at one instruction, as looks at it found it."""

    name: str  # `adjacency`, `self.weights`; of the first item of a list `parts[0]`
    looks: int
    is_parameter: bool  # of a model that learns it
    dtype: str  # `float32`, `object`
    is_foreign: bool  # whether its bytes are in an order that the CPU must turn
    shape: tuple[int, ...]  # at the last look
    elements: int  # most of all looks
    layout: str  # `rows`, `columns` or `strided`
    stride_bytes: int  # between values that lie next to each other on an axis
    contents: int  # different ones that were seen; 0 where they were not looked at
    shares: Mapping[str, float]  # of sampled values: `subnormal`, `padding`, ...
    least_zero: float = 1.0  # the share of zeros in the look that saw the fewest
    fewest: int = 0  # elements, of all looks
    picked: int = 0  # places on an axis, by an array of numbers that it is indexed with
    picked_axis: int = 0
    picked_apart_bytes: int = 0  # from one value of such a place to the nearest; 0 unknown
    returns: int = 0  # how often earlier contents were back after others
    subnormal_times: float = SUBNORMAL_TIMES  # as long as others such values took this CPU
    is_number: bool = False  # of NumPy, and no array
    is_term: bool = False  # of a sum or difference, which needs values that are zero as well
    is_computed: bool = False  # by an operator, into a variable of the same function
    is_factor: bool = False  # of a product of matrices, as the sizes of both factors tell
    is_tensor: bool = False  # of PyTorch
    has_gradient: bool = False  # a tensor that PyTorch computes gradients through
    made: Frame | None = None  # the line of the same function that alone makes it; None unknown
    alike: int = 0  # looks in its function that saw its type and layout; 0 where only these count

    @property
    def kind_looks(self) -> int:
        """Looks that tell its type and layout, which are no matter of what it holds."""
        return max(self.looks, self.alike)

    @property
    def value_bytes(self) -> int:
        """Bytes of one value, as its type is named."""
        bits = re.search(r"\d+$", self.dtype)
        return max(1, int(bits[0]) // BITS) if bits else 1

    def share(self, name: str) -> float:
        """One of these shares; 0 where it was not taken."""
        return self.shares.get(name, 0.0)


@dataclass(frozen=True)
class Multiplied:
    """What a product of two matrices is made of, and what it is multiplied by at once."""

    left: tuple[str, ...]  # names that the first factor is made of, element by element
    right: tuple[str, ...]  # the same of the second one
    by: str
    by_shape: tuple[int, ...]  # of that, at the last look
    is_first: bool  # whether the product is the left factor of the other one


@dataclass(frozen=True)
class Raised:
    """A power of a variable that multiplications and a root would make, and what these take."""

    name: str
    exponent: float
    share: float  # of what the power takes, as it was timed when the program was over; 1 unknown
    is_in_place: bool = False  # written into the variable: `x **= 3`


@dataclass(frozen=True)
class WorkedOn:
    """One instruction of the program, and all that it was seen to take."""

    frame: Frame
    is_innermost: bool  # whether it was never seen to call other code of the program
    visits: int  # how often the main thread was met there
    line_visits: int  # and in its line, at whichever instruction; 0 where that was not told
    looks: int  # of these, how often it was looked at what it takes
    whole_looks: int  # in which all that it takes was known
    contents: int  # different ones of all that, in these looks
    result_looks: int  # in which the variable that its result is put into was seen
    results: int  # different contents of that
    operands: Sequence[Operand]
    contents_once: int = 0  # of these, such as a single look has seen
    returns: int = 0  # how often earlier contents were back after others
    result_returns: int = 0  # the same of its results
    met: tuple[str, ...] = ()  # the names of the two that an operator takes
    seen_on: tuple[int, ...] = ()  # ranks that looked, where these are not just the rank itself
    callers: tuple[tuple[Frame, int], ...] = ()  # the program's own, and in how many looks
    lengths: tuple[int, ...] = ()  # integers that it takes, near a size of its arrays
    updated: tuple[str, ...] = ()  # names of what its function changes by what it was before
    instruction: int = 0  # where it is in its function's code
    # number of each moment at which all ranks look, and a digest of what was seen then, which is
    # the same on another rank where the contents are
    at_meetings: tuple[tuple[int, int], ...] = ()
    # names of operands that derive from what the same instruction has returned before
    fed_back: tuple[str, ...] = ()
    outside: int = 0  # of a function, a digest of what it reads of its module; 0 unknown
    multiplied: Multiplied | None = None  # of a product that is there for another one
    raised: Raised | None = None


def worked_on(metadata: Mapping[str, Any], what: str = "sites") -> tuple[WorkedOn, ...]:
    """The instructions that the agent looked at; none where it did not, or what it wrote is odd.

    `what` is `called` for the functions whose arguments it looked at, each at its first line.
    """
    told = metadata.get("operands")
    sites = told.get(what) if isinstance(told, Mapping) else None
    if not isinstance(told, Mapping) or not isinstance(sites, Sequence):
        return ()
    times = _times(told.get("subnormal_times"))
    return tuple(_sites(sites, times, powers_of(metadata.get("powers"))))


def _times(told: Any) -> Mapping[str, float]:
    """How long subnormal values take, by their type, of those that were timed."""
    found = told.items() if isinstance(told, Mapping) else ()
    numbers = {name: one for name, one in found if isinstance(one, int | float)}
    return {name: float(one) for name, one in numbers.items() if 0 < one < sys.maxsize}


def _sites(
    sites: Sequence[Any], times: Mapping[str, float], powers: Mapping[tuple[str, float], float]
) -> Iterator[WorkedOn]:
    for site in sites:
        if not isinstance(site, Mapping):
            continue
        frame, operands = frame_of(site.get("place")), site.get("operands")
        if frame is None or not isinstance(operands, Sequence):
            continue
        yield WorkedOn(
            frame=frame,
            is_innermost=site.get("is_innermost") is True,
            visits=_count(site, "visits") or _count(site, "looks"),
            line_visits=_count(site, "line_visits"),
            looks=_count(site, "looks"),
            whole_looks=_count(site, "whole_looks"),
            contents=_count(site, "contents"),
            result_looks=_count(site, "result_looks"),
            results=_count(site, "results"),
            operands=_operands(site, operands, times),
            contents_once=min(_count(site, "contents_once"), _count(site, "looks")),
            returns=_count(site, "contents_back"),
            result_returns=_count(site, "results_back"),
            met=_names(site.get("met"), 2),
            callers=tuple(_callers(site.get("callers"))),
            lengths=_lengths(site.get("lengths")),
            updated=_names(site.get("updated"), _MOST_COMPUTED),
            instruction=_count(site, "instruction"),
            at_meetings=tuple(_meetings(site.get("at_meetings"))),
            fed_back=_names(site.get("fed_back"), _MOST_COMPUTED),
            outside=_count(site, "outside"),
            multiplied=_multiplied(site.get("multiplied")),
            raised=_raised(site, powers),
        )


def _operands(
    site: Mapping[str, Any], told: Sequence[Any], times: Mapping[str, float]
) -> tuple[Operand, ...]:
    computed = _names(site.get("computed"), _MOST_COMPUTED)
    made = site.get("made")
    made = made if isinstance(made, Mapping) else {}
    found = [
        replace(
            _operand(one, times),
            is_term=site.get("adds") is True,
            is_computed=one.get("name") in computed,
            made=frame_of(made.get(str(one.get("name")))),
        )
        for one in told
        if isinstance(one, Mapping)
    ]
    return _with_picked(_with_factors(found, site), site)


def frame_of(told: Any) -> Frame | None:
    """The place that the agent tells as a text, as samples have it; None where it is none.

    Comprehensions and lambdas are part of the function that they stand in.
    """
    place = str(told).split("\x1f")
    if len(place) != 3 or not (place[2].isascii() and place[2].isdigit()):
        return None
    return Frame(named_function(place[0]), place[1], int(place[2][:9]))


def _multiplied(told: Any) -> Multiplied | None:
    if not isinstance(told, Mapping):
        return None
    return Multiplied(
        left=_names(told.get("left"), _MOST_COMPUTED),
        right=_names(told.get("right"), _MOST_COMPUTED),
        by=str(told.get("by", ""))[:LONGEST_NAME],
        by_shape=_shape(told.get("by_shape")),
        is_first=told.get("is_first") is True,
    )


def _raised(site: Mapping[str, Any], powers: Mapping[tuple[str, float], float]) -> Raised | None:
    told = site.get("power")
    found = number(told.get("exponent")) if isinstance(told, Mapping) else None
    if not isinstance(told, Mapping) or found is None:
        return None
    name = str(told.get("of", ""))[:LONGEST_NAME]
    operands = site.get("operands")
    types = [
        str(one.get("dtype"))
        for one in (operands if isinstance(operands, Sequence) else ())
        if isinstance(one, Mapping) and one.get("name") == name and one.get("kind") == "array"
    ]
    share = min((powers.get((one, found), 1.0) for one in types), default=1.0)
    return Raised(name, found, share, is_in_place=told.get("in_place") is True)


def _callers(told: Any) -> Iterator[tuple[Frame, int]]:
    """Places that call, and how often each was seen."""
    for row in told if isinstance(told, list) else ():
        if isinstance(row, list) and len(row) == 2:
            frame = frame_of(row[0])
            if frame is not None:
                yield frame, whole(row[1])


def _meetings(told: Any) -> Iterator[tuple[int, int]]:
    """Numbers of meetings, and digests of what was seen then."""
    for row in told[:_MOST_MEETINGS] if isinstance(told, list) else ():
        if isinstance(row, list) and len(row) == 2 and all(map(whole, row)):
            yield whole(row[0]), whole(row[1])


def _lengths(told: Any) -> tuple[int, ...]:
    """Integers that are told as a list, those that a size can be."""
    found = map(whole, told) if isinstance(told, list) else ()
    return tuple(one for one in found if 1 < one < 1 << 32)[:_MOST_LENGTHS]


def _names(told: Any, most: int) -> tuple[str, ...]:
    """Names that are told as a list; none of anything else."""
    if not isinstance(told, Sequence) or isinstance(told, str):
        return ()
    return tuple(str(name)[:LONGEST_NAME] for name in told[:most])


def _with_factors(operands: Sequence[Operand], site: Mapping[str, Any]) -> Sequence[Operand]:
    """Operands, of which those are factors of matrices that an operator can only multiply so."""
    met = _names(site.get("met"), 2)
    shapes = [one.shape for name in met for one in operands if one.name == name]
    if len(shapes) != 2 or not _are_factors(*shapes):
        return operands
    return [replace(one, is_factor=one.name in met) for one in operands]


def _are_factors(left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    """Whether rows of the first fit a table, and element by element the two do not fit."""
    if len(left) < 2 or len(right) != 2 or left[-1] != right[0]:
        return False
    pairs = zip(left[-2:], right, strict=True)
    return any(one != other and 1 not in (one, other) for one, other in pairs)


def _with_picked(operands: Sequence[Operand], site: Mapping[str, Any]) -> tuple[Operand, ...]:
    """Operands, of one of which the instruction takes what others tell the numbers of."""
    container = str(site.get("picked", ""))[:LONGEST_NAME]
    numbers = [
        round(one.elements * (1.0 - one.share("zero"))) if one.dtype == "bool" else one.elements
        for one in operands
        if one.name != container and len(one.shape) == 1 and one.dtype.startswith(INDICES)
    ]
    return tuple(
        replace(
            one,
            picked=max(numbers, default=0),
            picked_axis=_count(site, "picked_axis"),
            picked_apart_bytes=_count(site, "picked_apart"),
        )
        if one.name == container
        else one
        for one in operands
    )


def _shape(told: Any) -> tuple[int, ...]:
    """The sizes of an array; none where no memory has room for it."""
    sizes = tuple(map(whole, told[:MOST_AXES])) if isinstance(told, Sequence) else ()
    return sizes if math.prod(sizes) < 1 << 63 else ()


def _operand(told: Mapping[str, Any], times: Mapping[str, float]) -> Operand:
    shape, elements, shares = told.get("shape"), told.get("elements"), told.get("shares")
    counts = elements if isinstance(elements, Sequence) else ()
    named = shares if isinstance(shares, Mapping) else {}
    return Operand(
        name=str(told.get("name", ""))[:LONGEST_NAME],
        looks=_count(told, "looks"),
        is_parameter=told.get("kind") == "parameter",
        dtype=str(told.get("dtype", ""))[:LONGEST_NAME],
        is_foreign=told.get("byte_order") == "foreign",
        shape=_shape(shape),
        elements=max(map(whole, counts), default=0),
        layout=str(told.get("layout", "")),
        stride_bytes=_count(told, "stride"),
        contents=_count(told, "contents"),
        shares={str(name): _share(value) for name, value in named.items()},
        fewest=min(map(whole, counts), default=0),
        least_zero=1.0 if told.get("least_zero") is None else _share(told["least_zero"]),
        returns=_count(told, "contents_back"),
        subnormal_times=times.get(str(told.get("dtype", "")), SUBNORMAL_TIMES),
        is_number=told.get("kind") == "number",
        is_tensor=told.get("kind") == "tensor",
        has_gradient=told.get("requires_grad") is True,
    )


def _count(told: Mapping[str, Any], key: str) -> int:
    return whole(told.get(key))


def _share(value: object) -> float:
    if not isinstance(value, int | float) or (isinstance(value, float) and math.isnan(value)):
        return 0.0
    return float(min(1, max(0, value)))  # an integer may be longer than a float can be
