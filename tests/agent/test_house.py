"""What is loaded into somebody's job prints nothing; tests/architecture says what it may import."""

import ast
from pathlib import Path

import pytest

from tests.agent.jobs import AGENT

FILES = sorted(path for path in AGENT.rglob("*.py"))
OUTPUT = {"sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__", "warnings.warn"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(AGENT)))
def test_nothing_is_printed(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    attributes = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert "print" not in names
    assert not attributes & OUTPUT
