"""No decision rests on a sentence of perfscope's own, which is for people and may be reworded."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.architecture.test_arrows import AGENT, PACKAGE
from tests.support.environments import REPOSITORY

Texts = Mapping[str, tuple[str, ...]]
PHRASE = re.compile(r"[A-Za-z,;:] [A-Za-z]")
"""A text that people read: it has two words."""
LAST_WORD = re.compile(r"^[a-z]{3,}[.:;]$")
FOR_PEOPLE = re.compile(r"(^|_)(reason|why|note|summary|title|detail|sentence|takeaway)s?$")
"""Names of what holds such a text."""
COMPARING = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
READING = {
    *("startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition"),
    *("find", "index", "count", "search", "match", "fullmatch"),
}


def literals(node: ast.expr | None, known: Texts) -> tuple[str, ...]:
    """The texts that a literal, a collection of them or a constant stands for."""
    if isinstance(node, ast.Constant):
        return (node.value,) if isinstance(node.value, str) else ()
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return tuple(text for item in node.elts for text in literals(item, known))
    if isinstance(node, ast.Starred):
        return literals(node.value, known)
    if isinstance(node, ast.Dict):
        return tuple(text for key in node.keys for text in literals(key, known))
    if isinstance(node, ast.IfExp):
        return (*literals(node.body, known), *literals(node.orelse, known))
    return known.get(node.id, ()) if isinstance(node, ast.Name) else ()


def assigned(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Names that a statement gives to values."""
    if not isinstance(node, ast.Assign):
        return
    target, value = node.targets[0], node.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=False))
    yield from ((name.id, item) for name, item in pairs if isinstance(name, ast.Name))


@dataclass(frozen=True)
class Module:
    """What the rule looks at of a file, which is walked once."""

    body: list[ast.stmt]
    imports: list[ast.ImportFrom]
    loops: list[ast.comprehension | ast.For]
    uses: list[ast.Compare | ast.Call]


def parsed(source: str) -> Module:
    """A file of this text."""
    tree = ast.parse(source)
    module = Module(tree.body, [], [], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module.imports.append(node)
        elif isinstance(node, ast.comprehension | ast.For):
            module.loops.append(node)
        elif isinstance(node, ast.Compare | ast.Call):
            module.uses.append(node)
    return module


def constants(module: Module, elsewhere: Mapping[str, Texts]) -> Texts:
    """The texts behind names: constants of the file, those it imports, and loops over them."""
    known: dict[str, tuple[str, ...]] = {}
    for imported in module.imports:
        told = elsewhere.get(imported.module or "", {})
        known |= {a.asname or a.name: told[a.name] for a in imported.names if a.name in told}
    for node in module.body:
        for name, value in assigned(node):
            if texts := literals(value, known):
                known[name] = texts
    for loop in module.loops:
        if isinstance(loop.target, ast.Name):
            items = loop.iter.elts if isinstance(loop.iter, ast.Tuple) else [loop.iter]
            texts = literals(loop.iter, known)
            if all(literals(item, known) for item in items):
                known[loop.target.id] = (*known.get(loop.target.id, ()), *texts)
    return known


def called(node: ast.expr) -> str:
    """The name of a value: a variable, an attribute, a key that is asked for."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        return "".join(literals(node.slice, {}))
    if isinstance(node, ast.Call) and node.args:
        return "".join(literals(node.args[-1], {}))
    return ""


def readings(module: Module, known: Texts) -> Iterator[tuple[int, str]]:
    """Where a text is compared with a phrase, or what is for people with any text."""
    for node in module.uses:
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], COMPARING):
            values = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in READING:
                continue
            values = [node.func.value, *node.args]
        else:
            continue
        texts = [text for value in values for text in literals(value, known) if text.strip()]
        is_prose = any(FOR_PEOPLE.search(called(value)) for value in values)
        is_last = isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".endswith")
        is_prose |= is_last and any(LAST_WORD.search(text) for text in texts)
        if texts and (is_prose or any(PHRASE.search(text) for text in texts)):
            yield node.lineno, ast.unparse(node)[:90]


def package_files() -> dict[str, Path]:
    return {
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts): path
        for path in sorted(PACKAGE.rglob("*.py"))
        if AGENT not in path.parents
    }


def found_in(sources: Mapping[str, str]) -> list[str]:
    """The readings of prose in some modules, by name."""
    modules = {name: parsed(source) for name, source in sources.items()}
    told: dict[str, Texts] = {}
    for _ in range(2):  # constants that are imported and passed on
        told = {name: constants(module, told) for name, module in modules.items()}
    return [
        f"{name}:{line}: {code}"
        for name, module in modules.items()
        for line, code in readings(module, told[name])
    ]


def test_no_decision_rests_on_prose() -> None:
    """Other programs' words go through `perfscope.foreign.mentions`."""
    paths = package_files().items()
    assert found_in({name: path.read_text(encoding="utf-8") for name, path in paths}) == []


@pytest.mark.parametrize(
    "source",
    [
        'if why.startswith("not resolvable"): pass',
        'if problem.endswith("missing."): pass',
        'if "because memory ran out" in row["text"]: pass',
        'NO_DRIVER = "no driver is loaded"\nused = [one for one in told if one != NO_DRIVER]',
        'ASSUMED = ("the only rank (assumed)",)\nany(text in known for text in ASSUMED)',
        'if fields.text(row, "reason") == "killed": pass',
        'if self.doubt in {"It may be chance."}: pass',
        "from a.b import NO_DRIVER\nNO_DRIVER in told",
    ],
)
def test_the_rule_sees_what_it_is_for(source: str) -> None:
    elsewhere = 'NO_DRIVER = "no driver is loaded"'
    assert len(found_in({"a.b": elsewhere, "one": source})) == 1


@pytest.mark.parametrize(
    "source",
    [
        'if reason == "": pass',
        'if kind == "killed": pass',
        'name.startswith(("torch.", "MPI_"))',
        'mentions(text, "Operation not permitted")',
    ],
)
def test_values_and_other_programs_words_may_be_read(source: str) -> None:
    assert found_in({"one": source}) == []
