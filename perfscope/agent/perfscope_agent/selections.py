"""Where the program selects rows of what a call has just made, as `score(rows)[:, -1]` does.

The program's own files are read for that when it is over, on the first rank. Nothing of them is
run. The call is told where all that reads its result selects from it in the same scope.
"""

from __future__ import annotations

import time

from . import metadata, recorder, sources, splits
from .kinds import Any, Iterator
from .pace import Budget

_MOST_BYTES = 1 << 17
_BYTE_NS = 1000
"""What a byte of a file may take, at most."""

_MOST_PLACES = 8


def note(budget: Budget) -> bool:
    """At exit: lines of calls whose result loses rows; whether any were found.

    None are told where there was no time for all files: one that is told is to be the only one.
    """
    if recorder.rank_and_size()[0] > 0:
        return False
    import ast  # in the main thread, when all is over

    found: list[str] = []
    for file, text in sources.texts([b"torch"]):
        begin_ns = time.monotonic_ns()
        budget.spent_ns += _BYTE_NS * len(text)
        if len(text) > _MOST_BYTES or not budget.is_left():
            return False
        tree = sources.tree(ast, text)
        if tree is not None:
            told = places(ast, file, tree)
            found += [recorder.place_text(function, file, line) for function, line in told]
        budget.spent_ns += time.monotonic_ns() - begin_ns - _BYTE_NS * len(text)
    metadata.facts["selections"] = found[:_MOST_PLACES]
    return bool(found)


def places(ast: Any, file: str, tree: Any) -> list[tuple[str, int]]:
    """Function and line of all such calls in a file."""
    found = [
        (scope.called, call.lineno)
        for scope in splits.scopes(ast, file, tree)
        for call in _calls(ast, scope.nodes)
    ]
    return sorted(found, key=lambda one: one[1])


def _calls(ast: Any, nodes: list[Any]) -> Iterator[Any]:
    """The calls of a scope whose result is only read to select from it."""
    selected = [one.value for one in nodes if _selects_rows(ast, one)]
    yield from (one for one in selected if _makes(ast, one))
    stores = [one.id for one in nodes if _is_name(ast, one, ast.Store)]
    loads = [one.id for one in nodes if _is_name(ast, one, ast.Load)]
    from_names = [one.id for one in selected if isinstance(one, ast.Name)]
    for node in nodes:
        name = getattr(node.targets[0], "id", "") if _assigns_one(ast, node) else ""
        if name and stores.count(name) == 1 and 0 < loads.count(name) == from_names.count(name):
            yield node.value


def _assigns_one(ast: Any, node: Any) -> bool:
    return isinstance(node, ast.Assign) and len(node.targets) == 1 and _makes(ast, node.value)


def _is_name(ast: Any, node: Any, use: type) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, use)


def _makes(ast: Any, node: Any) -> bool:
    """Whether it is a call of something with arguments, as of a layer."""
    return isinstance(node, ast.Call) and bool(node.args)


def _selects_rows(ast: Any, node: Any) -> bool:
    """Whether it takes all of the first axis and some of another, or what a comparison marks."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return False
    index = splits.index_of(node)
    if isinstance(index, ast.Compare):
        return True
    axes = getattr(index, "dims", None) or getattr(index, "elts", None) or []
    return len(axes) > 1 and _is_whole(ast, axes[0]) and not all(_is_whole(ast, x) for x in axes)


def _is_whole(ast: Any, axis: Any) -> bool:
    if isinstance(axis, ast.Slice):
        return axis.lower is axis.upper is axis.step is None
    return getattr(axis, "value", None) is Ellipsis
