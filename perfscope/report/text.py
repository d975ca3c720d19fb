"""Text of a trace made safe to show: nothing hidden, nothing reordered, nothing endless."""

from __future__ import annotations

import unicodedata
from typing import Any

LONGEST_TEXT = 1000  # characters kept of any text of a trace
_JOINERS = "\u200c\u200d"  # legitimate in Persian, Indic scripts and emoji
_SPACES = "\n\r\t\u2028\u2029"
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})


def visible(text: str, *, longest: int = LONGEST_TEXT) -> str:
    """The text as one line with control, bidirectional and surrogate characters spelled out.

    Characters beyond `longest` are dropped and counted at the end.
    """
    kept = text[:longest]
    if not (kept.isascii() and kept.isprintable()):
        kept = "".join(_visible_character(c) for c in kept)
    if len(text) > longest:
        kept += f"… ({len(text):,} characters)"
    return kept


def _visible_character(character: str) -> str:
    if character in _SPACES:
        return " "
    if character in _JOINERS or unicodedata.category(character) not in _INVISIBLE:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def visible_document(value: Any) -> Any:
    """The same document with every text, also those used as keys, made visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(str(key)): visible_document(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [item if type(item) in (int, float) else visible_document(item) for item in value]
    return value


def stopped(text: str) -> str:
    """The text with one full stop at its end."""
    return f"{text.rstrip(' .')}." if text.strip(" .") else text


def sentence(text: str) -> str:
    """The text as a sentence: a capital in front, a full stop at its end."""
    return stopped(text[:1].upper() + text[1:])


def shortened(text: str, longest: int) -> str:
    """The text with its middle left out when it is longer than `longest` characters."""
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"
