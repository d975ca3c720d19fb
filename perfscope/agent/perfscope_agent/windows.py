"""Windows that are made anew for each piece: `rows = join([rows[1:], piece])`.

That copies all that stays for what is new. Looks tell which variables a line makes anew of what
they held, and that these hold as much each time; the program's own files, read when it is over,
tell that the call is given all but one end of it. Nothing of them is run.
"""

from __future__ import annotations

import time

from . import metadata, sources, splits
from .kinds import Any
from .pace import Budget

_MOST_BYTES = 1 << 17
_BYTE_NS = 1000
"""What a byte of a file may take, at most."""


def note(budget: Budget) -> bool:
    """At exit: marks what lines make anew where they do so of a window; whether any was marked."""
    asked: dict[str, list[dict[str, Any]]] = {}
    for row in (metadata.facts.get("operands") or {}).get("carried") or ():
        _, file, _ = row["place"].split("\x1f")
        if row["values"][0] == row["values"][1] > 0 and row["looks"] > 1:
            asked.setdefault(file, []).append(row)
    if not asked:
        return False
    import ast  # in the main thread, when all is over

    for file, text in sources.texts([b"["]):
        if file not in asked or len(text) > _MOST_BYTES or not budget.is_left():
            continue
        begin_ns = time.monotonic_ns()
        tree = sources.tree(ast, text)
        moved = [] if tree is None else places(ast, file, tree)
        for row in asked[file]:
            line = int(row["place"].split("\x1f")[2])
            is_one = any(name == row["name"] and a <= line <= b for name, a, b in moved)
            row.update({"is_window": True} if is_one else {})
        budget.spent_ns += time.monotonic_ns() - begin_ns
    return any(row.get("is_window") for rows in asked.values() for row in rows)


def places(ast: Any, file: str, tree: Any) -> list[tuple[str, int, int]]:
    """Name, first and last line of what a file makes of all but one end of it and more."""
    return [
        (name, node.lineno, getattr(node, "end_lineno", node.lineno))
        for scope in splits.scopes(ast, file, tree)
        for node in scope.nodes
        if isinstance(node, ast.Assign) and len(node.targets) == 1
        for name in [_dotted(ast, node.targets[0])]
        if name and _is_moved(ast, node.value, name)
    ]


def _dotted(ast: Any, node: Any) -> str:
    """The name of a variable or attribute, `self.rows`; "" of anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(parts)) if parts[-1] else ""


def _is_moved(ast: Any, value: Any, name: str) -> bool:
    """Whether a call takes all but one end of what the name means, and something beside."""
    if not isinstance(value, ast.Call):
        return False
    given: list[Any] = []
    for one in value.args:
        given += one.elts if isinstance(one, (ast.List, ast.Tuple)) else [one]
    return len(given) > 1 and any(_is_end_cut(ast, one, name) for one in given)


def _is_end_cut(ast: Any, node: Any, name: str) -> bool:
    if not isinstance(node, ast.Subscript) or _dotted(ast, node.value) != name:
        return False
    index = splits.index_of(node)
    axes = getattr(index, "dims", None) or getattr(index, "elts", None) or [index]
    cuts = [one for one in axes if isinstance(one, ast.Slice) and one.step is None]
    return len(cuts) == len(axes) and sum(_is_one_end(one) for one in cuts) == 1


def _is_one_end(cut: Any) -> bool:
    return (cut.lower is None) != (cut.upper is None)
