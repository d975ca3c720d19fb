"""Which powers multiplications and a root would make, and what these take."""

import dis

import numpy as np
import pytest

from perfscope.agent.perfscope_agent import metadata, powers
from tests.agent.test_operands import worked_in

POWERS = [
    ("z = y * x ** -1.5", ("x", -1.5)),
    ("z = x.a ** 3", ("x.a", 3.0)),
    ("x **= 2.5", ("x", 2.5)),
    ("z = x ** 2", None),
    ("z = x ** 0.5", None),
    ("z = x ** -1", None),
    ("z = x ** 1.3", None),
    ("z = x ** 99", None),
    ("z = x ** y", None),
    ("z = (x + y) ** 3", None),
    ("z = 3 ** x", None),
    ("z = x * 3", None),
]


@pytest.mark.parametrize(("text", "expected"), POWERS, ids=[one[0] for one in POWERS])
def test_which_power_an_instruction_computes(text: str, expected: tuple[str, float] | None) -> None:
    code, _ = worked_in(text)
    found = [
        (one.name, one.exponent)
        for place in dis.get_instructions(code)
        if (one := powers.power(code, place.offset)) is not None
    ]
    assert found == ([] if expected is None else [expected])


@pytest.mark.parametrize("exponent", [-8.0, -2.5, -1.5, -0.5, 1.5, 3.0, 5.0, 7.5])
def test_the_other_form_is_the_same_power(exponent: float) -> None:
    values = np.linspace(0.1, 9.0, 100)
    assert powers._otherwise(values, exponent) == pytest.approx(values**exponent, rel=1e-12)


def test_what_was_seen_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {"name": "x", "kind": "array", "dtype": "float64"}
    site = {"power": {"of": "x", "exponent": 3.0}, "operands": [seen, {**seen, "name": "y"}]}
    tensor = {"power": {"of": "x", "exponent": 5.0}, "operands": [{**seen, "kind": "tensor"}]}
    facts = {"operands": {"sites": [site, site, tensor, {"operands": [seen]}]}}
    monkeypatch.setattr(metadata, "facts", facts)
    assert powers.measure()
    (told,) = metadata.facts["powers"]
    assert (told["dtype"], told["exponent"]) == ("float64", 3.0)
    assert min(told["pow_ns"], told["then_ns"]) > 0
