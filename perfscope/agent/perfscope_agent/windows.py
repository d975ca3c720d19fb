"""Windows that are made anew for each piece: `rows = join([rows[1:], piece])`.

That copies all that stays for what is new. Looks tell which variables a line makes anew of what
they held, and that these hold as much each time; the program's own files, read when it is over,
tell that the call is given all but one end of it, and pieces that have a name. What the call does,
and how large the pieces are, is not in the text: samples and looks tell that. Nothing is run.
"""

from __future__ import annotations

import time

from . import metadata, scopes, sources
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
        for scope in scopes.of_file(ast, file, tree)
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
    """Whether a call takes all but one end of what the name means, and other named arrays."""
    if not isinstance(value, ast.Call):
        return False
    given: list[Any] = []
    for one in value.args:
        given += one.elts if isinstance(one, (ast.List, ast.Tuple)) else [one]
    pieces = [one for one in given if not _is_end_cut(ast, one, name)]
    known = [one for one in pieces if not isinstance(one, ast.Constant)]  # an axis
    is_cut_once = len(pieces) == len(given) - 1
    return is_cut_once and bool(known) and all(_dotted(ast, one) not in ("", name) for one in known)


def _is_end_cut(ast: Any, node: Any, name: str) -> bool:
    if not isinstance(node, ast.Subscript) or _dotted(ast, node.value) != name:
        return False
    index = sources.index_of(node)
    axes = getattr(index, "dims", None) or getattr(index, "elts", None) or [index]
    cuts = [one for one in axes if isinstance(one, ast.Slice) and one.step is None]
    ends = [one for one in cuts if one.lower is not None or one.upper is not None]
    return len(cuts) == len(axes) and len(ends) == 1 and _drops_one_end(ast, ends[0])


def _drops_one_end(ast: Any, cut: Any) -> bool:
    """`[n:]` and `[:-n]`, and not `[-n:]` and `[:n]`, which tell how much stays."""
    is_negative = [
        isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.USub)
        for one in (cut.lower, cut.upper)
    ]
    return is_negative == [False, cut.lower is None] and (cut.lower is None) != (cut.upper is None)
