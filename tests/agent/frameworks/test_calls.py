"""What calls of a framework's functions are counted for, where one runs inside another."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from perfscope.agent.perfscope_agent import recorder
from perfscope.agent.perfscope_agent.frameworks import calls


class Written:
    """A recorder that keeps the sums that are written; each question takes a moment."""

    def __init__(self) -> None:
        self.clock_ns = 0
        self.sums: dict[str, tuple[int, ...]] = {}

    def now(self) -> int:
        self.clock_ns += 1
        return self.clock_ns

    def private_bytes(self) -> int:
        return 1 << 20

    def name(self, text: str) -> str:
        return text

    def calls(self, name: str, *sums: int) -> None:
        self.sums[name] = sums


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    found = Written()
    monkeypatch.setattr(recorder, "current", found)
    calls.forget()
    yield found
    calls.forget()


def counted(written: Written, name: str, *, by_program: bool = False) -> calls.Counted:
    return calls.Counted(cast(Any, written), name, by_program=by_program)


def compute(written: Written) -> None:
    assert calls.running is not None
    calls.running.compute(cast(Any, written))


@pytest.mark.parametrize(("by_program", "expected"), [(True, 3), (False, None)])
def test_what_a_callback_calls_counts_for_itself(
    written: Written, by_program: bool, expected: int | None
) -> None:
    with counted(written, "fit"):
        compute(written)
        for _ in range(3):
            with counted(written, "predict", by_program=by_program):
                compute(written)
        compute(written)
    calls.finish()
    assert written.sums["fit"][0] == 1
    assert written.sums["fit"][2] == (2 if by_program else 5)
    assert ("predict" in written.sums) is by_program
    if by_program:
        assert written.sums["predict"][0] == written.sums["predict"][2] == expected
    assert calls.running is None


def test_a_function_that_calls_itself_counts_once(written: Written) -> None:
    with (
        counted(written, "predict"),
        counted(written, "predict", by_program=True),
    ):
        compute(written)
    calls.finish()
    assert written.sums["predict"][0] == 1
    assert calls.running is None


def test_of_two_threads_the_first_may_end_first(written: Written) -> None:
    first, second = (counted(written, name, by_program=True) for name in ("predict", "fit"))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert calls.running is None
    with counted(written, "predict"):
        compute(written)
    calls.finish()
    assert written.sums["predict"][0] == 2


def test_a_call_that_raises_is_over(written: Written) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        counted(written, "fit"),
        counted(written, "predict", by_program=True),
    ):
        raise ZeroDivisionError
    assert calls.running is None
    with counted(written, "predict"):
        compute(written)
    calls.finish()
    assert written.sums["predict"][0] == 2
