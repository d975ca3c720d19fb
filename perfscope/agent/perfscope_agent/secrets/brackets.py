"""Secrets in brackets: `auth=('me', 'X')`, `Session(user='me', token='X')`, `{'password': 'X'}`.

A value in brackets is judged by its own field and by what the brackets belong to. What may be the
name of a secret is, in front of brackets, mostly one of labels: `keys=['loss', 'epoch10']`.
"""

from __future__ import annotations

from . import logins as secret_logins
from . import names as secret_names
from .patterns import Patterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

REDACTED = "[redacted]"
_LOGINS = (["auth"], ["login"], ["authenticate"], ["authentication"])
_LONGEST_NAME = 80  # of fields within fields
_OPENING, _CLOSING = "[({", "])}"

_QUOTED = (
    r"(?<!\w)(?P<prefix>[bBuUrRfF]{0,2})(?:(?P<quote>[\"'])(?P<text>(?:\\.|(?!(?P=quote))"
    r"[^\\]){0,4000})(?P=quote)|(?<!\\)(?P<escaped>\\{1,16}[\"'])"
    r"(?P<inner>(?:(?!(?P=escaped)).){0,4000}?)(?P=escaped))"
)
_BARE = r"(?P<bare>(?:[^\s\"',;:=\[\](){}\\]|(?<=\w)'(?=\w))+)"
_patterns = Patterns(
    {
        "part": "(?s)" + _QUOTED + "|" + _BARE + r"|(?P<mark>[\[\](){},;])",
        "is_field": r"\s*(?::(?!//)|=(?!=)|=>)",
        "again": r"\[redacted\](?: \[redacted\])+",
        "call": (
            r"[A-Za-z_][\w.]*[\[({]\s*(?:[\])}]|[bBuUrRfF]{0,2}\\*[\"']|[A-Za-z_][\w.]*\s*[=:(])"
        ),
        "thing": r"<[A-Za-z][\w.-]* (?:[^<>]* )?(?:at 0x[0-9a-fA-F]+|'[\w.]+')[^<>]*>",
    }
)


def begins_brackets(text: str, place: int) -> bool:
    """Whether a call, a subscript or an object that Python printed begins here, and no secret."""
    if text[place : place + 1] in tuple(_OPENING):
        return True
    return bool(_patterns["call"].match(text, place) or _patterns["thing"].match(text, place))


class _Brackets:
    """What is known of brackets that are open.

    Attributes:
        name: of the field or the class that they belong to, where it is or may be a secret's.
        mark: the opening bracket; empty for the text itself.
        is_class: the name is that of what is called, `Cookie(`, whose fields speak for themselves.
        is_login: a user and a password stand in it.
        is_within: other brackets stand around it.
        field: the name in front of the next value.
        values: those without a name.
    """

    def __init__(self, mark: str = "", name: str = "", *, is_within: bool = False) -> None:
        self.mark = mark
        self.name = name
        self.is_class = False
        self.is_login = False
        self.is_within = is_within
        self.field = ""
        self.values = []  # type: list[str]

    def opened(self, mark: str, callee: str) -> _Brackets:
        """The brackets that open here, behind the name of what is called, if any."""
        name = self._named()
        inner = _Brackets(mark, name, is_within=bool(self.mark))
        inner.is_login = _is_login(callee) or (_is_login(name) and mark in "([")
        if not name and mark == "(" and _is_class_of_secrets(callee):
            inner.name, inner.is_class = callee, True
        return inner

    def _named(self) -> str:
        """What the next value is called, where that is or may be the name of a secret."""
        if not self.field:
            return self.name
        kind = secret_names.kind_of(self.field)
        outer = secret_names.kind_of(self.name)
        if outer == secret_names.SECRET and not self.is_class:
            return self.name
        if kind != secret_names.SECRET and outer != secret_names.PLAIN:
            if len(self.name) > _LONGEST_NAME:
                return self.name
            both = self.name + "_" + self.field
            is_told = secret_names.kind_of(both) != secret_names.PLAIN
            return both if is_told else "" if self.is_class else self.name
        is_told = kind != secret_names.PLAIN or _is_login(self.field)
        return self.field if is_told else ""

    def hides(self, value: str) -> bool:
        """Whether the next value is a secret."""
        if not self.field:
            self.values.append(value)
            if len(self.values) == 2 and self.is_login:
                return not secret_names.is_trivial(value)
            if len(self.values) == 2 and self.mark == "(" and not self.name:
                return self._is_a_pair(value)
        return _hides(self._named(), value)

    def _is_a_pair(self, value: str) -> bool:
        """Whether it stands behind the name of a secret: `[('password', 'X')]`."""
        name = self.values[0]
        if secret_names.kind_of(name) != secret_names.SECRET:
            return False
        is_told = self.is_within or secret_names.looks_like_a_password(value)
        return is_told and secret_names.hides(name, value)


def without_held(text: str) -> str:
    """The text without secrets in brackets, and without quoted ones with a prefix: `pw=b'X'`."""
    if not any(map(text.__contains__, "[({\"'")):
        return text
    kept, place = [], 0  # type: list[str], int
    stack, callee = [_Brackets()], ""
    for found in _patterns["part"].finditer(text):
        brackets, mark = stack[-1], found.group("mark")
        if mark is None:
            value, start, end = _value(found)
            callee = ""
            if _patterns["is_field"].match(text, found.end()):
                brackets.field = value
            elif found.group("bare") and text[found.end() : found.end() + 1] in tuple(_OPENING):
                callee = value
            elif _is_judged(brackets, found) and brackets.hides(value):
                kept.append(text[place:start] + REDACTED)
                place = end
            if not (brackets.mark or callee or brackets.field == value):
                brackets.field = ""
            continue
        if mark in _OPENING:
            stack.append(brackets.opened(mark, callee))
        elif mark in _CLOSING:
            stack = stack[:-1] or stack
            stack[-1].field = "" if not stack[-1].mark else stack[-1].field
        else:
            brackets.field = ""
        callee = ""
    return _patterns["again"].sub(REDACTED, "".join(kept) + text[place:])


def _value(found: re.Match[str]) -> tuple[str, int, int]:
    """A word, or what stands between quotes, and where."""
    name = "bare" if found.group("bare") else "inner" if found.group("escaped") else "text"
    start, end = found.span(name)
    return found.group(name), start, end


def _is_judged(brackets: _Brackets, found: re.Match[str]) -> bool:
    """Whether it stands in brackets, or has a prefix; other patterns see what else has a name."""
    return bool(brackets.mark or (found.group("prefix") and brackets.field))


def _hides(name: str, value: str) -> bool:
    """Whether a value is a secret that stands in the brackets of this name, or in such a field."""
    kind = secret_names.kind_of(name)
    if kind == secret_names.PLAIN or not any(c.isalnum() for c in value):
        return False
    if kind == secret_names.MAYBE:
        head = secret_names.words_of(name)[-1]
        if secret_names.is_of_several(head):
            return not secret_names.is_trivial(value) and not secret_names.is_number(value)
        if secret_names.labels(head):
            return secret_names.looks_like_a_password(value) and secret_logins.is_no_name(value)
    return secret_names.hides(name, value)


def _is_login(name: str) -> bool:
    return bool(name) and secret_names.words_of(name)[-1:] in _LOGINS


def _is_class_of_secrets(callee: str) -> bool:
    """Whether it is one such as `SecretStr`; a `Token` is mostly one of a text."""
    name = callee.rpartition(".")[2]
    is_class = name[:1].isupper() and secret_names.kind_of(name) == secret_names.SECRET
    return is_class and secret_names.words_of(name)[-1:] != ["token"]
