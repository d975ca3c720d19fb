"""Edits in words: what `perfscope whatif --edit` understands."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perfscope.metrics.ledger import COMMUNICATION_ACCOUNTS, Account
from perfscope.replay.model import Edit, Level

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FORMS = (
    "remove:WHAT[@RANKS]",
    "scale:WHAT:FACTOR[@RANKS]",
    "every:K:WHAT[@RANKS]",
    "background:WHAT[@RANKS]",
    "share:WHAT",
    "balance[:WHAT]",
    "straggler@RANKS",
    "network:FACTOR",
    "never-starved[@RANKS]",
)
EVERYWHERE = ("share", "balance", "network")
MOST_TIMES = 10**9

_NO_WORK = (*COMMUNICATION_ACCOUNTS, Account.START_UP, Account.SHUTDOWN)
WORK = {account.value: account for account in Account if account not in _NO_WORK}


@dataclass(frozen=True)
class NamedEdit:
    """An edit and how people read it."""

    text: str  # as it was written
    sentence: str
    edit: Edit


def parse_edit(text: str, *, ranks: Sequence[int], phases: Sequence[str]) -> NamedEdit:
    """The edit that a text names.

    Args:
        text: one of `FORMS`.
        ranks: numbers of the ranks of the run.
        phases: ids of its phases.

    Raises:
        ValueError: the text is no edit, or names what is not in the run; says what is wrong.
    """
    body, at, where = text.partition("@")
    verb, *words = body.split(":")
    if verb not in _VERBS:
        raise ValueError(f"there is no edit {verb!r}")
    counts, make = _VERBS[verb]
    if len(words) not in counts:
        raise ValueError(f"{verb} is written as {_form(verb)}")
    if at and verb in EVERYWHERE:
        raise ValueError(f"{verb} takes no ranks: {_form(verb)}")
    if not at and verb == "straggler":
        raise ValueError(f"straggler needs its ranks: {_form(verb)}")
    edit, sentence = make(words, phases)
    if at:
        chosen = _ranks(where, ranks)
        edit = replace(edit, ranks=chosen)
        sentence += f" on {'rank' if len(chosen) == 1 else 'ranks'} {where}"
    return NamedEdit(text, sentence, edit)


def _form(verb: str) -> str:
    return next(form for form in FORMS if re.match(rf"{verb}\b", form))


def _on(word: str, phases: Sequence[str]) -> Edit:
    """The edit that removes work of an account of the ledger, or else of a phase of the run."""
    if word in WORK:
        return Edit(WORK[word])
    for name in (word, f"user:{word}"):
        if name in phases:
            return Edit(phase=name)
    known = [*WORK, *(name for name in phases if name not in WORK)]
    raise ValueError(f"{word!r} is no kind of work of this run; there are {', '.join(known)}")


def _remove(words: Sequence[str], phases: Sequence[str]) -> tuple[Edit, str]:
    return _on(words[0], phases), f"{words[0]} removed"


def _scale(words: Sequence[str], phases: Sequence[str]) -> tuple[Edit, str]:
    factor = _number(words[1])
    if factor < 0 or not math.isfinite(factor):
        raise ValueError(f"work cannot be scaled by {words[1]}")
    edit = replace(_on(words[0], phases), factor=factor)
    return edit, f"{words[0]} takes {factor:g} times as long"


def _every(words: Sequence[str], phases: Sequence[str]) -> tuple[Edit, str]:
    if not re.fullmatch(r"[0-9]{1,10}", words[0]) or not 1 <= int(words[0]) <= MOST_TIMES:
        raise ValueError(f"{words[0]!r} is not how often: every:10:evaluation keeps each tenth")
    every = int(words[0])
    edit = replace(_on(words[1], phases), keep_every=every)
    return edit, f"only one {words[1]} of {every}"


def _background(words: Sequence[str], phases: Sequence[str]) -> tuple[Edit, str]:
    return replace(_on(words[0], phases), background=True), f"{words[0]} beside the training"


def _share(words: Sequence[str], phases: Sequence[str]) -> tuple[Edit, str]:
    edit = replace(_on(words[0], phases), level=Level.SHARED)
    return edit, f"{words[0]} dealt out to all ranks"


def _balance(words: Sequence[str], phases: Sequence[str]) -> tuple[Edit, str]:
    if not words:
        return Edit(level=Level.EVEN), "equally much work on all ranks"
    edit = replace(_on(words[0], phases), level=Level.EVEN)
    return edit, f"equally much {words[0]} on all ranks"


def _straggler(_words: Sequence[str], _phases: Sequence[str]) -> tuple[Edit, str]:
    return Edit(level=Level.AS_OTHERS), "work as fast as that of the others"


def _network(words: Sequence[str], _phases: Sequence[str]) -> tuple[Edit, str]:
    factor = _number(words[0])
    if not factor > 0:
        raise ValueError(f"a network cannot be {words[0]} times as fast")
    how = "that takes no time" if math.isinf(factor) else f"{factor:g} times as fast"
    return Edit(factor=1.0, network=factor), f"a network {how}"


def _never_starved(_words: Sequence[str], _phases: Sequence[str]) -> tuple[Edit, str]:
    return Edit(Account.INPUT_WAIT), "no waiting for input"


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise ValueError(f"{text!r} is not a number")
    return value


def _ranks(text: str, known: Sequence[int]) -> tuple[int, ...]:
    """The ranks that `0,2,4-7` names."""
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", part)
        if match is None:
            raise ValueError(f"{text!r} names no ranks; write them as 0,2,4-7")
        first, last = int(match[1]), int(match[2] or match[1])
        inside = {rank for rank in known if first <= rank <= last}
        if not inside:
            raise ValueError(f"the run has no rank {part}")
        found |= inside
    return tuple(sorted(found))


_VERBS: dict[str, tuple[tuple[int, ...], Callable[..., tuple[Edit, str]]]] = {
    "remove": ((1,), _remove),
    "scale": ((2,), _scale),
    "every": ((2,), _every),
    "background": ((1,), _background),
    "share": ((1,), _share),
    "balance": ((0, 1), _balance),
    "straggler": ((0,), _straggler),
    "network": ((1,), _network),
    "never-starved": ((0,), _never_starved),
}
"""How many words each takes, and what makes the edit of them."""
