"""Who may import whom: the arrows of docs/architecture.md, read from the imports."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.environments import REPOSITORY

PACKAGE = REPOSITORY / "perfscope"
AGENT = PACKAGE / "agent"
COMMON = {
    "arrays",
    "compiled",
    "engine",
    "errors",
    "files",
    "filesystem",
    "foreign",
    "joined",
    "judging",
    "memory",
    "output",
    "own_files",
    "packed",
    "progress",
    "parallel",
    "places",
    "units",
    "registry",
    "savings",
    "scratch",
    "search",
    "structures",
    "student_t",
}
# Each part may import itself, COMMON and what stands here.
ARROWS = {
    "agent": set(),
    "record": {"agent"},
    "schema": set(),
    "trace": {"schema"},
    "readers": {"record", "schema", "trace"},
    "matching": {"trace"},
    "standstill": {"matching", "schema", "trace"},
    "attribution": {"matching", "schema", "standstill", "trace"},
    "metrics": {"attribution", "matching", "schema", "standstill", "trace"},
    "replay": {"attribution", "matching", "metrics", "schema", "trace"},
    "losses": {"attribution", "matching", "metrics", "replay", "schema", "trace"},
    "findings": {"attribution", "losses", "matching", "metrics", "replay", "schema", "trace"},
    "document": {
        *{"attribution", "findings", "losses", "matching", "metrics", "replay", "schema"},
        *{"record", "standstill", "trace"},
    },
    "studies": {"document", "findings", "metrics", "readers", "replay", "schema", "trace"},
    "studies.findings": {"findings", "metrics", "schema", "studies", "sweep.study", "trace"},
    "sweep": {"record", "schema"},
    "sweep.study": {"findings", "schema", "studies", "sweep", "trace"},
    "dataframes": {
        *{"attribution", "losses", "matching", "metrics", "readers", "replay", "schema", "trace"},
    },
    "export": {"attribution", "dataframes", "matching", "metrics", "readers", "schema", "trace"},
    "report": {"schema"},
    "report.studies": {"report", "schema"},
    "doctor": {"record"},
    "dask": {"readers"},
    "integrations": {"schema"},
    "redaction": {"attribution", "readers"},
    "watch": {"attribution", "metrics", "readers", "report", "schema", "standstill", "trace"},
}
# The command line stands above all of them.
ABOVE_ALL = ("cli",)
# Parts of which another one may import these modules alone.
NARROW = {(part, "record"): {"perfscope.record.redact"} for part in ("readers", "document")}
# Layers of their own inside a part: what is about several runs comes after the studies.
NESTED = ("studies.findings", "report.studies", "sweep.study")
AGENT_SYNTAX = (3, 7)


def python_files(part: Path) -> list[Path]:
    inner = [AGENT, *(place for name in NESTED if (place := place_of(name)) != part)]
    return [path for path in sorted(part.rglob("*.py")) if not {*inner} & {*path.parents}]


def place_of(part: str) -> Path:
    return PACKAGE.joinpath(*part.split("."))


def part_of(module: str) -> str:
    """The part that a module of perfscope belongs to: `findings.study` before `findings`."""
    inside = module.removeprefix("perfscope.")
    nested = (name for name in NESTED if f"{inside}.".startswith(f"{name}."))
    return next(nested, inside.split(".")[0])


def module_name(path: Path) -> str:
    """As the file is imported: the agent's package is one of its own."""
    base = AGENT if AGENT in path.parents else REPOSITORY
    return ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")


@cache
def imported_modules(path: Path) -> tuple[str, ...]:
    """Absolute names of what a file imports, also inside functions or for annotations alone."""
    return tuple(_imported_modules(path))


def _imported_modules(path: Path) -> Iterator[str]:
    inside = module_name(path).split(".")
    package = inside if path.name == "__init__.py" else inside[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*above, *([node.module] if node.module else [])])
            yield start
            yield from (f"{start}.{alias.name}" for alias in node.names)


def imported_parts(path: Path) -> set[str]:
    """The parts of perfscope that a file imports from."""
    parts = {
        part_of(name)
        for name in imported_modules(path)
        if name.startswith("perfscope.") and not name.startswith("perfscope.__")
    }
    return {part for part in parts if place_of(part).is_dir() or (PACKAGE / f"{part}.py").exists()}


def parts_of_the_house() -> list[str]:
    tops = sorted(path.name for path in PACKAGE.iterdir() if any(path.glob("**/*.py")))
    return [*tops, *NESTED]


@pytest.mark.parametrize("part", parts_of_the_house())
def test_arrows_go_one_way(part: str) -> None:
    assert part in ARROWS or part in ABOVE_ALL, f"perfscope/{part} is new: state what it may import"
    allowed = {*ARROWS} if part in ABOVE_ALL else ARROWS[part]
    allowed |= COMMON | {part}
    wrong = {
        f"{path.relative_to(REPOSITORY)} imports {other}"
        for path in python_files(place_of(part))
        for other in imported_parts(path) - allowed
    }
    assert not wrong


@pytest.mark.parametrize(("part", "other"), NARROW)
def test_narrow_arrows_lead_to_single_modules(part: str, other: str) -> None:
    found = {
        name
        for path in python_files(place_of(part))
        for name in imported_modules(path)
        if name.startswith(f"perfscope.{other}.")
    }
    modules = {name for name in found if place_of_module(name).exists()}
    assert modules == NARROW[part, other]


def place_of_module(name: str) -> Path:
    return REPOSITORY.joinpath(*name.split(".")).with_suffix(".py")


@pytest.mark.parametrize("name", sorted(COMMON))
def test_common_modules_import_no_part(name: str) -> None:
    assert imported_parts(PACKAGE / f"{name}.py") <= COMMON


def test_dataclasses_cost_nothing_to_declare() -> None:
    """`perfscope.structures` has them; slots are the standard library's alone."""
    found = [
        str(path.relative_to(REPOSITORY))
        for part in PACKAGE.iterdir()
        for path in python_files(part)
        if "dataclasses.dataclass" in imported_modules(path)
        and "slots=True" not in path.read_text(encoding="utf-8")
    ]
    assert found == [], "take dataclass from perfscope.structures, not from dataclasses"


def test_agent_imports_the_standard_library_alone() -> None:
    """A framework's own file may name its framework, which is loaded when the file is used."""
    own = {"perfscope_agent", "sitecustomize", "perfscope"}
    wrong = {
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in AGENT.rglob("*.py")
        for name in imported_modules(path)
        if name.split(".")[0] not in sys.stdlib_module_names | own
        if not (path.parent.name == "frameworks" and name.split(".")[0] == path.stem)
    }
    assert not wrong


def test_agent_imports_nothing_of_the_rest_of_perfscope() -> None:
    wrong = {
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in AGENT.rglob("*.py")
        for name in imported_modules(path)
        if name.startswith("perfscope.") and not name.startswith("perfscope.agent")
    }
    assert not wrong


def test_agent_is_written_in_the_syntax_of_python_3_7() -> None:
    for path in AGENT.rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=AGENT_SYNTAX)


def test_agent_directory_holds_only_what_may_shadow_nothing() -> None:
    names = {
        path.name for path in AGENT.iterdir() if not path.name.startswith((".", "__pycache__"))
    }
    assert names <= {"sitecustomize.py", "perfscope_agent"}


def test_recording_starts_without_heavy_imports() -> None:
    """`perfscope run` and --help must not wait for numpy or pandas."""
    heavy = {"numpy", "pandas", "jinja2"}
    light = [
        *python_files(PACKAGE / "record"),
        PACKAGE / "cli" / "main.py",
        PACKAGE / "__init__.py",
    ]
    wrong = {
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in light
        for name in imported_modules(path)
        if name.split(".")[0] in heavy
    }
    assert not wrong
