"""Powers of arrays that a few multiplications and a root would do: `x ** -1.5`, `x ** 3`.

NumPy has ways of its own for a square, a root and a reciprocal only. Which lines compute another
power is in their bytecode. What the other form saves on this CPU is timed when the program is over,
on an array of the same type.
"""

from __future__ import annotations

import sys
import time

from . import branches, bytecode, metadata, products
from .kinds import Any, CodeType, Sequence
from .pace import Budget

_MOST = 3.5
"""The largest exponent: of more, programs would not write the product out."""

_KNOWN = (0.0, 1.0, 2.0, 0.5, -1.0)
"""Exponents that NumPy has a way of its own for."""

_VALUES = 1 << 15
_MOST_KINDS = 8
_TIMES = 7
_TYPES = ("float32", "float64")


class Power:
    """What an instruction raises, by its name, and to which power."""

    def __init__(self, name: str, exponent: float, *, is_in_place: bool) -> None:
        self.name = name
        self.exponent = exponent
        self.is_in_place = is_in_place
        """Whether it is written into the variable: `x **= 3`."""


def power(code: CodeType, last: int) -> Power | None:
    """The power that the instruction at offset `last` computes of a variable, if it is such."""
    symbol = branches.symbol_at(code.co_code, last)
    if not symbol.endswith("POWER"):
        return None
    both = products.taken(code, last)
    exponent = None if both is None else _constant(code.co_consts, both[1])
    if both is None or exponent is None:
        return None
    paths = bytecode.paths(code, both[0])
    if len(paths) != 1 or not _is_product(exponent):
        return None
    name = bytecode.name(code, paths[0])
    return Power(name, float(exponent), is_in_place="INPLACE" in symbol)


def _constant(constants: tuple[object, ...], made: list[tuple[str, int]]) -> float | None:
    """The number that one instruction puts on the stack; None where it is no constant."""
    if [name for name, _ in made] == ["LOAD_SMALL_INT"]:
        return made[0][1]
    if [name for name, _ in made] != ["LOAD_CONST"]:
        return None
    found: Any = constants[made[0][1]]
    return found if type(found) in (int, float) else None


def _is_product(exponent: float) -> bool:
    """Whether roots and multiplications make that power, and NumPy does not do so itself."""
    # what is too large is compared as it is: as a float there may be none of it
    is_one = abs(exponent) <= _MOST and 2.0 * exponent == int(2.0 * exponent)
    return is_one and exponent not in _KNOWN


def measure(budget: Budget) -> bool:
    """When all is over: times the powers that were seen, and the other form of each."""
    numpy: Any = sys.modules.get("numpy")
    operands = metadata.facts.get("operands")
    sites = operands.get("sites", ()) if isinstance(operands, dict) else ()
    kinds = list(dict.fromkeys(_kinds(sites)))[:_MOST_KINDS]
    if numpy is None or not kinds:
        return False
    found = []
    for dtype, exponent in kinds:
        if not budget.is_left():
            break
        begin_ns = time.monotonic_ns()
        array = numpy.linspace(0.5, 2.0, _VALUES).astype(dtype)
        now_ns = _usual_ns(lambda array=array, exponent=exponent: array**exponent)
        then_ns = _usual_ns(lambda array=array, exponent=exponent: _otherwise(array, exponent))
        found.append({"dtype": dtype, "exponent": exponent, "pow_ns": now_ns, "then_ns": then_ns})
        budget.spent_ns += time.monotonic_ns() - begin_ns
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
    found: Any = array if whole else sys.modules["numpy"].sqrt(array)
    for _ in range(int(whole) - 1):
        found = found * array
    if whole and half:
        found = found * sys.modules["numpy"].sqrt(array)
    return 1.0 / found if exponent < 0 else found
