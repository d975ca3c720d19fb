"""Which products of two matrices are multiplied once more at once, read from bytecode."""

import dis

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
