"""Powers of arrays that a few multiplications and a root would do: `x ** -1.5`, `x ** 3`.

Such a power is computed by the C library's `pow`, value by value, unless NumPy knows it to be a
square, a root or a reciprocal. Which lines do so is in their bytecode. What the other form saves on
this CPU is timed when the program is over, on an array of the same type.
"""

from __future__ import annotations

import sys
import time

from . import bytecode, metadata, products
from .kinds import Any, CodeType, Sequence

_MOST_TWICE = 16
"""The largest exponent, twice: of more multiplications rounding would tell."""

_KNOWN = (0.0, 1.0, 2.0, 0.5, -1.0)
"""Exponents that NumPy has a way of its own for."""

_MOST_VALUES = 1 << 15
_MOST_KINDS = 8
_TIMES = 7
_TYPES = ("float32", "float64")


class Power:
    """What an instruction raises, by its name, and to which power."""

    def __init__(self, name: str, exponent: float) -> None:
        self.name = name
        self.exponent = exponent


def power(code: CodeType, last: int) -> Power | None:
    """The power that the instruction at offset `last` computes of a variable, if it is such."""
    if not products.symbol(code, last).endswith("POWER"):
        return None
    both = products.taken(code, last)
    if both is None or [name for name, _ in both[1]] != ["LOAD_CONST"]:
        return None
    exponent = code.co_consts[both[1][0][1]]
    paths = bytecode.paths(code, both[0])
    if type(exponent) not in (int, float) or len(paths) != 1 or not _is_product(exponent):
        return None
    return Power(bytecode.name(code, paths[0]), float(exponent))


def _is_product(exponent: float) -> bool:
    """Whether roots and multiplications make that power, and NumPy does not do so itself."""
    twice = 2.0 * exponent
    is_one = abs(twice) <= _MOST_TWICE and twice == int(twice)
    return is_one and exponent not in _KNOWN


def measure() -> bool:
    """When all is over: times the powers that were seen, and the other form of each."""
    numpy: Any = sys.modules.get("numpy")
    operands = metadata.facts.get("operands")
    sites = operands.get("sites", ()) if isinstance(operands, dict) else ()
    kinds = list(dict.fromkeys(_kinds(sites)))[:_MOST_KINDS]
    if numpy is None or not kinds:
        return False
    found = []
    for dtype, exponent in kinds:
        array = numpy.linspace(0.5, 2.0, _MOST_VALUES).astype(dtype)
        now_ns = _usual_ns(lambda array=array, exponent=exponent: array**exponent)
        then_ns = _usual_ns(lambda array=array, exponent=exponent: _otherwise(array, exponent))
        found.append({"dtype": dtype, "exponent": exponent, "pow_ns": now_ns, "then_ns": then_ns})
    metadata.facts["powers"] = found
    return True


def _kinds(sites: Sequence[Any]) -> list[tuple[str, float]]:
    """Types and exponents of all powers that were looked at."""
    found = []
    for site in sites:
        told = site.get("power")
        for one in site.get("operands", ()) if told else ():
            is_meant = one.get("name") == told["of"] and one.get("kind") == "array"
            if is_meant and one.get("dtype") in _TYPES:
                found.append((one["dtype"], told["exponent"]))
    return found


def _usual_ns(action: Any) -> int:
    """What it usually takes, of this thread's CPU time."""
    spent_ns = []
    for _ in range(_TIMES):
        begin_ns = time.thread_time_ns()
        action()
        spent_ns.append(time.thread_time_ns() - begin_ns)
    return sorted(spent_ns)[_TIMES // 2]


def _otherwise(array: Any, exponent: float) -> Any:
    """The same power by multiplications, a root, and a reciprocal."""
    whole, half = divmod(abs(exponent), 1.0)
    found: Any = sys.modules["numpy"].sqrt(array) if half else None
    square, left = array, int(whole)
    while left:
        if left & 1:
            found = square if found is None else found * square
        left >>= 1
        square = square * square if left else square
    return 1.0 / found if exponent < 0 else found
