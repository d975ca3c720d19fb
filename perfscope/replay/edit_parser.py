"""Edits in words: what `perfscope whatif --edit` understands."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from perfscope.replay.model import Edit, Level
from perfscope.schema.enums import COMMUNICATION_ACCOUNTS, Account
from perfscope.structures import dataclass
from perfscope.units import format_bytes, format_share

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
    "producers:N[@RANKS]",
    "kept-workers[@RANKS]",
    "bytes:FACTOR[@OPERATION]",
    "fuse:BYTES",
    "overlap[:SHARE]",
)
EVERYWHERE = ("share", "balance", "network", "fuse", "overlap")
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

    The text is one of `FORMS`.

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
    if verb == "bytes":
        sentence, edit = _bytes_of(edit, sentence, where if at else None)
        return NamedEdit(text, sentence, edit)
    if verb == "producers":
        edit = replace(edit, ranks=tuple(ranks))
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
    if not 0 <= factor <= MOST_TIMES:
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
    if not factor >= 1 / MOST_TIMES:
        raise ValueError(f"a network cannot be {words[0]} times as fast")
    how = "that takes no time" if math.isinf(factor) else f"{factor:g} times as fast"
    return Edit(factor=1.0, network=factor), f"a network {how}"


def _never_starved(_words: Sequence[str], _phases: Sequence[str]) -> tuple[Edit, str]:
    return Edit(Account.INPUT_WAIT), "no waiting for input"


def _kept_workers(_words: Sequence[str], _phases: Sequence[str]) -> tuple[Edit, str]:
    return Edit(keeps_workers=True), "workers of loaders that stay from epoch to epoch"


def _bytes(words: Sequence[str], _phases: Sequence[str]) -> tuple[Edit, str]:
    factor = _number(words[0])
    if not 0 < factor <= MOST_TIMES:
        raise ValueError(f"no collective can carry {words[0]} times the bytes")
    return Edit(factor=1.0, bytes=factor), f"{factor:g} times the bytes"


def _bytes_of(edit: Edit, sentence: str, operation: str | None) -> tuple[str, Edit]:
    """The edit of the bytes of one operation, or of all collectives."""
    if operation is None:
        return f"{sentence} in all collectives", edit
    name = operation.lower().removeprefix("mpi_")
    if not re.fullmatch(r"[a-z_]{1,40}", name):
        raise ValueError(f"{operation!r} is no operation; write one as allreduce")
    return f"{sentence} in each {name}", replace(edit, operation=name)


def _fuse(words: Sequence[str], _phases: Sequence[str]) -> tuple[Edit, str]:
    match = re.fullmatch(r"([0-9]{1,15})([kmg]?)(?:i?b)?", words[0].lower())
    if match is None or not int(match[1]):
        raise ValueError(f"{words[0]!r} is no number of bytes; write it as 1048576 or 64M")
    count = int(match[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[match[2]]
    sentence = f"allreduces in quick succession fused up to {format_bytes(count)}"
    return Edit(factor=1.0, fuse_bytes=count), sentence


def _overlap(words: Sequence[str], _phases: Sequence[str]) -> tuple[Edit, str]:
    share = _number(words[0]) if words else 1.0
    if not 0 < share <= 1:
        raise ValueError(f"no more than all of a transfer can be hidden: {words[0]} is no share")
    part = "allreduces" if share == 1 else f"{format_share(share)} of each allreduce"
    return Edit(factor=1.0, overlap=share), f"{part} hidden behind the backward pass"


def _producers(words: Sequence[str], _phases: Sequence[str]) -> tuple[Edit, str]:
    if not re.fullmatch(r"[0-9]{1,4}", words[0]) or not int(words[0]):
        raise ValueError(f"{words[0]!r} is no number of producers")
    count = int(words[0])
    sentence = f"{count} producer{'s' if count > 1 else ''} of input"
    return Edit(factor=1.0, producers=count), sentence


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
    "producers": ((1,), _producers),
    "kept-workers": ((0,), _kept_workers),
    "bytes": ((1,), _bytes),
    "fuse": ((1,), _fuse),
    "overlap": ((0, 1), _overlap),
}
"""How many words each takes, and what makes the edit of them."""
