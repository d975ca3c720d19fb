"""A line of a Python source, by its tokens: the functions that it stands in, and its code.

Nothing is parsed: what a recording names may be no program, or one on which a parser ends the
process. Nor does a token tell more than its kind: what stands in literals may be secret.
"""

import io
import re
import token
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import field

from perfscope.structures import dataclass

LONGEST_LINE = 4096
"""Of a file whose tokens are looked at: some Pythons copy the line for each of them."""

_ENDS = re.compile("\r\n|\r|\n")
_LITERAL = re.compile(r"(\w*('''|\"\"\"|'|\"))(.*)\2", re.DOTALL)
"""How it begins, with its quotes, and what it says."""
_FIELDS = re.compile(r"\{+|\}+|['\"]")
_BLANK = {token.NL, token.COMMENT, token.INDENT, token.DEDENT}


class UnclearError(ValueError):
    """The tokens do not tell for certain where literals are."""


@dataclass(frozen=True)
class Code:
    """A line without comments and what its literals say, and whose it may be."""

    functions: frozenset[str]  # names of the innermost function or class; "" of the module
    text: str


@dataclass(frozen=True)
class _Span:
    """What is hidden of a source: from where to where, by line and column, and its two ends."""

    begin: tuple[int, int]
    end: tuple[int, int]
    opening: str  # as the ends of a literal are told; "" of a comment
    closing: str


@dataclass
class _Blocks:
    """Whose code the tokens are that were seen: a name for each level of indentation."""

    names: list[str] = field(default_factory=lambda: [""])
    header: str | None = None  # the name that the definition has whose header was seen
    words: list[str] = field(default_factory=list)  # first ones of the logical line
    decorates: bool = False  # a decorator was seen whose definition was not

    def add(self, one: tokenize.TokenInfo) -> None:
        if one.type == token.INDENT:
            self.names.append(self.names[-1] if self.header is None else self.header)
        elif one.type == token.DEDENT:
            self.names.pop()
        elif one.type == token.NEWLINE:
            self.words = []
        elif one.type not in _BLANK:
            if not self.words:
                self.header = None
                is_header = one.string in ("def", "class", "async")
                self.decorates = one.string == "@" or (self.decorates and is_header)
            self.words = [*self.words, one.string][:3]
            words = self.words[self.words[0] == "async" :]
            if len(words) > 1 and words[0] in ("def", "class"):
                self.header, self.decorates = words[1], False

    def decorated(self) -> str:
        """The name that the definition has whose decorators end here; "" before its header."""
        return "" if self.decorates else self.header or ""

    def now(self) -> frozenset[str]:
        """Of a header both: defaults are the code around, calls begin in the function."""
        return frozenset({self.names[-1], self.names[-1] if self.header is None else self.header})


def code_at(text: str, number: int) -> Code:
    """What stands in a line of a source.

    Raises:
        ValueError, SyntaxError: there is no such line, or it is not certain what is a literal.
    """
    lines = _ENDS.split(text)
    if not 0 < number <= len(lines) or "\0" in text or max(map(len, lines)) > LONGEST_LINE:
        raise UnclearError(f"no line {number}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those about the user's code
            functions, around = _read_until(number, lines)
    except tokenize.TokenError as error:
        raise UnclearError(str(error)) from error
    return Code(functions, _without(_hidden(around, lines), number, lines[number - 1]))


def _read_until(number: int, lines: list[str]) -> tuple[frozenset[str], list[tokenize.TokenInfo]]:
    """Whose code a line may be, and the tokens of the logical lines that have a part in it.

    Python counts the lines of a function from its first decorator on.
    """
    blocks, functions, depth = _Blocks(), frozenset({""}), 0
    around: list[tokenize.TokenInfo] = []
    for one in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
        if one.type == token.ERRORTOKEN:
            raise UnclearError(one.string)
        if one.start[0] > number and not depth:
            if not blocks.decorates:
                break
            blocks.add(one)
            if decorated := blocks.decorated():
                functions |= {decorated}
                break
            continue
        depth += _is_part(one, "STRING_START") - _is_part(one, "STRING_END")
        blocks.add(one)
        around.append(one)
        if one.type == token.NEWLINE and one.start[0] < number:
            around = []
        elif one.type not in _BLANK and one.type != token.NEWLINE and one.start[0] <= number:
            functions = blocks.now()
    return functions, around


def _is_part(one: tokenize.TokenInfo, name: str) -> bool:
    """Whether it is the beginning or end of a literal with fields, where Python tells these."""
    return token.tok_name[one.type].endswith(name)


def _hidden(around: list[tokenize.TokenInfo], lines: list[str]) -> Iterator[_Span]:
    """Literals and comments; one in the fields of another is a part of that."""
    outer: list[tokenize.TokenInfo] = []
    before = (0, 0)
    for one in around:
        kind = token.tok_name[one.type]
        if kind.endswith(("COMMENT", "STRING", "STRING_START", "STRING_END")):
            _check_place(one, lines)
        if kind.endswith("STRING_START"):
            outer.append(one)
        elif kind.endswith("STRING_END"):
            begin = outer.pop()
            if not outer:
                yield _Span(begin.start, one.end, begin.string, one.string)
        elif one.type == token.COMMENT and not outer:
            yield _Span(one.start, one.end, "", "")
        elif one.type == token.STRING and not outer:
            found = _LITERAL.fullmatch(one.string)
            if found is None or _is_cut(found) or one.start == before:
                raise UnclearError("a literal in the fields of another")
            yield _Span(one.start, one.end, *found.group(1, 2))
        before = one.end if one.type == token.NAME else (0, 0)


def _check_place(one: tokenize.TokenInfo, lines: list[str]) -> None:
    """Some Pythons count bytes behind literals with fields, not characters."""
    (row, column), (last, end) = one.start, one.end
    first, *inner = one.string.split("\n")
    tail = inner[-1] if inner else first
    if not (lines[row - 1].startswith(first, column) and lines[last - 1][:end].endswith(tail)):
        raise UnclearError("a column that is none of the text")


def _is_cut(found: re.Match[str]) -> bool:
    """Whether a literal ends inside a field, for a Python that takes its inner quotes for its own.

    From 3.12 on the fields may have any quotes, and older ones see several literals.
    """
    depth, inner = 0, ""
    for piece in _FIELDS.findall(found[3]) if "f" in found[1].lower() else ():
        if inner:
            inner = "" if piece == inner else inner
        elif depth and piece in "'\"":
            inner = piece
        elif piece[0] == "{":
            depth += len(piece) if depth else len(piece) % 2
        elif piece[0] == "}":
            depth = max(0, depth - len(piece))
    return depth > 0


def _without(hidden: Iterable[_Span], number: int, line: str) -> str:
    """The line with an ellipsis for what stands between the ends of each literal."""
    told, place = [], 0
    for one in hidden:
        if one.begin[0] <= number <= one.end[0]:
            begin = one.begin[1] if one.begin[0] == number else 0
            end = one.end[1] if one.end[0] == number else len(line)
            opening = one.opening if one.begin[0] == number else ""
            closing = one.closing if one.end[0] == number else ""
            is_empty = not one.opening or end - begin == len(opening + closing)
            told += [line[place:begin], opening, "" if is_empty else "…", closing]
            place = end
    return "".join(told) + line[place:]
