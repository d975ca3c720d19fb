"""The one place where text leaves the process: what is printed shows every character that it has.

Names, arguments and messages of a recorded job may hold anything. Nothing else in perfscope writes
to stdout or stderr, so that no such text can steer a terminal, hide a part of itself, reorder what
stands beside it or look like a line of perfscope's own.
"""

import os
import re
import shlex
import shutil
import sys
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO

LONGEST_LINE = 20_000
LONGEST_COMMAND = 120  # of one that is told; a longer one only hides what is said
LONGEST_TEXT = 1000  # characters kept of any text of a trace
LEAST_KEPT = 0.4
"""Of what fits at least this share stays, for the sake of a sentence or an amount."""
LEAST_TAIL = 5
"""Characters of an end that still say something; of what leaves less, only the beginning stays."""

_BOUNDARIES = tuple(map(re.compile, (r"\s", r"[/\\]", r"[,;|()\[\]{}<>=&]", r"[.:_-]")))
"""Where a text may be cut: between words, directories, arguments, parts of a name."""

_AMOUNT = re.compile(
    r"\d[\d.,]{0,20}(?<=\d)(?:\s(?:%|min\b|[nµmkKMGT]?i?(?:s|h|B|b|W|Hz)(?:/s)?(?!\w)))?"
)
"""A number and its unit: a part of it says something else than the whole."""

_SENTENCE_END = re.compile(r"(?<=[^\W\d_)\]%'\"”’][^\W_)\]%'\"”’])[.!?](?=\s+[A-Z])")

_SPACES = "\n\r\t\u2028\u2029"
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"
"""Legitimate between and behind characters of scripts that join (Persian, Indic) and in emoji."""

# Letters, marks and signs without any shape (Unicode's Default_Ignorable_Code_Point).
_SHAPELESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_FORMULA = re.compile("'*[\\s\0]*[=+\\-@\t\r\n＝＋－＠]")
"""How a cell begins that a spreadsheet may run, and one that was kept from that."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-](inf|nan)")
_NOT_PLAIN = re.compile("[^\n\x20-\x7e]")


def visible(text: str, *, longest: int = LONGEST_TEXT) -> str:
    """The text as one line with control, bidirectional and invisible characters spelled out.

    Characters beyond `longest` are dropped and counted at the end.
    """
    kept = beginning(text, longest)
    if not (kept.isascii() and kept.isprintable()):
        around = f" {kept} "
        kept = "".join(
            _visible_character(character, around[place], around[place + 2])
            for place, character in enumerate(kept)
        )
    if len(text) > longest:
        kept += f"… ({len(text):,} characters)"
    return kept


def shortened(text: str, longest: int) -> str:
    """The text with its middle left out when it is longer than `longest` characters.

    What stays ends at the end of a word, of a directory or of a part of a name where one is near.
    """
    if len(text) <= longest:
        return text
    tail = longest // 3
    if tail < LEAST_TAIL:
        return f"{beginning(text, longest - 1)}…"
    return f"{beginning(text, longest - tail - 1)}…{_ending(text, tail)}"


def whole_sentences(text: str, longest: int) -> str:
    """As many sentences from the beginning as fit, or the beginning of a first one too long."""
    if len(text) <= longest:
        return text
    ends = [found.end() for found in _SENTENCE_END.finditer(text) if found.end() <= longest - 2]
    is_enough = bool(ends) and ends[-1] >= longest * LEAST_KEPT
    return f"{text[: ends[-1]]} …" if is_enough else f"{beginning(text, longest - 1)}…"


def shortened_apart(texts: Sequence[str], longest: int) -> list[str]:
    """The texts shortened; those that would look alike keep as much of their ends as it takes."""
    found = [shortened(text, longest) for text in texts]
    for tail in range(LEAST_TAIL, longest):
        alike = [
            len({t for t, f in zip(texts, found, strict=True) if f == one}) > 1 for one in found
        ]
        if not any(alike):
            break
        found = [
            f"{text[: longest - tail - 1]}…{text[-tail:]}" if is_alike else one
            for text, one, is_alike in zip(texts, found, alike, strict=True)
        ]
    return found


def beginning(text: str, longest: int) -> str:
    """As much of the beginning as fits, up to a boundary that is not far before its end."""
    if len(text) <= longest:
        return text
    for marks in _BOUNDARIES:
        found = list(marks.finditer(text, 0, longest + 1))
        if found and (found[-1].start() >= longest * 0.6):
            return text[: _before_amount(text, found[-1].start())].rstrip()
    return text[: _before_amount(text, longest)].rstrip()


def _ending(text: str, longest: int) -> str:
    """As much of the end as fits, from a boundary that is not far behind its beginning."""
    for marks in _BOUNDARIES:
        found = marks.search(text, len(text) - longest - 1)
        if found and len(text) - found.start() >= longest * 0.6:
            return text[_behind_amount(text, found.start()) :].lstrip()
    return text[_behind_amount(text, len(text) - longest) :].lstrip()


def _before_amount(text: str, cut: int) -> int:
    """The cut, or where the amount begins that it parts, unless little were left then."""
    begin, _ = _in_amount(text, cut)
    return begin if begin >= cut * LEAST_KEPT else cut


def _behind_amount(text: str, cut: int) -> int:
    """The cut, or where the amount ends that it parts, unless little were left then."""
    _, end = _in_amount(text, cut)
    return end if len(text) - end >= (len(text) - cut) * LEAST_KEPT else cut


def _in_amount(text: str, cut: int) -> tuple[int, int]:
    """Beginning and end of the amount that a cut would part; the cut itself if it parts none."""
    for found in _AMOUNT.finditer(text, max(cut - 30, 0), cut + 30):
        if found.start() < cut < found.end():
            return found.start(), found.end()
    return cut, cut


def _visible_character(character: str, before: str, behind: str) -> str:
    if character in _SPACES:
        return " "
    if character in _JOINERS:
        is_joined = _joins(before) or (character == "\u200d" and before == "\ufe0f")
        is_hidden = not is_joined or (character in "\u200c\u200d" and not _joins(behind))
    else:
        is_hidden = _is_invisible(character)
    return _spelled(character) if is_hidden else character


def _joins(character: str) -> bool:
    """Whether it is of a script whose characters join, or a symbol as emoji are."""
    return (
        not character.isascii()
        and unicodedata.category(character)[0] in "LMS"
        and _SHAPELESS.match(character) is None
    )


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) in _INVISIBLE or _SHAPELESS.match(character) is not None


def _spelled(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def json_text(text: str) -> str:
    """JSON with what cannot be seen written as escapes; it means the same.

    Such characters stand inside of strings alone, as JSON has none between its tokens.
    """
    return text if text.isascii() and "\x7f" not in text else _NOT_PLAIN.sub(_json_escape, text)


def _json_escape(found: re.Match[str]) -> str:
    character = found.group()
    if character not in "\u2028\u2029" and not _is_invisible(character):
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n : n + 2].hex()}" for n in range(0, len(units), 2))


def csv_cell(text: str) -> str:
    """A text as a cell that no spreadsheet takes for a formula; an empty one is nothing."""
    marked = f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
    return f'"{marked.replace(chr(34), 2 * chr(34))}"' if text else ""


def csv_text(cell: str) -> str:
    """The text that a cell was made from, without quotes as a reader of CSV gives it."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def say(text: str = "") -> None:
    """Prints a line on stdout."""
    _write(sys.stdout, f"{visible(text, longest=LONGEST_LINE)}\n")


def tell(text: str = "") -> None:
    """Prints a line on stderr."""
    _write(sys.stderr, f"{visible(text, longest=LONGEST_LINE)}\n")


def say_lines(text: str) -> None:
    """Prints a text of several lines on stdout."""
    for line in text.removesuffix("\n").split("\n"):
        say(line)


def tell_lines(text: str) -> None:
    """Prints a text of several lines on stderr."""
    for line in text.removesuffix("\n").split("\n"):
        tell(line)


def say_json(text: str) -> None:
    """Prints a JSON document on stdout, in UTF-8 whatever the locale is."""
    _write_utf8(json_text(text))


def say_markdown(text: str) -> None:
    """Prints a page of Markdown on stdout, in UTF-8 whatever the locale is."""
    lines = (visible(line, longest=len(line)) for line in text.split("\n"))
    _write_utf8("\n".join(lines))


def is_terminal() -> bool:
    """Whether stderr is looked at by a person."""
    return sys.stderr is not None and sys.stderr.isatty()


def rewrite(text: str) -> None:
    """Writes over the last line of a terminal on stderr; elsewhere it does nothing."""
    if not is_terminal():
        return
    width = max(20, shutil.get_terminal_size().columns - 1)
    with suppress(OSError, ValueError):
        _write(sys.stderr, f"\r\x1b[2K{visible(text)[:width]}")


@contextmanager
def warnings_told() -> Iterator[None]:
    """Python's warnings go the same way while the block runs."""
    before = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: object = None,  # noqa: ARG001 - as `warnings` calls it
        line: str | None = None,
    ) -> None:
        tell_lines(warnings.formatwarning(message, category, filename, lineno, line))

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before


def _write(stream: IO[str] | None, text: str) -> None:
    if stream is None:
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def _write_utf8(text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:
        _write(sys.stdout, data.decode())
        return
    sys.stdout.flush()
    binary.write(data)
    binary.flush()


def finish() -> None:
    """Writes what stdout still holds.

    Raises:
        OSError: it takes no more.
    """
    if sys.stdout is not None:
        sys.stdout.flush()


def give_up() -> None:
    """Drops what stdout does not take: Python would try again at its end, and complain."""
    try:
        finish()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def record_again(command: Sequence[str]) -> str:
    """What to type to record a run again; "" where its command is not known, or long."""
    told = shlex.join(command)
    return f"perfscope run -- {told}" if 0 < len(told) <= LONGEST_COMMAND else ""
