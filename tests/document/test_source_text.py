"""A line of a source without what its literals say, and whose code it is."""

import sys
import warnings

import pytest

from perfscope.document.source_text import LONGEST_LINE, code_at

SOURCE = """
import jwt  # token toor99

class Loader:
    size = len(table)

    async def read(
        self, place=default()
    ):
        # the password is toor99
        values = [parse(row) for row in place]

        def inner():
            return values
        if values:
            return inner
        return None
    def one(self): return 1

TOTAL = sum(
    range(9))
class Other(Loader): pass
"""


@pytest.mark.parametrize(
    ("line", "functions", "text"),
    [
        (2, {""}, "import jwt  "),
        (4, {"", "Loader"}, "class Loader:"),
        (5, {"Loader"}, "    size = len(table)"),
        (8, {"Loader", "read"}, "        self, place=default()"),
        (11, {"read"}, "        values = [parse(row) for row in place]"),
        (14, {"inner"}, "            return values"),
        (16, {"read"}, "            return inner"),
        (17, {"read"}, "        return None"),
        (18, {"Loader", "one"}, "    def one(self): return 1"),
        (20, {""}, "TOTAL = sum("),
        (21, {""}, "    range(9))"),
        (22, {"", "Other"}, "class Other(Loader): pass"),
    ],
)
def test_a_line_is_of_the_innermost_function_or_class(
    line: int, functions: set[str], text: str
) -> None:
    code = code_at(SOURCE, line)
    assert (set(code.functions), code.text) == (functions, text)


DECORATED = """\
@functools.lru_cache(maxsize=128)
@other("name")
def view(angle): return angle
@dataclass
class Book: pass
@lost
total = 3
def late(): pass
"""


@pytest.mark.parametrize(
    ("line", "functions", "text"),
    [
        (1, {"", "view"}, "@functools.lru_cache(maxsize=128)"),
        (2, {"", "view"}, '@other("…")'),
        (4, {"", "Book"}, "@dataclass"),
        (6, {""}, "@lost"),
        (7, {""}, "total = 3"),
    ],
)
def test_a_decorator_is_of_the_definition_below_it(
    line: int, functions: set[str], text: str
) -> None:
    """Python counts the lines of a function from there."""
    code = code_at(DECORATED, line)
    assert (set(code.functions), code.text) == (functions, text)


@pytest.mark.parametrize(
    ("source", "line", "text"),
    [
        ('ssh.connect("h", 22, "root", "toor99")', 1, 'ssh.connect("…", 22, "…", "…")'),
        ("jwt.encode(payload, 'my-secret-key')", 1, "jwt.encode(payload, '…')"),
        ('AES.new(b"sixteen byte key", rB\'x\', u"")', 1, 'AES.new(b"…", rB\'…\', u"")'),
        ("g(f'a{b}c {d:{e}} {{x}}', \"y\", z)", 1, "g(f'…', \"…\", z)"),
        ("g(f\"it's {a['key']!r:>9}\", z)", 1, 'g(f"…", z)'),
        ('ä = "ßß" + f"ü{ö}ü" + "key"; é = b', 1, 'ä = "…" + f"…" + "…"; é = b'),
        ('a = """one\ntwo\nthree""" + b', 1, 'a = """…'),
        ('a = """one\ntwo\nthree""" + b', 2, "…"),
        ('a = """one\ntwo\nthree""" + b', 3, '…""" + b'),
        ("a = f'''one {b}\ntwo {c}\nthree''' + d", 1, "a = f'''…"),
        ("a = f'''one {b}\ntwo {c}\nthree''' + d", 2, "…"),
        ("a = f'''one {b}\ntwo {c}\nthree''' + d", 3, "…''' + d"),
        ("a = 'one\\\ntwo' + b", 2, "…' + b"),
        ("a = 'one' \\\r\n 'two'\r\nb = 1", 2, " '…'"),
        ('x = {"a": "b"}[k]\n\ndef broken(((:\n"', 1, 'x = {"…": "…"}[k]'),
    ],
)
def test_what_literals_say_is_hidden(source: str, line: int, text: str) -> None:
    assert code_at(source, line).text == text


@pytest.mark.parametrize(
    "source",
    [
        "f('secret",
        "f('''secret",
        "f(secret",
        "x = 1\0",
        "if x:\n    a\n  b = 1",
        "x = 1 " + "+ 1" * LONGEST_LINE,
        "y = 1\nx = a\n" + "#" * (LONGEST_LINE + 1),
        'x = oldest"secret"',
    ],
)
def test_what_is_not_certain_is_refused(source: str) -> None:
    with pytest.raises((ValueError, SyntaxError)):
        code_at(source, min(3, source.count("\n") + 1))


@pytest.mark.parametrize("line", [0, -1, 3, 10**30])
def test_a_line_that_is_not_there_is_refused(line: int) -> None:
    with pytest.raises(ValueError, match="no line"):
        code_at("a = 1\nb = 2", line)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ('f(d[f"{d[\'x\']+d["secret"]}"])', 'f(d[f"…"])'),
        ('f"{ {"secret": 1}["secret"] }"', 'f"…"'),
        ('f"{d["my-key-1"]}"', 'f"…"'),
        ('f"{{{d["secret"]}}}"', 'f"…"'),
    ],
)
def test_quotes_in_fields_do_not_show_what_is_between_them(source: str, told: str) -> None:
    """Pythons before 3.12 see several literals, with the key as code between them."""
    if sys.version_info >= (3, 12):
        assert code_at(source, 1).text == told
    else:
        with pytest.raises(ValueError, match="another"):
            code_at(source, 1)


@pytest.mark.parametrize(
    "source",
    [
        "x = 1" + ("+1" * 2000 + "\\\n") * 60 + "+1",
        "x = f" + "()" * 2000,
        "x = a" + ".b" * 2000,
        "x = " + "-" * 4000 + "1",
    ],
)
def test_deep_sources_end(source: str) -> None:
    assert code_at(source, 1).text == source.partition("\n")[0]


def test_odd_sources_warn_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert code_at("x = f'\\{a}' '\\d' is 1if b else c", 1).text == (
            "x = f'…' '…' is 1if b else c"
        )
