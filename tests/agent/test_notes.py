"""What goes wrong in the agent is noted, whatever was raised."""

import os
import signal
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import pytest

from perfscope.agent.perfscope_agent import notes
from perfscope.agent.perfscope_agent.frameworks import wrap


class UntoldError(Exception):
    """One of the program's own, which raises where it is asked for its message."""

    def __str__(self) -> str:
        raise KeyError("message")


def test_an_error_without_a_message_reaches_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "notes", [])

    def fails() -> NoReturn:
        raise UntoldError

    assert wrap.guarded("a hook", fails) is None
    assert notes.notes == ["a hook: UntoldError: no message"]


class Handlers:
    """Two ways to handle a signal, besides a plain function."""

    def method(self, _number: int, _frame: object) -> NoReturn:
        raise TimeoutError

    def __call__(self, _number: int, _frame: object) -> NoReturn:
        raise TimeoutError


def function(_number: int, _frame: object) -> NoReturn:
    raise TimeoutError


@pytest.mark.parametrize("handler", [function, Handlers().method, Handlers(), partial(function)])
@pytest.mark.parametrize("guard", [wrap.guarded, wrap.asked])
def test_what_the_handler_of_a_signal_raises_goes_on_to_the_program(
    guard: Callable[..., Any], handler: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes, "notes", [])
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(TimeoutError):
            guard("a hook", os.kill, os.getpid(), signal.SIGUSR1)
        assert guard("a hook", int, "none") in (None, "a hook")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not any("TimeoutError" in one for one in notes.notes)
