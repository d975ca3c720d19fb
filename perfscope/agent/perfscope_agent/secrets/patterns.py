"""Patterns that are compiled when a text may match them, and what tells that quickly.

All of them take 11 ms to compile, and importing `re` some more, where a program is started in 20.
So a pattern is asked for only behind a look for something that each of its matches has.
"""

from __future__ import annotations

from .. import own_threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Callable, Dict

    _Compiled = Dict[str, "re.Pattern[str]"]
    _Characters = Dict[int, int]
else:
    _Compiled = _Characters = dict

_MOST_CHARACTERS = 4096  # of all that texts hold, that are known to be part of a word or not


class UnreadableError(Exception):
    """The calling thread may not import `re`, and a text has to be matched with a pattern."""


class Patterns(_Compiled):
    """Patterns by name, each compiled when it is asked for the first time."""

    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__()
        self._texts = texts

    def __missing__(self, name: str) -> re.Pattern[str]:
        if not own_threads.may_use("re"):
            raise UnreadableError
        import re

        found = self[name] = re.compile(self._texts[name])
        return found


class _Blanks(_Characters):
    """What `str.translate` puts in the place of a character: a blank for all but some."""

    def __init__(self, is_kept: Callable[[str], bool]) -> None:
        super().__init__()
        self._is_kept = is_kept

    def __missing__(self, code: int) -> int:
        found = code if self._is_kept(chr(code)) else 32
        if len(self) < _MOST_CHARACTERS:
            self[code] = found
        return found


_blanks = _Blanks(str.isalnum)
_between_tokens = _Blanks(lambda c: c.isalnum() or c in "_-.")
_between_keys = _Blanks(lambda c: c.isascii() and (c.isalnum() or c in "+/_-"))


def parts(text: str) -> list[str]:
    """The runs of letters and digits of a text."""
    return text.translate(_blanks).split()


def may_hold(text: str, *literals: str) -> bool:
    """Whether one of some literals, in small letters, may stand in a text, in whatever case.

    `re` takes a few other letters for those of ASCII: a text that has any is looked at.
    """
    return not text.isascii() or any(map(text.lower().__contains__, literals))


def has_run(text: str, least: int) -> bool:
    """Whether so many characters stand in a text without a blank between them."""
    return len(text) >= least and any(len(part) >= least for part in text.split())


def has_key(text: str, least: int) -> bool:
    """Whether so many characters stand in a row of which keys are made, those of base64."""
    return len(text) >= least and has_run(text.translate(_between_keys), least)


def keys(text: str, least: int) -> list[str]:
    """These rows of so many characters."""
    return [part for part in text.translate(_between_keys).split() if len(part) >= least]


def has_token(text: str, least: int) -> bool:
    """Whether so many characters stand in a row of which tokens are made; a slash ends it."""
    return len(text) >= least and has_run(text.translate(_between_tokens), least)
