"""Secrets in what programs print of lists: `['mysql', '--password', 'X']`, `tokens=['X', 'Y']`.

Python's own message on a command that failed is such a list.
"""

from __future__ import annotations

from . import names as secret_names
from .patterns import Patterns, may_hold

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Callable, Sequence

    Redactor = Callable[[Sequence[str]], "list[str]"]

REDACTED = "[redacted]"
_QUOTED = (
    r"[bBuUrRfF]{0,2}(?:([\"'])((?:\\.|(?!\1)[^\\]){0,4000})\1"
    r"|(\\+[\"'])((?:(?!\3).){0,4000}?)\3)"
)
_patterns = Patterns(
    {
        "item": "(?s)" + _QUOTED,
        "opening": r"[\[(]\s*",
        "command": (
            r"(?i)\b(?:command|cmd|argv|args|popen|run|call|check_call|check_output|spawn\w*|exec\w*)"
            r"[^\w,;]{0,12}$"
        ),
        "between": r"\s*,\s*",
        "entry": (
            r"(?i)(\b(?:name|key)\\*[\"']?\s*[:=]\s*\\*[\"']?)([\w.-]{1,80})(\\*[\"']?[\s,;]*\\*[\"']?"
            r"value\\*[\"']?\s*[:=]\s*\\*[\"']?)([^\s\"'\\,;{}]+)"
        ),
    }
)
_OPENINGS = ("['", '["', "('", '("', "[b'", "(b'")


def has_options(text: str) -> bool:
    """Whether the quoted words of a command may stand in the text."""
    if "'-" in text or '"-' in text:
        return True
    return any(mark in text for mark in _OPENINGS) and ("'," in text or '",' in text)


def without_listed(text: str, redacted_words: Redactor) -> str:
    """The text without secrets in lists of the words of a command."""
    if not has_options(text):
        return text
    kept, place = [], 0
    for group in _lists(text):
        words = [text[start:end] for start, end in group]
        before = text[max(group[0][0] - 40, 0) : group[0][0]]
        is_command = any(word.startswith("-") for word in words)
        if not is_command and not _patterns["command"].search(before):
            continue
        for (start, end), word, safe in zip(group, words, redacted_words(words)):
            if safe != word:
                kept.append(text[place:start] + safe)
                place = end
    return "".join(kept) + text[place:]


def _lists(text: str) -> list[list[tuple[int, int]]]:
    """Where the quoted words of lists begin and end."""
    lists, place = [], 0
    opening = _patterns["opening"].search(text)
    while opening is not None:
        group, place = [], opening.end()
        item = _patterns["item"].match(text, place)
        while item is not None:
            group.append(item.span(item.lastindex or 0))
            comma = _patterns["between"].match(text, item.end())
            place = item.end()
            item = _patterns["item"].match(text, comma.end()) if comma else None
        if len(group) > 1:
            lists.append(group)
        else:
            place = opening.end()  # in a list of one there may be another
        opening = _patterns["opening"].search(text, place)
    return lists


def without_entries(text: str) -> str:
    """The text without values in pairs such as `{"name": "DB_PASSWORD", "value": "X"}`."""
    if not may_hold(text, "value"):
        return text

    def paired(found: re.Match[str]) -> str:
        name, value = found.group(2, 4)
        is_syntax = not any(c.isalnum() for c in value)
        hides = not is_syntax and secret_names.hides(name, value)
        return "".join(found.groups()[:3]) + (REDACTED if hides else value)

    return _patterns["entry"].sub(paired, text)
