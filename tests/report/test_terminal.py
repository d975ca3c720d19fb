"""The terminal summary: what the document holds, in any width, without tricks of the traced "
"program."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from perfscope.report.terminal import print_summary
from tests.report import sample_document

SAMPLES = ("two_ranks_evaluation", "four_ranks_healthy", "everything_null", "thousand_ranks")


def shown(document: dict[str, Any], *, width: int = 80, terminal: bool = False) -> str:
    """What is printed."""
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=terminal,
        no_color=not terminal,
        color_system="standard" if terminal else None,
        legacy_windows=False,
    )
    print_summary(document, console)
    return stream.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("name", SAMPLES)
def test_fits_every_width(name: str, width: int) -> None:
    text = shown(getattr(sample_document, name)(), width=width)
    assert max(len(row) for row in text.splitlines()) <= width
    assert not any(row.endswith(" ") for row in text.splitlines() if not row.startswith("  "))


@pytest.mark.parametrize("name", SAMPLES)
def test_plain_output_is_ascii(name: str) -> None:
    text = shown(getattr(sample_document, name)())
    assert text.isascii()
    assert "\x1b" not in text


def test_says_what_matters() -> None:
    document = sample_document.two_ranks_evaluation()
    text = " ".join(shown(document).split())
    assert "2 ranks on 1 host" in text
    assert document["verdict"]["sentence"] in text
    for name in document["verdict"]["top"]:
        finding = next(f for f in document["findings"] if f["id"] == name)
        assert finding["title"] in text
        if finding["actions"]:
            assert finding["actions"][0] in text
    assert "Parallel efficiency 0." in text
    assert "= load balance" in text
    for row in document["ledger"]:
        assert (row["label"][:20] in text) == (row["seconds"] > 0)


def test_what_is_missing_is_said() -> None:
    text = shown(sample_document.everything_null())
    assert "Parallel efficiency: not available" in text


@pytest.mark.parametrize("terminal", [False, True])
def test_hostile_text_sends_nothing_to_the_terminal(*, terminal: bool) -> None:
    text = shown(sample_document.hostile(), terminal=terminal)
    for character in "\x1b\x07\x00\u202e\u2066":
        # the colours of the summary itself are escape sequences of the form ESC [ digits m
        stripped = text
        if character == "\x1b" and terminal:
            import re

            stripped = re.sub(r"\x1b\[[0-9;]*m", "", text)
            assert "\x1b[31mred" not in text
        assert character not in stripped


def test_markup_is_not_interpreted() -> None:
    document = sample_document.two_ranks_evaluation()
    document["verdict"]["sentence"] = "[bold red]evil[/] [link=file:///etc/passwd]x[/link]"
    document["run"]["command"] = ["python", "[/]", "[red]"]
    text = shown(document, terminal=True)
    assert "[bold red]evil[/] [link=file:///etc/passwd]x[/link]" in text
    assert "file:///etc/passwd\x1b" not in text


def test_endless_text_is_cut() -> None:
    document = sample_document.two_ranks_evaluation()
    document["run"]["command"] = ["python", "x" * 1_000_000]
    assert len(shown(document)) < 6000
