"""Where the program deals out work by rank: ranges and slices whose bounds derive from its number.

Which rank has how much is set there, and not where the work is done. The program's own files are
read for that when it is over, on the first rank, as all run the same ones. Nothing of them is run.
"""

from __future__ import annotations

from . import metadata, recorder, roles, sources
from .kinds import Any, Iterator

_MOST_PLACES = 8
_TELL = ("Get_rank", "get_rank", "rank")
"""Attributes and functions of communicators that tell the number."""

_NAMES = ("rank", "my_rank", "myrank", "rank_id")
"""What functions call it that are given it."""

_KEEP = ("int", "min", "max", "abs", "divmod", "round", "len")
"""Functions whose result derives from what they are given as a sum does."""

_COUNT = ("range", "arange", "islice", "slice")
"""What makes so many numbers, or takes so many of what comes."""


def note() -> bool:
    """At exit: the lines that deal out work; whether any was looked for."""
    rank, size = roles.rank_and_size()
    if rank != 0 or size < 2:
        return False
    found: list[str] = []
    for file, text in sources.texts([b"rank"]):
        for function, line in places(text):
            found.append(recorder.place_text(function, file, line))
    if not found:
        return False
    metadata.facts["splits"] = found[:_MOST_PLACES]
    return True


def places(text: bytes) -> list[tuple[str, int]]:
    """Function and line of all ranges and slices in a file that derive from the rank."""
    import ast  # in the main thread, when all is over

    tree = sources.tree(ast, text)
    if tree is None:
        return []
    functions: dict[str, list[Any]] = {}
    given: dict[str, set[str]] = {}
    for function, node in sources.nodes(ast, tree):
        functions.setdefault(function, []).append(node)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            arguments = [*node.args.args, *node.args.kwonlyargs]
            names = [one.arg for one in arguments if one.arg in _NAMES]
            given.setdefault(node.name, set()).update(names)
    everywhere = _derived(ast, functions.get("<module>", []), set())
    found = set()
    for function, nodes in functions.items():
        derived = _derived(ast, nodes, everywhere | given.get(function, set()))
        found.update([(function, line) for node in nodes for line in _split(ast, node, derived)])
    return sorted(found, key=lambda one: one[1])


def _derived(ast: Any, nodes: list[Any], known: set[str]) -> set[str]:
    """The names of a function that derive from the rank, with those that are known."""
    found, before = set(known), -1
    while len(found) > before:
        before = len(found)
        for node in nodes:
            is_set = isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign))
            if is_set and node.value and _derives(ast, node.value, found):
                targets = getattr(node, "targets", None) or [node.target]
                found.update([name for one in targets for name in _names(ast, one)])
    return found


def _names(ast: Any, target: Any) -> Iterator[str]:
    """The variables that something is assigned to."""
    if isinstance(target, ast.Name):
        yield target.id
    for one in getattr(target, "elts", ()):
        yield from _names(ast, one)


def _derives(ast: Any, node: Any, names: set[str]) -> bool:
    """Whether a value is reckoned from the rank."""
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Attribute):
        return node.attr in _TELL
    if isinstance(node, ast.Call):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        is_kept = called in _KEEP and any(_derives(ast, one, names) for one in node.args)
        return called in _TELL or is_kept
    parts: list[Any] = []
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Tuple)):
        parts = list(ast.iter_child_nodes(node))
    elif isinstance(node, ast.Subscript):
        parts = [node.slice]
    elif type(node).__name__ == "Index":  # what an index is in, by Python 3.8
        parts = [node.value]
    return any(_derives(ast, one, names) for one in parts)


def _split(ast: Any, node: Any, names: set[str]) -> list[int]:
    """The line of a range or slice that derives from the rank."""
    bounds: list[Any] = []
    if isinstance(node, ast.Call):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        bounds = list(node.args) if called in _COUNT else []
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        cut = node.slice
        is_cut = isinstance(cut, ast.Slice)
        bounds = [cut.lower, cut.upper, cut.step] if is_cut else [cut]
    is_split = any(one is not None and _derives(ast, one, names) for one in bounds)
    return [node.lineno] if is_split else []
