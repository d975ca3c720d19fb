"""Extra-P beside our own models: where it is not installed, and what it is asked and answers."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from perfscope.schema.scaling import ExtraP, ExtraPForecast
from perfscope.studies.scaling import extra_p
from perfscope.studies.scaling.extra_p import MISSING

SIZES = [2, 2, 4, 8, 16, 32]
VALUES = [10.0, 11.0, 6.0, 4.0, 3.0, 2.0]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A stand-in for the package, and what it was asked; `answer` is what it gives."""
    seen: dict[str, Any] = {"answer": SimpleNamespace(evaluate=lambda p: 100 / p), "error": 2.5}

    class Modeler:
        allow_negative_exponents = False

        def create_model(self, measurements: list[Any]) -> Any:
            seen["measurements"] = measurements
            seen["falls"] = self.allow_negative_exponents
            if isinstance(seen["answer"], Exception):
                raise seen["answer"]
            hypothesis = SimpleNamespace(function=seen["answer"], SMAPE=seen["error"])
            return SimpleNamespace(hypothesis=hypothesis)

    def module(name: str, **members: Any) -> None:
        made = ModuleType(name)
        made.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, made)

    module("extrap.modelers.single_parameter.basic", SingleParameterModeler=Modeler)
    module("extrap.entities.callpath", Callpath=str)
    module("extrap.entities.metric", Metric=str)
    module("extrap.entities.coordinate", Coordinate=float)
    module("extrap.entities.measurement", Measurement=lambda *parts: parts)
    monkeypatch.setattr(extra_p, "is_installed", lambda: True)
    return seen


def test_where_it_is_not_installed_the_reason_names_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extra_p, "is_installed", lambda: False)
    assert extra_p.extra_p(SIZES, VALUES, [64], falls=True) == MISSING


def test_it_is_asked_by_size_with_repetitions(asked: dict[str, Any]) -> None:
    found = extra_p.extra_p(SIZES, VALUES, [64, 128], falls=True)
    assert isinstance(found, ExtraP)
    assert found.cross_validation_error == pytest.approx(0.025)
    assert found.forecasts == (ExtraPForecast(64, 100 / 64), ExtraPForecast(128, 100 / 128))
    assert asked["falls"] is True
    rows = [(row[0], row[3]) for row in asked["measurements"]]
    assert rows == [(2.0, [10.0, 11.0]), (4.0, [6.0]), (8.0, [4.0]), (16.0, [3.0]), (32.0, [2.0])]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"answer": ValueError("no")}, "Extra-P failed: ValueError: no"),
        ({"error": float("nan")}, "without finite values"),
        ({"answer": SimpleNamespace(evaluate=lambda _: float("inf"))}, "without finite values"),
    ],
)
def test_what_it_cannot_do_is_a_reason(
    asked: dict[str, Any], change: dict[str, Any], reason: str
) -> None:
    asked.update(change)
    found = extra_p.extra_p(SIZES, VALUES, [64], falls=False)
    assert isinstance(found, str)
    assert reason in found
