"""Powers of arrays that products would make, by what looks and the clock told."""

from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.findings.operands.slow_powers import product
from perfscope.schema.enums import Status
from perfscope.trace.operands import Raised
from tests.findings.operands.operand_runs import STEPS, analyzed, operand, site

ENERGY = operand(name="energy", contents=10)
TENSOR = {**ENERGY, "kind": "tensor"}
CUBE = {"of": "energy", "exponent": 3.0}
TIMED = {"dtype": "float64", "exponent": 3.0, "pow_ns": 1000, "then_ns": 100}


def judged(power: Any, powers: Any, of: dict[str, Any] = ENERGY) -> Finding:
    """Half of each step of two ranks lies in that power."""
    found = site(of, contents=10, power=power)
    return analyzed(found, powers=powers)["slow_powers"]


def test_what_the_other_form_does_not_take_is_saved() -> None:
    finding = judged(CUBE, [TIMED])
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(0.1 * STEPS * 0.9, rel=0.05)
    assert finding.ranks == (0, 1)
    assert "`energy * energy * energy` in place of `energy ** 3`" in finding.actions[0]
    assert finding.title.startswith("`energy ** 3` is slow in ")
    assert finding.title.endswith(" is faster")
    assert "Timed on an array of that type" in finding.summary


def test_what_is_written_into_its_variable_stays_in_it() -> None:
    (action,) = judged({**CUBE, "in_place": True}, [TIMED]).actions
    assert "`energy[...] = energy * energy * energy` in place of `energy **= 3`" in action


def test_powers_of_tensors_are_not_timed() -> None:
    """What NumPy takes for an array of that type says nothing of PyTorch."""
    assert judged(CUBE, [TIMED], TENSOR).status is Status.PASS


@pytest.mark.parametrize(
    ("power", "powers"),
    [
        (None, [TIMED]),
        ({}, [TIMED]),
        (7, [TIMED]),
        ({**CUBE, "exponent": "3"}, [TIMED]),
        ({**CUBE, "of": "other"}, [TIMED]),
        (CUBE, None),
        (CUBE, [7]),
        (CUBE, [{**TIMED, "exponent": 5.0}]),
        (CUBE, [{**TIMED, "dtype": "float32"}]),
        (CUBE, [{**TIMED, "then_ns": 800}]),
        (CUBE, [{**TIMED, "then_ns": -1}]),
        ({**CUBE, "exponent": 5.0}, [{**TIMED, "exponent": 5.0}]),
    ],
)
def test_what_is_none_or_was_not_timed(power: Any, powers: Any) -> None:
    assert judged(power, powers).status is Status.PASS


@pytest.mark.parametrize(
    ("exponent", "text"),
    [
        (-1.5, "1.0 / (x * np.sqrt(x))"),
        (2.5, "x * x * np.sqrt(x)"),
        (-0.5, "1.0 / np.sqrt(x)"),
        (-2.0, "1.0 / (x * x)"),
        (3.5, "x * x * x * np.sqrt(x)"),
        (4.0, ""),
        (-4.5, ""),
        (1.3, ""),
    ],
)
def test_how_it_is_written(exponent: float, text: str) -> None:
    assert product(Raised("x", exponent, 0.1)) == text
