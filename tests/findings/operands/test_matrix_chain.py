"""Products of matrices that are only formed to be multiplied by a vector, by what looks told."""

from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from tests.findings.operands.operand_runs import STEPS, analyzed, operand, site

FEATURES = operand(name="feats", shape=[1500, 256], elements=[384000, 384000], contents=10)
WEIGHTS = operand(name="weights", shape=[1500], elements=[1500, 1500], contents=10)
CHAIN = {
    "left": ["feats.T", "weights"],
    "right": ["feats"],
    "by": "v",
    "by_shape": [256],
    "is_first": True,
}


def judged(told: Any, *operands: dict[str, Any]) -> Finding:
    """Half of each step of two ranks lies in a product of these."""
    found = site(*(operands or (FEATURES, WEIGHTS)), contents=10, multiplied=told)
    return analyzed(found)["matrix_chain"]


def test_a_product_that_a_vector_is_multiplied_by() -> None:
    """The line takes 4 s of 8 s: 256 x 1500 x 256 and 256 x 256, or twice 1500 x 256."""
    finding = judged(CHAIN)
    now, then = 256 * 1500 * 256 + 256 * 256, 2 * 1500 * 256
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(0.1 * STEPS * (1 - then / now), rel=0.05)
    assert finding.gain is not None
    assert finding.gain.is_bound
    assert finding.ranks == (0, 1)
    assert "`(feats.T … weights) @ (feats @ v)`" in finding.actions[0]


def test_a_vector_from_the_left() -> None:
    told = {**CHAIN, "left": ["basis"], "right": ["feats"], "by_shape": [400], "is_first": False}
    finding = judged(told, operand(name="basis", shape=[400, 1500], elements=[1, 1]), FEATURES)
    assert finding.status is Status.FAIL
    assert "`(v @ basis) @ feats`" in finding.actions[0]


@pytest.mark.parametrize(
    "told",
    [
        None,
        7,
        {},
        {**CHAIN, "by_shape": [256, 4000]},
        {**CHAIN, "by_shape": [255]},
        {**CHAIN, "by_shape": "odd"},
        {**CHAIN, "left": ["weights"]},
        {**CHAIN, "right": ["others"]},
    ],
    ids=["none", "odd", "empty", "wide", "another size", "no shape", "a vector", "unseen"],
)
def test_what_no_other_order_makes_cheaper(told: Any) -> None:
    assert judged(told).status is Status.PASS


def test_of_axes_that_both_fit_the_one_that_saves_less_counts() -> None:
    """A square matrix and a tall one: what is stored does not tell which axes meet."""
    square = operand(name="a", shape=[300, 300], elements=[90000, 90000])
    told = {**CHAIN, "left": ["a"], "right": ["b"], "by_shape": [300, 290]}
    assert judged(told, square, {**square, "name": "b"}).gain_s is None
