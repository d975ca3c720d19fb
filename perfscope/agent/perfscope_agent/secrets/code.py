"""Secrets in programs of one line: `python -c "connect('me', 'X')"`, `perl -e ...`.

What stands in quotes there may be anything, and nobody who looks at a recording needs it. So of
such texts those stay that cannot be secrets: common words, numbers, places, sentences.
"""

from __future__ import annotations

from . import names as secret_names
from .patterns import Patterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Sequence

REDACTED = "[redacted]"
_INTERPRETERS = ("python", "pypy", "perl", "ruby", "julia", "Rscript", "node", "java")
_WITH_VALUE = ("-W", "-X", "-I")
_patterns = Patterns(
    {
        "text": (
            r"(?s)(?P<quote>\"\"\"|'''|\\{0,16}[\"'])"
            r"(?P<text>(?:\\.|(?!(?P=quote))[^\\])*?)(?P=quote)"
        )
    }
)


def interprets(word: str) -> bool:
    """Whether a word of a command is a program that runs texts of another language."""
    return word.rpartition("/")[2].startswith(_INTERPRETERS)


def place_of(words: Sequence[str]) -> int | None:
    """Where among the words of a command the program of one line stands; None where none does."""
    start = next((place for place, word in enumerate(words) if interprets(word)), len(words))
    for place in range(start + 1, len(words) - 1):
        word = words[place]
        if word.startswith("-") and word[1:].isalpha() and word[-1] in "ce":
            return place + 1
        if not word.startswith("-") and words[place - 1] not in _WITH_VALUE:
            return None
    return None


def without_texts(code: str) -> str:
    """The program without what may be a secret of what it has in quotes."""
    if '"' not in code and "'" not in code:
        return code  # as mostly, and without `re`

    def judged(found: re.Match[str]) -> str:
        quote, text = found.group("quote"), found.group("text")
        return found.group() if secret_names.is_harmless(text) else quote + REDACTED + quote

    return _patterns["text"].sub(judged, code)
