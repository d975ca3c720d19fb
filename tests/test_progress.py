"""What takes long is told on a terminal, and on nothing else."""

import io
import sys
import time

import pytest

from perfscope import progress

ERASE = "\r\x1b[2K"


class _Terminal(io.StringIO):
    """Stands for a terminal, as the tests have none."""

    def isatty(self) -> bool:
        return True


def _shown(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, quiet_s: float) -> list[str]:
    """What is written until the second of three items is told, or at once with a long quiet."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "QUIET_S", quiet_s)
    monkeypatch.setattr(progress, "TICK_S", 0.001)
    with progress.told():
        for item in progress.counted("reading", "abc"):
            patience = time.monotonic() + 30.0
            while item == "b" and quiet_s == 0.0 and "1 of 3" not in stream.getvalue():
                if not stream.isatty() or time.monotonic() > patience:
                    break
                time.sleep(0.001)
    return stream.getvalue().split(ERASE)


def test_a_terminal_shows_how_far_it_is_and_nothing_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = _shown(_Terminal(), monkeypatch, quiet_s=0.0)
    assert any(line.startswith("perfscope: reading, 1 of 3, ") for line in lines)
    assert lines[-1] == ""


def test_what_is_soon_over_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _shown(_Terminal(), monkeypatch, quiet_s=60.0) == [""]


def test_what_is_no_terminal_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _shown(io.StringIO(), monkeypatch, quiet_s=0.0) == [""]


def test_a_failure_leaves_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "QUIET_S", 0.0)
    with pytest.raises(ValueError, match="damaged"), progress.told():
        raise ValueError("damaged")
    assert stream.getvalue().split(ERASE)[-1] == ""
