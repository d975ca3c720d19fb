"""How often parts still read documents by string keys: whoever lowers a number keeps it here."""

import ast
from collections import Counter

from tests.architecture.test_arrows import PACKAGE

MOST = {"document": 21}
"""Of the others none; what is left there reads metadata and tables of the trace."""

PARTS = ("cli", "document", "report", "studies", "sweep")
READERS = {
    "figure",
    "follow",
    "integer",
    "integers",
    "mapping",
    "maybe_numbers",
    "number",
    "numbers",
    "rows",
    "text",
    "texts",
}


def is_by_key(node: ast.AST) -> bool:
    """Whether it reads `x["key"]`, `x.get("key")`, or a path of keys by one of the readers."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Load) and is_text(node.slice)
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name == "get":
        return bool(node.args) and is_text(node.args[0])
    return name in READERS and any(is_text(one) for one in node.args[1:])


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_ever_fewer_parts_read_the_result_by_string_keys() -> None:
    found = Counter(
        part
        for part in PARTS
        for path in (PACKAGE / part).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if is_by_key(node)
    )
    more = {part: found[part] for part in PARTS if found[part] > MOST.get(part, 0)}
    assert not more, "read attributes of the structures in perfscope/schema instead"
