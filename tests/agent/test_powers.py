"""Which powers multiplications and a root would make, and what these take."""

import dis

import numpy as np
import pytest

from perfscope.agent.perfscope_agent import metadata, powers
from perfscope.agent.perfscope_agent.pace import Budget
from tests.agent.test_operands import worked_in

POWERS = [
    ("z = y * x ** -1.5", ("x", -1.5)),
    ("z = x.a ** 3", ("x.a", 3.0)),
    ("x **= 2.5", ("x", 2.5)),
    ("z = x ** 2", None),
    ("z = x ** 0.5", None),
    ("z = x ** -1", None),
    ("z = x ** 1.3", None),
    ("z = x ** 4", None),
    ("z = x ** 99", None),
    (f"z = x ** {10**400}", None),
    ("z = x ** 1e999", None),
    ("z = x ** True", None),
    ("z = x ** y", None),
    ("z = (x + y) ** 3", None),
    ("z = 3 ** x", None),
    ("z = x * 3", None),
]


@pytest.mark.parametrize(("text", "expected"), POWERS, ids=[one[0][:16] for one in POWERS])
def test_which_power_an_instruction_computes(text: str, expected: tuple[str, float] | None) -> None:
    code, _ = worked_in(text)
    found = [
        (one.name, one.exponent)
        for place in dis.get_instructions(code)
        if (one := powers.power(code, place.offset)) is not None
    ]
    assert found == ([] if expected is None else [expected])


def test_constants_have_an_instruction_of_their_own_or_a_place() -> None:
    """Python 3.14 has the small ones in the instruction."""
    assert powers._constant((7, 2.5), [("LOAD_CONST", 1)]) == 2.5
    assert powers._constant((7, 2.5), [("LOAD_SMALL_INT", 3)]) == 3
    assert powers._constant((7, 2.5), [("LOAD_FAST", 1)]) is None
    assert powers._constant(("7",), [("LOAD_CONST", 0)]) is None


@pytest.mark.parametrize(("text", "expected"), [("x **= 2.5", True), ("z = x ** 2.5", False)])
def test_what_is_written_into_its_variable(text: str, expected: bool) -> None:
    code, last = worked_in(text)
    found = powers.power(code, last)
    assert found is not None
    assert found.is_in_place is expected


@pytest.mark.parametrize("exponent", [-3.0, -2.5, -1.5, -0.5, 1.5, 3.0, 3.5])
def test_the_other_form_is_the_same_power(exponent: float) -> None:
    values = np.linspace(0.1, 9.0, 100)
    assert powers._otherwise(values, exponent) == pytest.approx(values**exponent, rel=1e-12)


def test_what_was_seen_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"name": "x", "kind": "array", "dtype": "float64"}
    site = {"power": {"of": "x", "exponent": 3.0}, "operands": [seen, {**seen, "name": "y"}]}
    tensor = {"power": {"of": "x", "exponent": 5.0}, "operands": [{**seen, "kind": "tensor"}]}
    facts = {"operands": {"sites": [site, site, tensor, {"operands": [seen]}]}}
    monkeypatch.setattr(metadata, "facts", facts)
    assert powers.measure(Budget())
    (told,) = metadata.facts["powers"]
    assert (told["dtype"], told["exponent"]) == ("float64", 3.0)
    assert min(told["pow_ns"], told["then_ns"]) > 0


def test_no_power_is_timed_where_no_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"name": "x", "kind": "array", "dtype": "float64"}
    sites = [{"power": {"of": "x", "exponent": one}, "operands": [seen]} for one in (3.0, 1.5)]
    monkeypatch.setattr(metadata, "facts", {"operands": {"sites": sites}})
    budget = Budget(0)
    monkeypatch.setattr(Budget, "SHARE", 0.0)
    assert powers.measure(budget)
    assert len(metadata.facts["powers"]) == 1
    assert budget.spent_ns > 0
