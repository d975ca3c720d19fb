"""What may be loaded into somebody's job: old syntax, the standard library, no output."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.jobs import AGENT

FILES = sorted(path for path in AGENT.rglob("*.py"))
# Imported inside functions that run after the framework itself was imported by the program.
FRAMEWORKS = {"frameworks/torch.py": {"torch"}}
# Imported where the user asked for it (`--memory-detail`).
ASKED_FOR = {"frameworks/memray.py": {"memray"}}
OUTPUT = {"sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__", "warnings.warn"}


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").split(".")[0]


def test_directory_on_the_path_holds_only_the_agent() -> None:
    names = {path.name for path in AGENT.iterdir() if path.name != "__pycache__"}
    assert names == {"sitecustomize.py", "perfscope_agent"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(AGENT)))
def test_syntax_is_that_of_python_3_7(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 7))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(AGENT)))
def test_only_the_standard_library_is_imported(path: Path) -> None:
    name = (
        str(path.relative_to(AGENT / "perfscope_agent")) if path.name != "sitecustomize.py" else ""
    )
    known = set(sys.stdlib_module_names) | FRAMEWORKS.get(name, set())
    known |= ASKED_FOR.get(name, set())
    assert set(imported(ast.parse(path.read_text(encoding="utf-8")))) <= known


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(AGENT)))
def test_nothing_is_printed(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    attributes = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert "print" not in names
    assert not attributes & OUTPUT
