"""Extra-P itself, not a stand-in for it: laws that are known in closed form, on five sizes."""

import json
import math
import os
import subprocess
from typing import Any

import pytest

from tests.support.environments import REPOSITORY, environment

SIZES = (1, 2, 4, 8, 16)
BEYOND = (32, 64)
# Name, constant, slope, exponent of p, exponent of log2(p).
LAWS = (
    ("a + b/p", 10.0, 80.0, -1.0, 0),
    ("a + b log p", 3.0, 2.0, 0.0, 1),
    ("a + b sqrt p", 2.0, 0.3, 0.5, 0),
    ("a + b p", 1.0, 0.5, 1.0, 0),
    ("a + b p log p", 1.0, 0.01, 1.0, 1),
    ("a + b p^2", 1.0, 0.1, 2.0, 0),
    ("constant", 4.0, 0.0, 0.0, 0),
)
PROGRAM = """
import json, math, sys
from dataclasses import asdict
from perfscope.studies.scaling.extra_p import extra_p
from perfscope.studies.scaling.scaling import scaling
from tests.support.scaling_series import trained

asked = json.load(sys.stdin)
sizes = [size for size in asked["sizes"] for _ in range(2)]  # each one repeated
found = {}
for name, a, b, power, log in asked["laws"]:
    values = [a + b * p**power * math.log2(p) ** log for p in sizes]
    model = extra_p(sizes, values, asked["beyond"], falls=power < 0)
    found[name] = model if isinstance(model, str) else asdict(model)
study = scaling(trained(tuple(asked["sizes"]), evaluation=lambda _: 10.0))
model = study.whole.extra_p
found["study"] = model if isinstance(model, str) else asdict(model)
json.dump(found, sys.stdout)
"""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What Extra-P says in the environment that it is installed in."""
    done = subprocess.run(
        [environment("extrap").python, "-c", PROGRAM],
        input=json.dumps({"sizes": SIZES, "beyond": BEYOND, "laws": LAWS}),
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law[0])
def test_known_laws_are_extrapolated_exactly(
    found: dict[str, Any], law: tuple[str, float, float, float, int]
) -> None:
    name, constant, slope, power, log = law
    assert not isinstance(found[name], str), found[name]
    assert found[name]["cross_validation_error"] < 1e-6
    assert [one["size"] for one in found[name]["forecasts"]] == list(BEYOND)
    assert [one["value"] for one in found[name]["forecasts"]] == pytest.approx(
        [constant + slope * p**power * math.log2(p) ** log for p in BEYOND]
    )


@pytest.mark.long
def test_a_scaling_study_shows_its_model(found: dict[str, Any]) -> None:
    """Runs of 10 + 80/p seconds: the model of the run time is this law."""
    assert found["study"]["value"] == "10 + 80 * p^(-1)"
    values = [one["value"] for one in found["study"]["forecasts"]]
    assert values == pytest.approx([10 + 80 / 32, 10 + 80 / 64])
