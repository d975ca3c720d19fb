"""What the PyTorch hooks make of the order of events, without PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from perfscope.agent.perfscope_agent import notes, recorder, steps
from perfscope.agent.perfscope_agent.frameworks import (
    torch,
    torch_batches,
    torch_gradients,
    torch_optimizers,
    torch_states,
    wrap,
)
from perfscope.agent.perfscope_agent.frameworks.torch import _Loop

PHASES = {
    value: name.lower() for name, value in vars(recorder.Phase).items() if isinstance(value, int)
}


class Written:
    """Stands in for the recorder: a clock that each event moves on, and what is written."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int, int]] = []
        self.phases: list[tuple[str, int, int]] = []
        self.loop = _Loop()
        self._now = 0

    def name(self, text: str) -> int:
        return len(text)

    def now(self) -> int:
        self._now += 10
        return self._now

    def run_here(self) -> int:
        return 0

    def step(self, *values: Any) -> None:
        _, _, samples, _, t0, t1 = values
        self.steps.append((t0, t1, samples))

    def phase(self, kind: int, *rest: int) -> None:
        self.phases.append((PHASES[kind], rest[-2], rest[-1]))

    def play(self, events: str) -> Written:
        """n, N: next batch, the first of its iterator; v, V without gradients; x exhausted;
        b backward; o, p two optimizers; e, t the model is set to evaluation, to training;
        T another one is.
        """
        for event in events.split():
            self._now += 10
            self._play(event)
        self.loop.finish()
        return self

    def _play(self, event: str) -> None:
        loop, now = self.loop, self._now
        if event in "nNvV":
            loop.asks_for_batch(event.isupper(), event in "nN", now)
            loop.takes_batch(4, event in "nN", now + 1)
        elif event == "x":
            loop.exhausts_loader(now)
        elif event == "b":
            loop.begins_backward(now)
        elif event in "op":
            loop.optimizer_start_ns = now
            loop.ends_optimizer(ord(event), now + 2)
        elif event == "e":
            torch.sets_mode(1, False, now)
        elif event in "tT":
            torch.sets_mode(1 if event == "t" else 2, True, now)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Written:
    found = Written()
    monkeypatch.setattr(recorder, "current", found)
    monkeypatch.setattr(torch, "_loop", found.loop)
    monkeypatch.setattr(steps, "source", None)
    monkeypatch.setattr(steps, "last_number", -1)
    monkeypatch.setattr(steps, "epoch", -1)
    return found


def of(written: Written, kind: str) -> list[tuple[int, int]]:
    return [(t0, t1) for name, t0, t1 in written.phases if name == kind]


def test_an_epoch_of_two_steps(written: Written) -> None:
    written.play("N b o n b o x")
    assert written.steps == [(10, 32, 4), (32, 62, 4)]
    assert of(written, "train") == [(10, 70)]
    assert of(written, "forward") == [(11, 20), (41, 50)]
    assert of(written, "optimizer") == [(30, 32), (60, 62)]


def test_gradient_accumulation_keeps_its_micro_batches(written: Written) -> None:
    written.play("N b n b o n b n b o x")
    assert [samples for _, _, samples in written.steps] == [8, 8]
    assert len(of(written, "forward")) == 4


def test_two_optimizers_make_one_step(written: Written) -> None:
    written.play("N b o b p n b o b p x")
    assert [samples for _, _, samples in written.steps] == [4, 4]


@pytest.mark.parametrize("events", ["e V v x t", "e N n x t"])
def test_evaluation_lasts_until_the_model_trains_again(written: Written, events: str) -> None:
    written.play(f"N b o x {events} N b o x")
    assert of(written, "evaluate") == [(50, 90)]
    assert len(of(written, "train")) == 2
    assert len(written.steps) == 2


def test_evaluation_without_a_mode_is_seen_by_its_gradients(written: Written) -> None:
    written.play("N b o x V v x N b o x")
    assert of(written, "evaluate") == [(50, 70)]


def test_evaluation_ends_with_its_data_when_training_mode_is_never_set(written: Written) -> None:
    written.play("N b o x e V v x N b o x e V x")
    assert of(written, "evaluate") == [(50, 80), (130, 150)]


def test_another_model_that_is_trained_after_an_evaluation_has_all_of_its_batches(
    written: Written,
) -> None:
    written.play("N b o x e V v x N b o x e V v x N b o x")
    assert [samples for _, _, samples in written.steps] == [4, 4, 4]
    assert of(written, "evaluate") == [(50, 80), (130, 160)]
    assert of(written, "train") == [(10, 40), (90, 120), (170, 200)]


def test_batches_that_are_evaluated_with_gradients_are_not_trained_on(written: Written) -> None:
    written.play("N b o x e N n n x N b o x")
    assert [samples for _, _, samples in written.steps] == [4, 4]
    assert of(written, "evaluate") == [(50, 90)]


def test_evaluation_inside_a_call_of_keras_is_told_by_keras(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wrap._main, "value", 1)
    assert "evaluate" not in [name for name, *_ in written.play("N b o x e V v x t N b o x").phases]


def test_frozen_model_is_no_evaluation(written: Written) -> None:
    written.play("e N b o n b o x")
    assert of(written, "evaluate") == []
    assert len(written.steps) == 2


@pytest.mark.parametrize(
    "events", ["T e b o", "e b o", "T e b o p", "b e b o", "e T b o", "e T b o p"]
)
def test_a_part_of_the_model_that_is_no_longer_trained_leaves_steps_whole(
    written: Written, events: str
) -> None:
    """As a backbone whose running means are kept: with and without it all else is the same."""
    written.play(" ".join([events] * 3))
    assert of(written, "evaluate") == []
    assert [end for _, end, _ in written.steps][:-1] == [begin for begin, _, _ in written.steps][1:]
    assert len(written.steps) == 3


def test_a_batch_that_is_fetched_before_a_teacher_is_set_belongs_to_its_step(
    written: Written,
) -> None:
    """The teacher is set to evaluation and the student to training, behind the batch of a step."""
    written.play("N e T b o n e T b o x")
    assert written.steps == [(10, 52, 4), (52, 102, 4)]
    assert of(written, "evaluate") == []


def test_a_frozen_part_leaves_the_forward_pass_of_a_batch(written: Written) -> None:
    written.play("N e b o n e b o x")
    assert written.steps == [(10, 42, 4), (42, 82, 4)]
    assert of(written, "forward") == [(11, 30), (51, 70)]


def test_what_a_model_evaluates_before_another_one_trains_is_no_step(written: Written) -> None:
    """Nothing tells that it was an evaluation: it is neither that nor a part of training."""
    written.play("T b o T b o e T b o T b o")
    assert [t1 - t0 for t0, t1, _ in written.steps] == [12, 30, 22, 30]


def test_what_else_is_looked_at_may_fail_without_a_step_that_is_lost(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each step the samples, and what its optimizer holds and keeps."""

    def failing(what: str) -> Callable[..., NoReturn]:
        def fails(*_arguments: object) -> NoReturn:
            raise AttributeError(what)

        return fails

    monkeypatch.setattr(notes, "notes", [])
    monkeypatch.setattr(torch_batches, "await_next", failing("batches"))
    monkeypatch.setattr(torch_gradients, "note_optimizer", failing("gradients"))
    monkeypatch.setattr(torch_states, "next_ns", 0)
    monkeypatch.setattr(torch_states, "look", failing("states"))
    optimizer = object()  # of several that are gone at once some would lie in the same place
    for now in (1, 11, 21):
        torch.tell(written.loop.begins_backward, now)
        written.loop.optimizer_start_ns = now + 1
        torch_optimizers._after_optimizer(optimizer, (), {})
    written.loop.finish()
    assert len(written.steps) == 3
    failed = [note.rpartition(" ")[2] for note in notes.notes]
    assert failed == ["batches", "gradients", "states"]


def test_steps_of_one_optimizer_are_written_the_short_way_as_the_long_one(written: Written) -> None:
    """From the 16th on each is known to be one; two in turn are one step again."""
    written.play("N b o " + "n b o " * 39 + "n b o p " * 5)
    begins = [begin for begin, _, _ in written.steps]
    assert begins[:40] == [10, *(32 + 30 * at for at in range(39))]
    assert [end for _, end, _ in written.steps[:39]] == [*begins[1:40]]
    assert [samples for _, _, samples in written.steps[:40]] == [4] * 40
    assert len(written.steps) in (44, 45)


def test_loop_without_a_loader_has_steps(written: Written) -> None:
    written.play("b o b o b o")
    assert written.steps == [(10, 22, 0), (22, 42, 0), (42, 62, 0)]
    assert of(written, "forward") == []


class Array:
    """Something with a shape."""

    def __init__(self, *shape: int | None) -> None:
        self.shape = shape


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        (Array(5, 2), 5),
        ([Array(6), Array(7)], 6),
        ({"x": (Array(8), 1)}, 8),
        (Array(), 0),
        (Array(None, 3), 0),
        ("text", 0),
        (None, 0),
        ([], 0),
        ([[[[Array(3)]]]], 0),
    ],
)
def test_batch_length_is_the_first_dimension(batch: object, expected: int) -> None:
    assert wrap.batch_length(batch) == expected
