"""Text leaves the process at one place: nothing else in perfscope prints, in a job nothing."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.environments import REPOSITORY

PACKAGE = REPOSITORY / "perfscope"
# The place itself, and the console of summaries, which uses its rules.
PLACES = {PACKAGE / "output.py", PACKAGE / "report" / "console.py"}
STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}
ALLOWED_OF_A_STREAM = {"isatty", "fileno", "flush"}
PRINTERS = {
    ("click", "echo"),
    ("click", "secho"),
    ("click", "echo_via_pager"),
    ("traceback", "print_exc"),
    ("traceback", "print_exception"),
    ("warnings", "warn"),
    ("rich", "print"),
}
WORDS = re.compile("print|echo|Console|warn|std(?:out|err)")
"""Without one of them no file prints: few have to be parsed."""


def other_ways(path: Path) -> Iterator[str]:
    """What in a file prints by itself, with its line."""
    source = path.read_text(encoding="utf-8")
    if not WORDS.search(source):
        return
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if _prints(node, parents.get(node)):
            yield f"{path.relative_to(REPOSITORY)}:{getattr(node, 'lineno', 0)}"


def _prints(node: ast.AST, parent: ast.AST | None) -> bool:
    if isinstance(node, ast.Name) and node.id == "print":
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in {"echo", "secho", "Console"}
    if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
        return False
    if (node.value.id, node.attr) in PRINTERS:
        return True
    if node.value.id != "sys" or node.attr not in STREAMS:
        return False
    return not (isinstance(parent, ast.Attribute) and parent.attr in ALLOWED_OF_A_STREAM)


def test_nothing_prints_by_another_way() -> None:
    paths = sorted({*PACKAGE.rglob("*.py")} - PLACES)
    assert [found for path in paths for found in other_ways(path)] == []
