"""Text of a trace made safe to show: nothing hidden, nothing reordered, nothing endless."""

import re
from dataclasses import fields, is_dataclass, replace
from typing import Any

from markupsafe import Markup, escape

from perfscope.output import LONGEST_TEXT, shortened, shortened_apart, visible, whole_sentences
from perfscope.units import capitalized

__all__ = [
    "LONGEST_TEXT",
    "bound",
    "coded",
    "sentence",
    "sentences",
    "shortened",
    "shortened_apart",
    "stopped",
    "visible",
    "visible_document",
    "whole_sentences",
]


_NUMBERS = frozenset({int, float})
_UNIT = re.compile(
    r"(?<=\d) (?=(?:%|[mµun]?s|min|h|[KMGTP]?i?B(?:/s)?|samples/s)(?!\w))"
    r"|(?<=\bmin) (?=\d\d s\b)|(?<=\bh) (?=\d\d min\b)"
)
_NEXT = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9“\"])|(?<=\)\.)\s+")


def visible_document(value: Any) -> Any:
    """The same document, or structure, with every text made visible, also those used as keys."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(str(key)): visible_document(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if {*map(type, value)} <= _NUMBERS:
            return value
        return type(value)(visible_document(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {one.name: visible_document(getattr(value, one.name)) for one in fields(value)}
        return replace(value, **parts)
    return value


def stopped(text: str) -> str:
    """The text with one full stop at its end."""
    return f"{text.rstrip(' .')}." if text.strip(" .") else text


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order."""
    return _NEXT.split(text.strip())


def bound(text: str) -> str:
    """The text with numbers and their units on one line."""
    return _UNIT.sub("\u00a0", text)


def coded(text: str) -> Markup:
    """The text with what stands between two backticks as code, to be typed as it is.

    Elsewhere numbers stay with their units.
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one of them has no partner
        return escape(bound(text))
    code = Markup("<code>{}</code>")
    return Markup("").join(
        code.format(one) if place % 2 else escape(bound(one)) for place, one in enumerate(parts)
    )


def sentence(text: str) -> str:
    """The text as a sentence: a capital in front, a full stop at its end."""
    return stopped(capitalized(text))
