"""Modules that import each other cannot be read one after the other: there are none.

Nor are there sources of the recorder that call each other, which its headers would not show.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from tests.architecture.test_arrows import PACKAGE, imported_modules, module_name
from tests.support.environments import REPOSITORY


def import_graph() -> dict[str, set[str]]:
    """Which module imports which; a package beside what is in it counts as no import."""
    paths = {module_name(path): path for path in PACKAGE.rglob("*.py")}
    return {
        name: {
            other
            for other in imported_modules(path)
            if other in paths and other != name and not name.startswith(f"{other}.")
        }
        for name, path in paths.items()
    }


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules of one circle, in order; empty where there is none."""
    done: set[str] = set()
    for start in sorted(graph):
        stack = [(start, iter(sorted(graph[start])))]
        path = [start]
        while stack and start not in done:
            following = next(stack[-1][1], None)
            if following is None:
                done.add(path.pop())
                stack.pop()
            elif following in path:
                return [*path[path.index(following) :], following]
            elif following not in done:
                path.append(following)
                stack.append((following, iter(sorted(graph[following]))))
    return []


def test_no_modules_import_each_other() -> None:
    assert circle(import_graph()) == []


def test_a_circle_is_seen() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


RECORDER = REPOSITORY / "native" / "recorder"
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DEFINED = re.compile(
    r"^(?!static|typedef|extern|#|\s)[\w *]+?\b(ps_\w+)(?:\([^;{}]*\)\n\{|[^\n(]*;$)", re.MULTILINE
)
USED = re.compile(r"\bps_\w+")


def recorder_graph() -> dict[str, set[str]]:
    """Which source of the recorder uses functions and variables of which, its own header's too."""
    texts = {
        str(path.relative_to(RECORDER)): COMMENT.sub("", path.read_text(encoding="utf-8"))
        for path in RECORDER.rglob("*.c")
    }
    owner = {name: path for path, text in texts.items() for name in DEFINED.findall(text)}
    graph = {}
    for path, text in texts.items():
        header = (RECORDER / path).with_suffix(".h")
        inline = COMMENT.sub("", header.read_text(encoding="utf-8")) if header.exists() else ""
        used = {owner[name] for name in USED.findall(text + inline) if name in owner}
        graph[path] = used - {path}
    return graph


def test_no_sources_of_the_recorder_call_each_other() -> None:
    graph = recorder_graph()
    assert "records/claim.c" in graph["records/event.c"]
    assert "records/run_windows.c" in graph["mpi/communicator.c"]
    assert circle(graph) == []


def test_no_finding_imports_another_one() -> None:
    """What two of them need is a fact, which is no finding's own."""
    graph = import_graph()
    findings = {
        name
        for name in graph
        if name.startswith(("perfscope.findings.", "perfscope.studies.findings."))
        and "\nDIAGNOSIS = " in _source(name)
    }
    assert len(findings) > 40
    assert {name: found for name in findings if (found := graph[name] & findings)} == {}


def _source(name: str) -> str:
    path = REPOSITORY.joinpath(*name.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return path.read_text(encoding="utf-8")


def test_tests_are_imported_by_tests_alone() -> None:
    paths = [path for top in ("perfscope", "benchmarks", "scripts") for path in _python(top)]
    found = [path.name for path in paths if any(map(_is_test, imported_modules(path)))]
    assert found == []


def _python(top: str) -> list[Path]:
    return sorted((REPOSITORY / top).rglob("*.py"))


def _is_test(name: str) -> bool:
    return name.split(".", maxsplit=1)[0] == "tests"
