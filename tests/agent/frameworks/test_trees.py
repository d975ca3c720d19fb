"""Rounds of boosted trees as steps, of boosters that come and go."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from perfscope.agent.perfscope_agent import metadata, recorder, steps
from perfscope.agent.perfscope_agent.frameworks import trees

ROUNDS, ROWS = 5, 40


class Written:
    """Stands in for the recorder: a clock that each look moves on, and the steps."""

    def __init__(self) -> None:
        self.samples: list[int] = []
        self._now = 0

    def now(self) -> int:
        self._now += 10
        return self._now

    def name(self, text: str) -> int:
        return len(text)

    def run_here(self) -> int:
        return 0

    def phase_begin(self, *_: int) -> int:
        return 0

    def phase_end(self, *_: int) -> None:
        pass

    def step(self, *values: Any) -> None:
        self.samples.append(values[2])


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    class Booster:
        train_set = SimpleNamespace(num_data=lambda: ROWS)

        def update(self) -> None:
            pass

        def eval_train(self) -> None:
            pass

    module = ModuleType("lightgbm.basic")
    module.Booster = Booster  # type: ignore[attr-defined]
    monkeypatch.setattr(recorder, "current", Written())
    monkeypatch.setattr(trees, "_cycle", steps.Cycle(sums_samples=True))
    monkeypatch.setattr(trees, "_last", None)
    monkeypatch.setattr(steps, "source", None)
    monkeypatch.setattr(steps, "last_number", -1)
    monkeypatch.setattr(metadata, "framework", lambda *_, **__: None)
    trees.install(module)
    return module


@pytest.mark.parametrize("trainings", [2, 9])
def test_a_booster_may_lie_where_one_before_it_did(
    library: ModuleType, trainings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one is made while the first is still there, and the third in its place."""
    monkeypatch.setattr(trees, "id", lambda booster: booster.place, raising=False)
    for number in range(trainings):
        booster = library.Booster()
        booster.place = number % 2
        for _ in range(ROUNDS):
            booster.update()
    trees.finish()
    assert recorder.current.samples == [ROWS] * ROUNDS * trainings  # type: ignore[union-attr]


def test_a_round_of_several_boosters_that_stay_is_one_step(library: ModuleType) -> None:
    """As in cross-validation: each fold has a booster, and all of them grow by turns."""
    folds = [library.Booster() for _ in range(3)]
    for _ in range(ROUNDS):
        for fold in folds:
            fold.update()
    trees.finish()
    assert recorder.current.samples == [3 * ROWS] * ROUNDS  # type: ignore[union-attr]
