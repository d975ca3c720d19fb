"""Files that somebody else may have made are opened in one place, which waits for nothing."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.environments import REPOSITORY

PACKAGE = REPOSITORY / "perfscope"
PARTS = (
    "attribution",
    "cli",
    "dataframes",
    "document",
    "findings",
    "matching",
    "metrics",
    "readers",
    "replay",
    "studies",
    "sweep/study",
    "trace",
)
OPENERS = {"open", "read_text", "read_bytes", "write_text", "write_bytes", "memmap", "fromfile"}
MODULES = {"gzip", "mmap", "shelve", "sqlite3", "tempfile", "zipfile"}


def other_ways(tree: ast.AST) -> Iterator[str]:
    """Calls that open a path; `reader.open` is a reader's own and opens through `files`."""
    own = functions_of_the_package(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called.split(".")[-1] in OPENERS and called.removeprefix("super().") not in own:
                yield f"{node.lineno}: {called}"
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            module = node.module if isinstance(node, ast.ImportFrom) else None
            yield from (f"{node.lineno}: {name}" for name in [module, *names] if name in MODULES)


def functions_of_the_package(tree: ast.AST) -> set[str]:
    """What a module calls by names of its own or of another module of the package."""
    own = {"files.read_bytes", "reader.open", "source.reader.open"}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            own.add(node.name)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("perfscope."):
            own |= {alias.asname or alias.name for alias in node.names}
    return own


@pytest.mark.parametrize("part", PARTS)
def test_paths_are_opened_by_one_module(part: str) -> None:
    wrong = []
    for path in sorted((PACKAGE / part).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        wrong += [f"{path.relative_to(REPOSITORY)}:{found}" for found in other_ways(tree)]
    assert wrong == []


def test_the_engine_opens_files_in_one_place() -> None:
    """Those of its own, which have no name, in another."""
    sources = [*(REPOSITORY / "native" / "core").rglob("*.cpp")]
    sources += (REPOSITORY / "native" / "core").rglob("*.h")
    words = ("fopen(", "ifstream", "mmap(", " open(path", "::open(", "openat(")
    found = {
        path.name
        for path in sources
        if path.name != "fuzz.cpp" and any(word in path.read_text() for word in words)
    }
    assert found == {"input.cpp", "scratch.cpp"}


def test_what_opens_files_is_known_by_name() -> None:
    """The test above sees a reader that opens a file by itself."""
    tree = ast.parse("def read(path):\n    return path.read_bytes()\n")
    assert list(other_ways(tree)) == ["2: path.read_bytes"]
    assert Path(PACKAGE / "files.py").exists()
