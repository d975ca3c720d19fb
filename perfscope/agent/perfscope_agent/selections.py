"""Where the program selects rows of what a layer has just made, as `score(rows)[:, -1]` does.

The program's own files are read for that when it is over, on the first rank. Nothing of them is
run. The call of what the program makes as a layer (`self.score = Linear(...)`) is told where all
that reads its result selects from it in the same scope.
"""

from __future__ import annotations

import time

from . import metadata, recorder, scopes, sources
from .kinds import Any, Iterator
from .pace import Budget

_MOST_BYTES = 1 << 17
_BYTE_NS = 1000
"""What a byte of a file may take, at most."""

_MOST_PLACES = 8
_LAYERS = ("Linear", "LazyLinear")


def note(budget: Budget) -> bool:
    """At exit: lines of calls whose result loses rows; whether any were found.

    None are told where there was no time for all files: one that is told is to be the only one.
    """
    if recorder.rank_and_size()[0] > 0:
        return False
    import ast  # in the main thread, when all is over

    told = metadata.facts.get("frameworks", {}).get("torch", {}).get("selected_rows") or {}
    trees: list[tuple[str, Any]] = []
    for file, text in sources.texts([b"torch"]):
        begin_ns = time.monotonic_ns()
        budget.spent_ns += _BYTE_NS * len(text)
        if len(text) > _MOST_BYTES or not budget.is_left():
            return False
        tree = sources.tree(ast, text)
        if tree is not None:
            trees.append((file, tree))
        budget.spent_ns += time.monotonic_ns() - begin_ns - _BYTE_NS * len(text)
    layers = {name for _, tree in trees for name in _layers(ast, tree)}
    found = [
        recorder.place_text(function, file, line)
        for file, tree in trees
        for function, line in places(ast, file, tree, layers, told.get("axes", 0))
    ]
    metadata.facts["selections"] = found[:_MOST_PLACES]
    return bool(found)


def places(ast: Any, file: str, tree: Any, layers: set[str], axes: int) -> list[tuple[str, int]]:
    """Function and line of all such calls in a file, of layers of these names."""
    found = [
        (scope.called, call.lineno)
        for scope in scopes.of_file(ast, file, tree)
        for call in _calls(ast, scope.nodes, axes)
        if scopes.last(call.func) in layers
    ]
    return sorted(found, key=lambda one: one[1])


def _layers(ast: Any, tree: Any) -> Iterator[str]:
    """The names of variables and attributes that are given a layer, and the function for one."""
    yield "linear"
    for node in ast.walk(tree):
        if _assigns_one(ast, node) and scopes.last(node.value.func) in _LAYERS:
            yield scopes.last(node.targets[0])


def _calls(ast: Any, nodes: list[Any], axes: int) -> Iterator[Any]:
    """The calls of a scope whose result is only read to select from it."""
    selected = [one.value for one in nodes if _selects_rows(ast, one, axes)]
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


def _selects_rows(ast: Any, node: Any, count: int) -> bool:
    """Whether it takes some of any of so many axes but the last, or what a comparison marks."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return False
    index = sources.index_of(node)
    if isinstance(index, ast.Compare):
        return True
    axes = getattr(index, "dims", None) or getattr(index, "elts", None) or []
    rest = [at for at, one in enumerate(axes) if getattr(one, "value", None) is Ellipsis]
    if rest:
        whole = [ast.Slice()] * (count - len(axes) + 1)
        axes = [*axes[: rest[0]], *whole, *axes[rest[0] + 1 :]]
    some = [at for at, one in enumerate(axes) if not _is_whole(ast, one)]
    return len(axes) > 1 and _is_whole(ast, axes[0]) and bool(some) and max(some) < count - 1


def _is_whole(ast: Any, axis: Any) -> bool:
    if not isinstance(axis, ast.Slice):
        return False
    return all(getattr(axis, name, None) is None for name in ("lower", "upper", "step"))
