"""docs/python.md: every snippet runs, and prints what the page shows below it."""

import ast
import contextlib
import io
import re
from typing import Any

import pytest

from tests.support.environments import REPOSITORY

PAGE = REPOSITORY / "docs" / "python.md"
SNIPPET = re.compile(r"^```python\n([\s\S]*?)^```\n\n((?: {4}.*\n)+)", re.MULTILINE)


def run(code: str, names: dict[str, Any]) -> str:
    """What a snippet prints, its last expression included, as in a notebook."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, str(PAGE), "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), str(PAGE), "eval"), names)
            if value is not None:
                printed.write(f"{value}\n")
    return printed.getvalue()


def test_snippets_print_what_the_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    snippets = SNIPPET.findall(PAGE.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    printed = [run(code, names).split() for code, _ in snippets]
    assert printed == [shown.split() for _, shown in snippets]
    assert len(snippets) == 7
