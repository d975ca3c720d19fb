"""What a program itself says of the values that its options may have.

`--value X` tells nothing of X. But a word that the program has in its text, as one of several that
it can be given (`choices=["relu", "gelu"]`, `if kind == "relu"`), is no secret of who starts it.
And an option of one letter holds one where the program says so: `"-w", "--password"`.
"""

from __future__ import annotations

import os

from ..kinds import Sequence
from .redact import REDACTED, is_sensitive_name, redact_arguments

_ENDING = ".py"
_MOST_PROGRAMS = 4
_MOST_BYTES = 1 << 20


def redact_command(arguments: Sequence[str]) -> list[str]:
    """A command line as it may be written, of a command that is started here.

    Its words are names of files, and these are opened.
    """
    programs = _Programs(arguments)
    named = [programs.named(place, word) for place, word in enumerate(arguments)]
    safe = redact_arguments(named, is_choice=programs.is_choice)
    shown = []
    for word, name, one in zip(arguments, named, safe):
        if name == word:
            shown.append(one)
        else:
            shown.append(word if one == name else word[:2] + REDACTED)
    return shown


class _Programs:
    """What stands in quotes in the programs of a command, which are read when that is asked."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._places = [place for place, one in enumerate(arguments) if one.endswith(_ENDING)]
        self._files = [arguments[place] for place in self._places[:_MOST_PROGRAMS]]
        self._read = None  # type: str | None

    def is_choice(self, word: str) -> bool:
        """Whether a word stands in quotes in one of them."""
        return any(quote + word + quote in self._text() for quote in "\"'")

    def named(self, place: int, word: str) -> str:
        """An option of one letter by its long name, where a program says that it is a secret's.

        As in `add_argument("-w", "--password")`.
        """
        is_short = len(word) > 1 and word[0] == "-" and word[1].isalpha()
        if not is_short or not self._places or place < self._places[0]:
            return word
        for quote in "\"'":
            found = self._text().find(quote + word[:2] + quote)
            name = self._name_at(found) if found >= 0 else ""
            if name:
                return name + ("=" + word[2:] if word[2:] else "")
        return word

    def _name_at(self, place: int) -> str:
        """The name of a secret among the texts of the call in which a place is; "" none."""
        text = self._text()
        begin, end = text.rfind("(", 0, place), text.find(")", place)
        parts = text[begin:end].replace("'", '"').split('"')
        for before, name in zip(parts[::2], parts[1::2]):
            is_name = name.startswith("--") or before.rstrip().endswith("dest=")
            if is_name and is_sensitive_name(name.lstrip("-")):
                return "--" + name.lstrip("-")
        return ""

    def _text(self) -> str:
        if self._read is None:
            self._read = "\n".join(map(_text, self._files))
        return self._read


def _text(path: str) -> str:
    try:
        # not a pipe, which would wait for somebody who writes
        if not os.path.isfile(path):
            return ""
        with open(path, "rb") as stream:
            return stream.read(_MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
