"""Calls of a training loop are grouped into steps, one for each iteration."""

import contextlib
import math
import random
import textwrap
import threading
from typing import Any

import pytest

from perfscope.agent.perfscope_agent import recorder, sites, steps
from perfscope.agent.perfscope_agent.frameworks import calls, keras, keras_data


class Written:
    """Stands in for the recorder: keeps what is written."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int, int]] = []

    def run_here(self) -> int:
        return 0

    def now(self) -> int:
        return 30

    def step(self, *values: Any) -> None:
        """Keeps begin, end and samples."""
        _, _, samples, _, t0, t1 = values
        self.steps.append((t0, t1, samples))


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Written:
    found = Written()
    monkeypatch.setattr(recorder, "current", found)
    monkeypatch.setattr(steps, "source", None)
    monkeypatch.setattr(steps, "last_number", -1)
    monkeypatch.setattr(sites, "_met", {})
    return found


@pytest.fixture
def no_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of calls that a library makes it is not known where in the program they are."""
    monkeypatch.setattr(sites, "of", lambda _: None)


def play(calls: str, *, sums_samples: bool = False, guesses: int = 0) -> None:
    """Each letter is a call of that model, 10 ns long and begun each 20 ns; | is an evaluation."""
    cycle = steps.Cycle(sums_samples=sums_samples)
    start = 1000
    for letter in calls:
        if letter == "|":
            cycle.cut()
        else:
            unit = steps.Unit(
                "test", letter, start_ns=start, end_ns=start + 10, samples=8, guesses=guesses
            )
            cycle.add(unit)
        start += 20
    cycle.cut()


def lengths(calls: str, written: Written) -> list[int]:
    """Calls in each step, from its times."""
    play(calls)
    return [math.ceil((t1 - t0) / 20) for t0, t1, _ in written.steps]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("M", [1]),
        ("MMMM", [1] * 4),
        ("M" * 40, [1] * 40),
        ("DGDGDG", [2] * 3),
        ("DDGDDGDDG", [3] * 3),
        ("DDDDDGDDDDDG", [6] * 2),
        ("ABCABC", [3, 3]),
        ("MMM|MM|M", [1] * 6),
        ("DDG|DDG|", [3, 3]),
        ("D" * 20 + "DGDGDG", [1] * 20 + [2] * 3),
        ("DGDG" + "M" * 22, [2, 2] + [1] * 22),
        (("D" * 32 + "G") * 3, [1] * 31 + [2, 33, 33]),
        ("MMMMOOOO", [1] * 8),
        ("AAA" + "B" * 40, [1] * 43),
        ("DG", [2]),
        ("DDGGDDGG|DDGG", [4, 4, 4]),
        ("DDGDDG|MMMMOOOO", [3, 3] + [1] * 8),
    ],
)
@pytest.mark.usefixtures("no_sites")
def test_iterations_are_found(written: Written, calls: str, expected: list[int]) -> None:
    assert lengths(calls, written) == expected


@pytest.mark.usefixtures("no_sites")
def test_steps_follow_each_other_up_to_an_interruption(written: Written) -> None:
    play("DG" * 3 + "|" + "DG")
    times = [(t0, t1) for t0, t1, _ in written.steps]
    assert times == [(1000, 1040), (1040, 1080), (1080, 1110), (1140, 1170)]


@pytest.mark.usefixtures("no_sites")
def test_samples_are_those_of_the_first_call_or_their_sum(written: Written) -> None:
    play("DDG")
    play("DDG", sums_samples=True)
    assert [samples for _, _, samples in written.steps] == [8, 24]


@pytest.mark.parametrize(("calls", "guesses", "samples"), [("DDG", 1, 16), ("DDG", 2, 8)])
@pytest.mark.usefixtures("no_sites")
def test_samples_that_no_loader_tells_count_once_for_all_models(
    written: Written, calls: str, guesses: int, samples: int
) -> None:
    play(calls, sums_samples=True, guesses=guesses)
    assert [found for _, _, found in written.steps] == [samples]


class Program:
    """Source code whose calls of `unit` are the calls that steps are made of."""

    def __init__(self, source: str) -> None:
        self._cycle, self._now = steps.Cycle(sums_samples=False), 1000
        exec(compile(source, "/job/program.py", "exec"), {"unit": self.unit})
        self._cycle.cut()

    def unit(self, key: str) -> None:
        start, self._now = self._now, self._now + 20
        self._cycle.add(steps.Unit("test", key, start_ns=start, end_ns=start + 10, samples=8))


def sizes(source: str, written: Written) -> list[int]:
    """Calls in each step, from its times."""
    Program(textwrap.dedent(source))
    return [math.ceil((t1 - t0) / 20) for t0, t1, _ in written.steps]


def test_each_turn_of_the_one_loop_is_a_step_also_where_it_has_more(written: Written) -> None:
    """A critic in each batch of two epochs, and a generator in each fifth."""
    source = """
    for epoch in range(2):
        for batch in range(50):
            unit("critic")
            if batch % 5 == 4:
                unit("generator")
    """
    assert sizes(source, written) == [1, 1, 1, 1, 2] * 20


def test_gradients_of_many_small_batches_are_one_step_once_an_update_was_seen(
    written: Written,
) -> None:
    source = """
    for update in range(4):
        for small_batch in range(32):
            unit("gradient")
        unit("update")
    """
    assert sizes(source, written) == [1] * 31 + [2, 33, 33, 33]


def test_a_loop_inside_is_a_part_of_the_turn(written: Written) -> None:
    source = """
    def criticize():
        unit("critic")

    for iteration in range(40):
        for _ in range(5):
            criticize()
        unit("generator")
    """
    assert sizes(source, written) == [6] * 40


def test_what_learns_later_or_more_rarely_belongs_to_the_turn(written: Written) -> None:
    """An agent's critic learns from the tenth step on, its actor twice in each second of them."""
    source = """
    from contextlib import nullcontext
    for step in range(60):
        if step >= 10:
            unit("critic")
            if step % 2 == 0:
                for _ in range(2):
                    unit("actor")
                with nullcontext():
                    pass
    """
    assert sizes(source, written) == [3, 1] * 25


def test_of_one_loop_no_step_is_kept_back_but_the_running_one(written: Written) -> None:
    """Whoever is killed loses no more."""
    cycle = steps.Cycle(sums_samples=False)
    for number in range(9):
        begin = 1000 + 20 * number
        cycle.add(steps.Unit("test", "M", start_ns=begin, end_ns=begin + 10, samples=8))
        assert len(written.steps) == number


def test_where_calls_come_from_is_looked_at_more_rarely_after_many_from_one_place(
    written: Written,
) -> None:
    source = """
    for step in range(200):
        unit("M")
    for step in range(200):
        unit("M")
        unit("N")
    """
    assert sizes(source, written)[:200] == [1] * 200
    assert abs(len(written.steps) - 400) <= 8


def test_phases_one_after_the_other_have_steps_of_their_own(written: Written) -> None:
    source = """
    for fold in range(3):
        for batch in range(40):
            unit("encoder")
        for batch in range(30):
            unit("classifier")
    """
    assert sizes(source, written) == [1] * 3 * 70


def test_optimizers_that_step_in_a_loop_of_their_own_are_of_one_step(written: Written) -> None:
    source = """
    for batch in range(30):
        for optimizer in ("embeddings", "matrices"):
            unit(optimizer)
    """
    assert sizes(source, written) == [2] * 30


TRAIN_STEP = """
def train_step():
    unit("D")
    unit("G")
"""
IN_PARTS = """
def step_d():
    unit("D")

def step_g():
    unit("G")

def train_step():
    step_d()
    step_g()
"""
IN_LOOPS = """
def train_step():
    for _ in range(3):
        unit("D")
    for _ in range(2):
        unit("E")
        unit("G")
"""


@pytest.mark.parametrize(("function", "calls"), [(TRAIN_STEP, 2), (IN_PARTS, 2), (IN_LOOPS, 7)])
@pytest.mark.parametrize("epochs", [1, 3])
def test_a_function_that_takes_all_of_a_step(
    written: Written, function: str, calls: int, epochs: int
) -> None:
    loops = f"""
for epoch in range({epochs}):
    for batch in range(40):
        train_step()
"""
    assert sizes(function + loops, written) == [calls] * 40 * epochs


def test_what_comes_once_before_many_turns_keeps_none_of_them_back(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An optimizer steps once an epoch, before the loop over batches, in which two others do."""
    kept: list[int] = []
    add = steps.Cycle.add

    def counted(self: steps.Cycle, unit: steps.Unit) -> None:
        add(self, unit)
        kept.append(len(self._pending))

    monkeypatch.setattr(steps.Cycle, "add", counted)
    source = """
    for epoch in range(2):
        unit("once")
        for batch in range(400):
            unit("D")
            unit("G")
    """
    found = sizes(source, written)
    assert max(kept) <= steps._MOST_PENDING
    assert found.count(2) >= 2 * 360


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_of_functions_with_loops(
    written: Written, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Whatever the functions are that a turn calls, with loops or without: nothing is kept back."""
    monkeypatch.setattr(steps, "_MOST_PENDING", 1 << 30)
    draw = random.Random(seed)
    lines, made, count = [], [], 0
    for number in range(draw.randint(1, 3)):
        lines.append(f"def part{number}():")
        for _ in range(draw.randint(1, 3)):
            times = draw.choice([1, 1, draw.randint(2, 4)])
            lines.append(
                f"    for _ in range({times}): unit({count})" if times > 1 else f"    unit({count})"
            )
            made.append(times)
            count += 1
    lines.append("for turn in range(30):")
    lines += [
        f"    part{number}()" for number in range(sum(one.startswith("def") for one in lines))
    ]
    source, alone = "\n".join(lines), len(made) == 1
    expected = [sum(made)] * 30
    assert sizes(source, written) == ([1] * 30 * made[0] if alone else expected)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(written: Written, seed: int) -> None:
    """A step is one turn of the loop that all of some calls are in, whatever is around it."""
    draw = random.Random(seed)
    lines, inside = ["def part(key):", "    unit(key)", ""], "    "
    times = draw.randint(20, 40)
    if draw.random() < 0.5:
        lines.append("for epoch in range(3):")
        inside, times = "        ", 3 * times
    lines.append(f"{inside[4:]}for turn in range({times // 3 if len(inside) > 4 else times}):")
    for key in range(draw.randint(1, 4)):
        call = f"{draw.choice(['unit', 'part'])}('{key}')"
        around = draw.choice(["", f"for _ in range({draw.randint(2, 6)}): ", "if turn % 3 == 0: "])
        lines.append(f"{inside}{around if key else ''}{call}")
    assert len(sizes("\n".join(lines), written)) == times


def test_marker_replaces_the_steps_of_a_framework(written: Written) -> None:
    steps.emit("torch", 10, 20)
    steps.emit(steps.MARKER, 20, 30)
    steps.emit("torch", 30, 40)
    assert written.steps == [(10, 20, 0), (20, 30, 0)]
    assert steps.source == steps.MARKER


def test_the_thread_that_fits_trains_though_its_steps_are_told_in_another(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keras is a stand-in that only calls back."""
    monkeypatch.setattr(recorder, "_trains", 0)
    monkeypatch.setattr(keras, "_callback_class", lambda _fit: None)
    nothing = keras_data.Batches(0, None, 1)
    monkeypatch.setattr(keras_data, "batches", lambda *_: nothing)
    monkeypatch.setattr(calls, "Counted", lambda *_, **__: contextlib.nullcontext())
    tell = threading.Thread(target=steps.emit, args=("keras", 10, 20))

    def fit(*_: object, **__: object) -> None:
        tell.start()
        tell.join()

    keras._make_fit(fit)(object())
    assert written.steps == [(10, 20, 0)]
    assert recorder._trains == threading.get_ident()
