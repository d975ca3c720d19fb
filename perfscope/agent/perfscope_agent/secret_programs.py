"""What a program itself says of the values that its options may have.

`--value X` tells nothing of X. But a word that the program has in its text, as one of several that
it can be given (`choices=["relu", "gelu"]`, `if kind == "relu"`), is no secret of who starts it.
"""

from __future__ import annotations

import os

from .kinds import Callable, Sequence
from .redact import redact_arguments

_ENDING = ".py"
_MOST_PROGRAMS = 4
_MOST_BYTES = 1 << 20


def redact_command(arguments: Sequence[str]) -> list[str]:
    """A command line as it may be written, of a command that is started here.

    Its words are names of files, and these are opened.
    """
    return redact_arguments(arguments, is_choice=_choices(arguments))


def _choices(arguments: Sequence[str]) -> Callable[[str], bool]:
    """Whether a word stands in quotes in a program of this command, which is read when asked."""
    texts = []  # type: list[str]

    def is_choice(word: str) -> bool:
        if not texts:
            programs = [one for one in arguments if one.endswith(_ENDING)]
            texts.append("\n".join(map(_text, programs[:_MOST_PROGRAMS])))
        return any(quote + word + quote in texts[0] for quote in "\"'")

    return is_choice


def _text(path: str) -> str:
    try:
        # not a pipe, which would wait for somebody who writes
        if not os.path.isfile(path):
            return ""
        with open(path, "rb") as stream:
            return stream.read(_MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
