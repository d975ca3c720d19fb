"""Products of two matrices that are only there to be multiplied once more, read from bytecode.

Where the third factor is a vector, or has few columns, whoever multiplies from its side never forms
the product of the two: `a @ (b @ v)` in place of `a @ b @ v`.
"""

from __future__ import annotations

import opcode

from . import accesses, branches, bytecode, callees
from .kinds import CodeType

_names = opcode.opname
_FUNCTIONS = {"dot", "matmul", "mm"}
_BY_ELEMENT = ("_ADD", "_SUBTRACT", "_MULTIPLY", "_TRUE_DIVIDE")
_MOST_INSTRUCTIONS = 12


class Product:
    """The factors of a product, by the names that they are made of, and what it is multiplied by.

    A factor is made by operators that work element by element, and so as large as what it is of.
    """

    def __init__(
        self, left: list[str], right: list[str], applied: tuple[object, ...], *, is_first: bool
    ) -> None:
        self.left, self.right = left, right
        self.applied = applied
        self.is_first = is_first
        """Whether the product is the left factor of the other one."""


def product(code: CodeType, last: int) -> Product | None:
    """What the instruction at offset `last` multiplies, if its result is multiplied at once."""
    if not _multiplies(code, last):
        return None
    factors = _factors(code, last)
    behind = _consumer(code, last)
    if factors is None or behind is None or not _multiplies(code, behind[0]):
        return None
    place, is_first = behind
    both = taken(code, place)
    other = _path(code, both[is_first]) if both is not None else ()
    return Product(*factors, other, is_first=is_first) if other else None


def _multiplies(code: CodeType, last: int) -> bool:
    """Whether an instruction is a product of two matrices."""
    raw = code.co_code
    if not 0 <= last < len(raw):
        return False
    if branches.symbol_at(code.co_code, last).endswith("_MATRIX_MULTIPLY"):
        return True
    name, argument = _names[raw[last]], branches.argument(raw, last)
    if name == "PRECALL" or bytecode.call_shape(name, argument)[0] != 2:
        return False
    found = bytecode.called(code, last)
    is_meant = found is not None and bool(_FUNCTIONS.intersection(found.attributes[-1:]))
    return found is not None and is_meant and _is_of_module(code, found)


def _is_of_module(code: CodeType, called: bytecode.Expression) -> bool:
    """Whether a module's function is called, as far as the module tells that the code is from.

    What a method of two arguments does with them is for its object to say. Of variables of
    functions around it nothing is known.
    """
    kind, root = called.root
    if kind == bytecode.LOCAL:
        return _is_imported(code, root)
    variables = callees.variables_of(code.co_filename)
    is_module = variables is None or isinstance(variables.get(str(root)), type(opcode))
    return kind == bytecode.GLOBAL and is_module


def _is_imported(code: CodeType, root: object) -> bool:
    """Whether all that a function puts into one of its variables are modules that it imports."""
    raw, before, found = code.co_code, "", []
    for place in range(0, len(raw), 2):
        name, stored = _names[raw[place]], branches.argument(raw, place)
        # of two instructions in one, the first is in the upper bits
        stored = stored >> 4 if name.startswith("STORE_FAST_") else stored
        if name.startswith("STORE_FAST") and stored == root:
            found.append(before == "IMPORT_NAME")
        before = before if name in bytecode.NO_OPERATION else name
    return bool(found) and all(found)


def taken(code: CodeType, last: int) -> tuple[list[tuple[str, int]], ...] | None:
    """The instructions that made the two values which a product takes."""
    raw = code.co_code
    above, own = bytecode.call_shape(_names[raw[last]], branches.argument(raw, last))
    found = bytecode.made_before(raw, bytecode.complete(raw, last), above + own if own else 2)
    if not found:
        return None
    return accesses.made_at(found, own + 1), accesses.made_at(found, own + 2)


def _factors(code: CodeType, last: int) -> tuple[list[str], list[str]] | None:
    """The names that the two factors are made of; None where they are made in another way."""
    both = taken(code, last)
    if both is None or not all(made and all(map(_is_by_element, made)) for made in both):
        return None
    left, right = (
        [bytecode.name(code, path) for path in bytecode.paths(code, made)] for made in both
    )
    return left, right


def _is_by_element(instruction: tuple[str, int]) -> bool:
    name = branches.symbol(*instruction)
    is_operator = name.startswith(("NB_", "BINARY_"))
    return name.startswith("LOAD_") or (
        is_operator and name.endswith(_BY_ELEMENT) and not name.endswith("_MATRIX_MULTIPLY")
    )


def _consumer(code: CodeType, last: int) -> tuple[int, bool] | None:
    """The instruction that takes a result with one other value, and whether it is the first."""
    raw, above, place = code.co_code, 0, last + 2
    for _ in range(_MOST_INSTRUCTIONS):
        place = bytecode.behind(raw, place, bytecode.NO_OPERATION)
        if place >= len(raw):
            return None
        name, argument = _names[raw[place]], branches.argument(raw, place)
        if name == "PRECALL":  # which stands before its call
            place += 2
            continue
        if name.startswith("BINARY_") or bytecode.call_shape(name, argument)[1]:
            return (place, above == 1) if above <= 1 else None
        if not name.startswith("LOAD_") or (not above and name in ("LOAD_ATTR", "LOAD_METHOD")):
            return None
        above += branches.effect(raw, place)
        place += 2
    return None


def _path(code: CodeType, made: list[tuple[str, int]]) -> tuple[object, ...]:
    """The variable, or its attribute, that some instructions read; () where they make a value."""
    if any(not name.startswith("LOAD_") for name, _ in made):
        return ()
    paths = bytecode.paths(code, made)
    return paths[0] if len(paths) == 1 else ()
