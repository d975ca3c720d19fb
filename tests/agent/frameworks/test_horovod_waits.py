"""Which waits for Horovod over gloo are told, and when they cannot be told apart any more."""

from __future__ import annotations

import _thread
from typing import Any

import pytest

from perfscope.agent.perfscope_agent import metadata, recorder
from perfscope.agent.perfscope_agent.frameworks import horovod_waits


class Written:
    """Stands in for the recorder."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.ended = 0

    def name(self, text: str) -> str:
        return text

    def now(self) -> int:
        return 7

    def phase(self, *_values: Any) -> None:
        pass

    def phase_begin(self, _kind: int, _name: str, number: int, _epoch: int) -> int:
        self.begun.append(number)
        return number

    def phase_end(self, _token: int) -> None:
        self.ended += 1


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Written:
    found = Written()
    monkeypatch.setattr(recorder, "current", found)
    monkeypatch.setattr(recorder, "main_thread", _thread.get_ident())
    monkeypatch.setattr(metadata, "facts", {"frameworks": {}})
    horovod_waits.forget()
    return found


def reason() -> Any:
    return metadata.facts["frameworks"]["horovod"]["exposed_reason"]


def wait() -> None:
    horovod_waits._waiting(lambda: None)()


def test_waits_are_numbered_as_they_come_and_nested_ones_are_part_of_them(
    written: Written,
) -> None:
    horovod_waits.begin(1)
    assert reason() is not None  # until there is one
    wait()
    horovod_waits._waiting(wait)()
    assert (written.begun, written.ended, reason()) == ([0, 1], 2, None)


@pytest.mark.parametrize("change", [lambda: horovod_waits.begin(5), horovod_waits.note_sets])
def test_what_makes_their_order_another_one_on_each_rank_ends_them(
    change: Any, written: Written
) -> None:
    """Ranks of an elastic job are others after it was initialized again."""
    horovod_waits.begin(1)
    wait()
    change()
    wait()
    assert written.begun == [0]
    assert reason() is not None
