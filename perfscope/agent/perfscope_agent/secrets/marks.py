"""Pieces of text, in small letters, beside which a secret may stand: a quick look."""

from __future__ import annotations

from .tokens import BEGINNINGS

_MARKS = (
    *{text.lower() for text, _ in BEGINNINGS},
    *"-----begin eyj akia asia abia acca aroa aida a3t $2 $5$ $6$ $argon $y$ hooks.slack".split(),
    *"discord webhook api.telegram sha256~ .atlasv1 dt0c01 _mmk pat. sat.".split(),
    ":aa",
)


def _sign(mark: str) -> str:
    """A character of a mark that hardly any name has, else its first one."""
    return next((letter for letter in mark if not letter.isalpha()), mark[0])


_MARKS_BY_SIGN = {
    sign: [mark for mark in _MARKS if _sign(mark) == sign] for sign in set(map(_sign, _MARKS))
}


def has_one(lower: str) -> bool:
    """Whether any of them is in a text in small letters."""
    return any(
        sign in lower and any(map(lower.__contains__, marks))
        for sign, marks in _MARKS_BY_SIGN.items()
    )
