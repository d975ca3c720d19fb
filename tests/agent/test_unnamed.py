"""Whose types of C are that name no module, as Python tells them to be its own."""

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from types import ModuleType

import pytest

from perfscope.agent.perfscope_agent import callees, unnamed
from perfscope.attribution.activity_rules import told_by
from perfscope.schema.enums import Activity
from perfscope.trace.model import Frame
from tests.support.environments import REPOSITORY, Environment

MODULE = "scipy.sparse.linalg._dsolve._another"


class Solver:
    """As C makes it."""

    __module__ = "builtins"


class Hidden:
    """One that no module has."""

    __module__ = "builtins"


class generator:  # noqa: N801 - as Python spells it
    """One with the name of a type of Python's own that is no name there."""

    __module__ = "builtins"


def loaded(file: str, **contents: type) -> dict[str, ModuleType]:
    """The modules with another one, from such a file."""
    module = ModuleType(MODULE)
    module.__dict__.update(contents, __file__=file)
    return {**sys.modules, MODULE: module}


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unnamed, "_known", {})


def test_a_type_is_of_the_module_of_c_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = loaded("/lib/_another.cpython-311-x86_64-linux-gnu.so", Solver=Solver)
    monkeypatch.setattr(sys, "modules", modules)
    assert callees._of_class(Solver) == f"{MODULE}.Solver"
    told = told_by(Frame(f"{MODULE}.Solver.solve", callees.FILE, 0))
    assert told is not None
    assert told.activity is Activity.NUMERIC


@pytest.mark.parametrize(
    ("kind", "file", "has", "expected"),
    [
        (Solver, "/lib/solver.py", Solver, "Solver"),
        (Solver, "/lib/solver.so", Hidden, "Solver"),
        (Hidden, "/lib/solver.so", Solver, "Hidden"),
        (generator, "/lib/solver.py", generator, "builtins.generator"),
        (generator, "/lib/solver.so", generator, f"{MODULE}.generator"),
        (type(iter([])), "/lib/solver.so", Solver, "builtins.list_iterator"),
        (ValueError, "/lib/solver.so", Solver, "builtins.ValueError"),
        (dict, "/lib/solver.so", Solver, "builtins.dict"),
    ],
)
def test_what_no_module_of_c_has(
    kind: type, file: str, has: type, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is nobody's if its name is none of Python's: a Python module may have it from others."""
    name = "Solver" if has is Hidden else has.__name__
    monkeypatch.setattr(sys, "modules", loaded(file, **{name: has}))
    assert callees._of_class(kind) == expected


def test_a_type_that_is_gone_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unnamed, "_known", {})
    kind = type("Passing", (), {"__module__": "builtins"})
    gone = weakref.ref(kind)
    unnamed.module_of(kind, "Passing")
    del kind
    gc.collect()
    assert gone() is None


def test_a_factorization_of_scipy_is_scipys(environment: Callable[[str], Environment]) -> None:
    """In an environment that has SciPy on every Python."""
    program = (
        "from scipy.sparse import eye; from scipy.sparse.linalg import splu\n"
        "from perfscope_agent import callees\n"
        "kind = type(splu(eye(3).tocsc()))\n"
        "print(kind.__module__, callees._of_class(kind))"
    )
    told = subprocess.run(
        [environment("tensorflow").python, "-c", program],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "perfscope" / "agent")},
        capture_output=True,
        text=True,
        check=True,
    )
    module, name = told.stdout.split()
    assert module == "builtins"  # or this test says nothing
    assert name.endswith("_superlu.SuperLU")
