"""Secrets in commands of installed tools: `redis-cli -a X`, `vault write p value=X`, `passwd me X`.

What an option of one letter holds only its program knows. A program of the user's own - a script, a
file beside it, what a launcher starts - is told presets, optimizers and partitions in this way; a
tool that is found by its name alone is told passwords as well, and nobody who looks at a recording
needs what it was told. So of a tool's command only what cannot be a password is kept: numbers,
places, what stands behind letters that by convention mean a file, a number or a format, and words;
and of these none that mixes letters with digits or signs as passwords do.
"""

from __future__ import annotations

from . import code as secret_code
from . import names as secret_names
from . import prose as secret_prose
from . import words as secret_words
from .patterns import Patterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Sequence

REDACTED = "[redacted]"
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh")
_STARTS = ("run", "exec", "launch", "deepspeed")  # as mpirun, srun and mpiexec end
_SCRIPTS = (".py", ".pyc", ".pyz", ".sh", ".jl", ".R", ".r", ".pl", ".rb", ".js", ".lua", ".jar")
_OF_PEOPLE = "uUhH"  # a user, a host; a password behind its `:` is another rule's
_CONVENTIONAL = "bdefgijlmnoqrvyz"  # a directory, a file, a number, a format; never a password
_STORES = frozenset("set put write add create store login auth authenticate user".split())
_PRINTS = ("echo", "printf")
_LABELS = ("command", "cmd", "run", "running", "exec", "executing", "executed", "$", "+")

_patterns = Patterns(
    {
        "word": r"(?<![^\s=;|&(])(?:\"[^\"\n]*\"|'[^'\n]*')|[;|&()\n]+|[^\s;|&()\"'\n]+|[\"']",
        "part": r"(\s+)",
        # quotes may stand inside of the quotes; so far that no text makes the search long
        "command": (
            r"(?s)\bCommand (\"[^\"]*\"|'[^']*'|\".{0,2000}?\"|'.{0,2000}?')"
            r"(?= (?:returned|died|timed))"
        ),
    }
)


def may_hold_commands(text: str) -> bool:
    """Whether a command with options of one letter may stand in the text; a quick look."""
    place = text.find("-")
    while place >= 0:
        is_start = place == 0 or text[place - 1] in " \t\n'\""
        if is_start and text[place + 1 : place + 2].isalpha():
            return True
        place = text.find("-", place + 1)
    return tells_of_commands(text) or _feeds(text) or "login " in text


def _feeds(text: str) -> bool:
    """Whether a command may be given something on its standard input."""
    return "<<<" in text or ("|" in text and any(word in text for word in _PRINTS))


def tells_of_commands(text: str) -> bool:
    """Whether a sentence says that a command follows: `command failed: vault write p value=X`."""
    lower = text.lower()
    return any(label in lower for label in ("command", "cmd", "running", "execut"))


def without_told(words: Sequence[str], *, is_command: bool = True) -> list[str]:
    """The words of one command without what a tool may have been told as a secret.

    Args:
        words: the program and its arguments.
        is_command: they surely are one; a sentence has no options, but it has words.
    """
    result = list(words)
    start = _program_at(words)
    if start is None:
        return _without_own(result)
    if _logs_in(words[start:]):
        result[start + 2] = REDACTED
    hides_words = is_command and _stores(words[start])
    for place in range(start + 1, len(words)):
        word, before = words[place], words[place - 1]
        if word.startswith("-"):
            result[place] = _option(word, words) if is_command else word
        elif len(before) == 2 and before[0] == "-" and before[1].isalpha():
            result[place] = _behind_letter(before[1], word)
        elif is_command and not before.startswith("--"):
            result[place] = _shown(word, hides_words)
            hides_words = hides_words or _stores(word)
        if is_command and result[place] == word:
            result[place] = _unlike_a_password(word)
    return result


def _without_own(words: list[str]) -> list[str]:
    """The words of a command of the user's own: a script for a shell has no presets behind `-w`."""
    code = secret_code.place_of(words)
    if code is not None:
        words[code] = secret_code.without_texts(words[code])
    own = next((place for place, word in enumerate(words) if word.endswith(".sh")), len(words))
    for place in range(own + 2, len(words)):
        if words[place - 1] == "-w" and not secret_names.is_harmless(words[place]):
            words[place] = REDACTED
    return words


def _logs_in(words: Sequence[str]) -> bool:
    """Whether it is `wandb login X` and no sentence about a login."""
    if len(words) < 3 or words[1] != "login" or not words[0].islower():
        return False
    is_last = len(words) == 3 or words[3].startswith("-")
    is_word = not words[2].startswith("-") and not secret_names.is_harmless(words[2])
    return is_last and is_word and not any(map(secret_prose.describes, (words[0], words[2])))


def _program_at(words: Sequence[str]) -> int | None:
    """Where the name of a tool stands; None for a program of the user's own."""
    start = 0
    while start < len(words) and "=" in words[start] and words[start][:1].isalpha():
        start += 1  # variables of its environment
    if start >= len(words):
        return None
    program = words[start]
    directory, _, name = program.rpartition("/")
    if not name[:1].isalnum() or (
        directory and directory.rpartition("/")[2] not in ("bin", "sbin")
    ):
        return None
    if name in _SHELLS or name.endswith((*_STARTS, *_SCRIPTS)):
        return None
    if any(_is_own(word) for word in words[start:]) or _wraps(words[start + 1 :]):
        return None
    return start


def _is_own(word: str) -> bool:
    return secret_code.interprets(word) or word.endswith(_SCRIPTS)


def _wraps(words: Sequence[str]) -> bool:
    """Whether only switches and numbers stand in front of a program: `nice -n 5 ./train`."""
    for word in words:
        if word.startswith(("./", "../")):
            return True
        if not (word.startswith("-") or secret_names.is_number(word) or "=" in word):
            return False
    return False


def _unlike_a_password(word: str) -> str:
    """The word without what looks like a password: all of it, each part of a text, or a value."""
    if any(c.isspace() for c in word):
        parts = _patterns["part"].split(word)
        return "".join(_unlike_a_password(part) if part.strip() else part for part in parts)
    name, equals, value = word.partition("=")
    if equals and _is_variable(name.lstrip("-")):
        return name + equals + REDACTED if secret_names.looks_like_a_password(value) else word
    if not any(map(secret_names.looks_like_a_password, (word.lstrip("-"), name, value))):
        return word
    return word[:2] + REDACTED if word.startswith("-") else REDACTED


def _is_variable(name: str) -> bool:
    return name.replace("_", "").replace("-", "").replace(".", "").isalnum()


def _stores(word: str) -> bool:
    """Whether what follows is stored or lets somebody in: `put`, `passwd`, `add_user`."""
    words = secret_names.words_of(word.rpartition("/")[2])
    is_secret = secret_names.kind_of(words[-1]) == secret_names.SECRET if words else False
    return is_secret or bool(_STORES.intersection(words[-1:]))


def _behind_letter(letter: str, value: str) -> str:
    if letter in _OF_PEOPLE:
        user, comma, password = value.partition(",")
        return user + comma + REDACTED if comma and password and letter == "u" else value
    if letter in _CONVENTIONAL and "=" not in value:
        return value
    name, equals, inner = value.partition("=")
    if equals:
        return value if secret_names.is_harmless(inner) else name + equals + REDACTED
    mapping = value.replace("/tcp", "").replace("/udp", "").rpartition(":")
    is_mapping = bool(mapping[0]) and mapping[2].isdigit()
    return value if secret_names.is_harmless(value) or is_mapping else REDACTED


def _option(word: str, words: Sequence[str]) -> str:
    """An option that may hold its value itself: `-pX`, `-wX`, `--from-literal=name=X`."""
    name, equals, value = word.partition("=")
    if word.startswith("--") or equals:
        inner = value.partition("=")
        is_told = bool(inner[1]) and not secret_names.is_harmless(inner[2])
        return name + equals + inner[0] + "=" + REDACTED if is_told else word
    letter = word[1:2]
    if not letter.isalpha() or letter in _CONVENTIONAL + _OF_PEOPLE:
        return word
    if len(word) < 6 or secret_names.is_harmless(word[2:]):
        return word
    if secret_words.is_common(word[1:]):
        return word  # `-preset`
    others = (w for w in words if w != word and len(w) > 4 and w[0] == "-" and w[1:].isalpha())
    if any(others) or secret_names.kind_of(word) != secret_names.PLAIN:
        return word
    return word if any(c in ",:/" for c in word) else word[:2] + REDACTED


def _shown(word: str, hides_words: bool) -> str:
    """An argument that is no option: `value=X`, `/p:X`, or a word behind one that stores it."""
    name, equals, value = word.partition("=")
    if equals:
        is_told = (
            _is_variable(name) and not value.startswith("=") and not secret_names.is_harmless(value)
        )
        return name + equals + REDACTED if is_told else word
    letter, colon, told = word[1:].partition(":")
    if word.startswith("/") and colon and letter.isalpha() and "/" not in told:
        is_told = letter == "p" or secret_names.kind_of(letter) == secret_names.SECRET
        return word[: len(letter) + 2] + REDACTED if is_told else word
    if not hides_words or _stores(word) or secret_names.is_harmless(word) or "/" in word:
        return word
    is_name = len(secret_names.words_of(word)) > 1 and secret_names.kind_of(word) != ""
    return word if is_name or "." in word else REDACTED


def without_commands(text: str, *, is_script: bool = False) -> str:
    """The text without what tools are told in the commands that stand in it.

    Args:
        text: what a program printed, or a script for a shell.
        is_script: it is such a script, whose words are programs and arguments.
    """
    if not is_script and "Command " in text:  # what Python says of a command given to a shell
        text = _patterns["command"].sub(_of_shell, text)
    is_command = is_script or tells_of_commands(text) or _feeds(text) or "login " in text
    if not is_command and not _has_short_option(text):
        return text
    kept, place, begin, is_command = [], 0, 0, is_script
    found = list(_patterns["word"].finditer(text))
    for number in range(len(found) + 1):
        mark = found[number].group() if number < len(found) else ";"
        is_label = not is_script and (mark.endswith(":") or mark in _LABELS[-2:])
        if not is_label and mark[0] not in ";|&()\n":
            continue
        group, begin = found[begin:number], number + 1
        words = [one.group() for one in group]
        reader = found[begin].group() if mark == "|" and begin < len(found) else ""
        for one, safe in zip(group, _segment(words, is_command, reader=reader)):
            if safe != one.group():
                kept.append(text[place : one.start()] + safe)
                place = one.end()
        if is_label:
            is_command = any(word.rstrip(":").lower() in _LABELS for word in [*words[-3:], mark])
    return "".join(kept) + text[place:]


def _has_short_option(text: str) -> bool:
    """Whether a word begins with a hyphen and a letter behind it."""
    words = text.replace('"', " ").replace("'", " ").split() if "-" in text else []
    return any(word[0] == "-" and word[1:2].isascii() and word[1:2].isalpha() for word in words)


def _of_shell(found: re.Match[str]) -> str:
    """The sentence on a command with the command's secrets taken out."""
    words = found.group(1)
    inner = without_commands(words[1:-1], is_script=True)
    return found.group()[: -len(words)] + words[0] + inner + words[-1]


def _segment(tokens: list[str], is_script: bool, *, reader: str) -> list[str]:
    """The words of one command of a script or a text, with their quotes.

    What is printed for another one, the `reader`, is open if that is no tool and the words common.
    """
    marks = [token[0] if token[0] in "\"'" and len(token) > 1 else "" for token in tokens]
    bare = [token[1:-1] if mark else token for token, mark in zip(tokens, marks)]
    safe = without_told(bare, is_command=is_script)
    printed = next((n for n, word in enumerate(bare) if word in _PRINTS), len(bare))
    for place, word in enumerate(bare):
        is_fed = bool(reader) and place > printed and not word.startswith("-")
        is_here = place > 0 and bare[place - 1] == "<<<" and not marks[place - 1]
        is_open = secret_names.is_trivial(word) or secret_words.are_common(word)
        is_to_tool = _program_at([reader if is_fed else bare[0]]) is not None
        if (is_fed or is_here) and (is_to_tool or not is_open):
            safe[place] = REDACTED
    return [
        mark
        + (without_commands(word, is_script=is_script) if mark and shown == word else shown)
        + mark
        for mark, word, shown in zip(marks, bare, safe)
    ]
