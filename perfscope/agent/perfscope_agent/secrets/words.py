"""Words that everybody uses, told by where they stand: in the text of the agent itself.

Where a plain word may be a secret, in `-w X` or `the password for it is X`, nothing but the word
can tell. What people write about programs they write with few words, and these stand in the agent's
own code and comments: `build`, `state`, `refused`. Who has such a word for a password has one that
is guessed at once, whatever a recording holds.
"""

from __future__ import annotations

import os

from ..files import AGENT
from .patterns import parts

_MOST_PARTS = 3
_LEAST_LETTERS = 3

_words = set()  # type: set[str]


def is_common(text: str) -> bool:
    """Whether a text has no other words than common ones, and few: `mean`, `image,label`."""
    found = parts(text)
    if len(found) > 1 and all(len(part) < _LEAST_LETTERS for part in found):
        return False  # `7!x@9`
    return 0 < len(found) <= _MOST_PARTS and all(map(_is_known, found))


def are_common(text: str) -> bool:
    """Whether all words of a text are common ones, or numbers."""
    return all(part.isdigit() or _is_known(part) for part in parts(text))


def _is_known(part: str) -> bool:
    if len(part) < _LEAST_LETTERS:
        return part.isdigit() or part.isalpha()  # not `Q7`
    return part.lower() in (_words or _read())


def _read() -> set[str]:
    """The words of the agent's sources; none, so that nothing is common, where there are none."""
    _words.add("")
    try:
        for directory, _, files in os.walk(AGENT):
            for name in files:
                if name.endswith(".py"):
                    with open(os.path.join(directory, name), "rb") as stream:
                        found = set(parts(stream.read().decode("utf-8", "replace")))
                    _words.update(word.lower() for word in found if word.isalpha())
    except OSError:
        pass
    return _words
