"""The size of files and functions, docstrings, and words that must not stand in the repository."""

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.environments import REPOSITORY
from tests.support.requirements import missing

MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 40  # without the docstring
MOST_LINES_IN_TESTS = 71  # which write whole documents in one function
SOURCES = (".py", ".c", ".h", ".cpp", ".hpp", ".js")
TEXTS = (*SOURCES, ".md", ".toml", ".txt", ".sh", ".html", ".css", ".json", ".def", ".jinja", ".j2")
Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
# Directories of somebody's machine, written so that this file does not contain what it looks for.
MACHINE_PATH = re.compile(r"(?<![A-Za-z0-9_.])/(?:" + "work|farm|root" + r")/[A-Za-z.]")


def repository_files() -> list[Path]:
    if shutil.which("git") is None or not (REPOSITORY / ".git").exists():
        missing("git, to list the files of the repository")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    paths = [REPOSITORY / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def text_lines(path: Path) -> list[str]:
    """The lines of a file, also of a recording, whose bytes are not all text."""
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def scopes(statement: ast.AST) -> Iterator[ast.Module | Definition]:
    """A module, and all that is defined in it; expressions hold no definition."""
    if isinstance(statement, ast.Module | Definition):
        yield statement
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for below in getattr(statement, part, ()):
            yield from scopes(below)


def body_lines(function: Function) -> int:
    """Lines from the first statement that is not the docstring to the last."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_files_are_short() -> None:
    lengths = {
        str(path.relative_to(REPOSITORY)): len(path.read_text(encoding="utf-8").splitlines())
        for path in repository_files()
        if path.suffix in SOURCES
    }
    assert {name: n for name, n in lengths.items() if n > MOST_LINES_OF_A_FILE} == {}


@cache
def definitions() -> dict[str, tuple[dict[str, int], list[int]]]:
    """The lengths of the functions of each Python file, and lines of what is bare of a docstring.

    The trees of all files together would take gigabytes: none is kept.
    """
    found = {}
    for path in repository_files():
        if path.suffix == ".py":
            defined = list(scopes(ast.parse(path.read_text(encoding="utf-8"))))
            functions = [one for one in defined if isinstance(one, Function)]
            lengths = {f"{one.lineno} {one.name}": body_lines(one) for one in functions}
            bare = [one for one in public(defined) if ast.get_docstring(one) is None]
            lines = [getattr(one, "lineno", 1) for one in bare]
            found[str(path.relative_to(REPOSITORY))] = lengths, lines
    return found


def test_functions_are_short() -> None:
    long = {
        f"{name}:{function}": lines
        for name, (lengths, _) in definitions().items()
        for function, lines in lengths.items()
        if lines > (MOST_LINES_IN_TESTS if name.startswith("tests/") else MOST_LINES_OF_A_FUNCTION)
    }
    assert long == {}


def test_no_file_names_a_directory_of_somebodys_machine() -> None:
    found = [
        f"{path.relative_to(REPOSITORY)}:{number}: {line.strip()[:100]}"
        for path in repository_files()
        if path.suffix in TEXTS or path.name == "Makefile"
        for number, line in enumerate(text_lines(path), start=1)
        if MACHINE_PATH.search(line)
    ]
    assert found == []


def test_what_is_public_has_a_docstring() -> None:
    bare = {
        name: lines
        for name, (_, lines) in definitions().items()
        if name.startswith("perfscope/") and lines
    }
    assert bare == {}


def public(defined: list[ast.Module | Definition]) -> Iterator[ast.Module | Definition]:
    """A module, which is the first, and what it and its public classes define for others."""
    yield defined[0]
    for scope in defined:
        if isinstance(scope, ast.Module | ast.ClassDef) and not _is_private(scope):
            for node in scope.body:
                if not isinstance(node, Definition) or node.name.startswith("_"):
                    continue
                if not _is_overload(node):
                    yield node


def _is_private(scope: ast.AST) -> bool:
    return isinstance(scope, ast.ClassDef) and scope.name.startswith("_")


def _is_overload(node: Definition) -> bool:
    return any("overload" in ast.dump(decorator) for decorator in node.decorator_list)
