"""Whether a `-p` in a command is a password: the words beside it tell, its value seldom does.

`-p` is a port, a partition, a preset as often as a password, and `resnet50` is written like
`monkey77`. What tells is that somebody logs in: a user stands beside it, or a verb or a program
that is about nothing else.
"""

from __future__ import annotations

from ..kinds import Sequence
from . import names as secret_names

DATABASES = ("mysql", "mariadb")
"""Clients that take a password with `-p` alone."""

NOTHING, USER, LOGIN = 0, 1, 2
"""What speaks for a password: nothing; somebody's name; a login, whatever the value looks like."""


def has_letter_options(text: str) -> bool:
    """Whether one of `-p`, `-P`, `-u` and `-U` begins a word of a text."""
    for letter in "pPuU":
        place = text.find("-" + letter)
        while place >= 0:
            before = text[place - 1 : place] if place else " "
            if not before.isalnum() and before not in "_-":
                return True
            place = text.find("-" + letter, place + 1)
    return False


def evidence(words: Sequence[str]) -> int:
    """What the words of a command say about its `-p`."""
    if not any(word.startswith("-p") for word in words):
        return NOTHING
    if any(_program(word).startswith(DATABASES) for word in words):
        return LOGIN
    found = NOTHING
    for place, word in enumerate(words):
        if word.startswith("-p") and not is_an_option(word):
            if found and _names_a_user(words[max(place - 2, 0) : place]):
                return LOGIN
        elif _is_verb(words, place):
            return LOGIN
        elif secret_names.kind_of(_program(word)) == secret_names.SECRET:
            following = words[place + 1 : place + 2]
            if following and following[0].startswith("-p"):
                return LOGIN
        if _names_a_user(words[place : place + 3]):
            found = USER
    return found


def is_an_option(word: str) -> bool:
    """Whether a word that begins with `-p` is an option of several letters: `-port`, `-pernode`."""
    name = word[1:].replace("-", "")
    return len(name) > 3 and name.isalpha() and name.islower()


def _is_verb(words: Sequence[str], place: int) -> bool:
    """Whether a `login` is what a program shall do, and no value of an option."""
    before = words[place - 1] if place else ""
    return words[place] == "login" and not before.startswith("-")


def _is_mapping(value: str) -> bool:
    """Whether it maps ports: `127.0.0.1:8080:80/tcp`, `eth0:8080`."""
    where, _, port = value.partition("/")[0].rpartition(":")
    return bool(where) and port.isdigit()


def is_password(value: str, found: int) -> bool:
    """Whether the value of a `-p` must not be written, in a command with this evidence."""
    if secret_names.is_trivial(value) or secret_names.is_number(value) or _is_mapping(value):
        return False
    if found == LOGIN:
        return not secret_names.is_place(value)
    if found == USER:
        return secret_names.looks_like_a_password(value)
    return secret_names.looks_like_a_password(value) and is_no_name(value)


def _program(word: str) -> str:
    return "" if word.startswith("-") else word.rsplit("/", 1)[-1]


def _names_a_user(words: Sequence[str]) -> bool:
    """Whether an option for a user or, as clients of databases have it, a host begins here."""
    option, equals, _ = words[0].partition("=") if words else ("", "", "")
    if option.startswith("--"):
        is_user = secret_names.words_of(option)[-1:] in (["user"], ["username"], ["login"])
        return is_user and bool(equals or (words[1:] and not words[1].startswith("-")))
    if option[:2] not in ("-u", "-U", "-h"):
        return False
    if len(option) > 2:
        return option[:2] == "-u" and option[2:].isalnum() and not option[2:].isdigit()
    name, behind = [*words[1:3], "", ""][:2]
    if not name or name.startswith(("-", "python")) or secret_names.is_number(name):
        return False  # a switch: `python -u`, `srun -u python train.py`
    is_program = secret_names.is_place(name) or secret_names.is_place(behind)
    return "/" not in name and not is_program


def is_no_name(value: str) -> bool:
    """Whether letters, digits and signs change places as in no name of a model or a data set."""
    if any(c in "!@#$%^&*?~" for c in value):
        return True
    mixed = value.lower() != value and any(c.isdigit() for c in value)
    kinds = [c.isdigit() for c in value]
    changes = sum(a != b for a, b in zip(kinds, kinds[1:]))
    return mixed and len(value) > 7 and "-" not in value and "_" not in value and changes > 3
