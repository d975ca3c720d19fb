"""Which products of two matrices are multiplied once more at once, read from bytecode."""

import dis
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from perfscope.agent.perfscope_agent import bytecode, products
from tests.agent.test_operands import worked_in

PRODUCTS = [
    ("x.T * y @ x @ z", [(["x.T", "y"], ["x"], "z", True)]),
    ("x @ y @ z.a", [(["x"], ["y"], "z.a", True)]),
    ("z @ (x @ y)", [(["x"], ["y"], "z", False)]),
    ("np.dot(np.dot(x, y), z)", [(["x"], ["y"], "z", True)]),
    ("np.matmul(z, np.matmul(x.a, y / z))", [(["x.a"], ["y", "z"], "z", False)]),
    ("x @ y @ z @ x", [(["x"], ["y"], "z", True)]),
    ("x @ y", []),
    ("x @ y + z", []),
    ("x @ (y + z)", []),
    ("x @ y @ (z + y)", []),
    ("(x @ y).T @ z", []),
    ("(x @ y)[0] @ z", []),
    ("x[0] @ y @ z", []),
    ("f(x) @ y @ z", []),
    ("f(x @ y, z)", []),
    ("np.dot(x @ y, z, out=y)", []),
    ("w = x @ y\n    w @ z", []),
    ("x.dot(x.dot(y, z), z)", []),
    ("x @ y @ y.dot(z, x)", []),
    ("x.ops.mm(x.ops.mm(x, y), z)", []),
]


@pytest.mark.parametrize(("text", "expected"), PRODUCTS, ids=[one[0] for one in PRODUCTS])
def test_what_is_multiplied_once_more(text: str, expected: list[object]) -> None:
    code, _ = worked_in(text)
    found = [
        (one.left, one.right, bytecode.name(code, one.applied), one.is_first)
        for place in dis.get_instructions(code)
        if (one := products.product(code, place.offset)) is not None
    ]
    assert found == expected


class Algebra:
    """Something with a method of the name of NumPy's function."""

    def dot(self, first: object, second: object) -> object:
        """What that is, nobody knows."""
        return first, second


algebra = Algebra()


def of_object(x: Any, y: Any, z: Any) -> object:
    return algebra.dot(algebra.dot(x, y), z)


def of_module(x: Any, y: Any, z: Any) -> object:
    return np.dot(np.dot(x, y), z)


def of_imported(x: Any, y: Any, z: Any) -> object:
    import numpy as np

    return np.dot(np.dot(x, y), z)


def of_assigned(x: Any, y: Any, z: Any) -> object:
    import numpy as np

    if x:
        np = algebra  # type: ignore[assignment]
    return np.dot(np.dot(x, y), z)


def of_unknown(x: Any, y: Any, z: Any) -> object:
    return unknown.dot(unknown.dot(x, y), z)  # type: ignore[name-defined] # noqa: F821


@pytest.mark.parametrize(
    ("function", "count"),
    [(of_object, 0), (of_module, 1), (of_imported, 1), (of_assigned, 0), (of_unknown, 0)],
)
def test_a_method_of_an_object_of_the_module_is_no_function(
    function: FunctionType, count: int
) -> None:
    code = function.__code__
    found = [products.product(code, one.offset) for one in dis.get_instructions(code)]
    assert sum(one is not None for one in found) == count
