"""What goes wrong in the agent is noted, whatever was raised."""

from typing import NoReturn

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
