"""How often torch.compile compiled: rows from what PyTorch keeps, and a program that does it."""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from perfscope.agent.perfscope_agent import metadata
from perfscope.agent.perfscope_agent.frameworks import torch_traces
from perfscope.findings.core.thresholds import COMPILED_OFTEN
from tests.agent.jobs import RANK_ZERO, Job
from tests.support.environments import Environment

PROGRAM = """
import logging
import torch
logging.disable(logging.WARNING)

def scaled(x, factor):
    return x * factor + 1

def scaled_by_tensor(x, factor):
    return x * factor + 1

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.layer(x)

class Counting(torch.nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls

often = torch.compile(scaled, backend="eager", dynamic=False)
counting = torch.compile(Counting(), backend="eager")
once = torch.compile(scaled_by_tensor, backend="eager")
model = torch.compile(Net(), backend="eager")
for step in range(12):
    often(torch.ones(3), float(step))
    counting(torch.ones(3))
    once(torch.ones(3), torch.tensor(float(step)))
    model(torch.ones(2 if step % 4 == 3 else 8, 4)).sum().backward()
    with torch.no_grad():
        model(torch.ones(8 + step, 4))
"""


class Compilation:
    """What PyTorch keeps of one compilation."""

    def __init__(self, compile_id: str, name: str | None = "f", **told: Any) -> None:
        self.compile_id = compile_id
        self.co_name = name
        self.co_filename = "/job/net.py"
        self.co_firstlineno = 7
        self.__dict__.update(told)


def rows(monkeypatch: pytest.MonkeyPatch, *compilations: object) -> list[dict[str, Any]]:
    dynamo = ModuleType("torch._dynamo.utils")
    dynamo.get_compilation_metrics = lambda: list(compilations)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", dynamo)
    noted: dict[str, Any] = {}
    monkeypatch.setattr(metadata, "framework", lambda _name, **told: noted.update(told))
    torch_traces.collect()
    found: list[dict[str, Any]] = noted.get("tracing", [])
    return found


def test_compilations_are_counted_by_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two functions of one name and place, one of them twice; what failed counts for nothing."""
    found = rows(
        monkeypatch,
        Compilation("0/0"),
        Compilation("0/1"),
        Compilation("1/0"),
        Compilation("2/0", "torch_dynamo_resume_in_g_at_9", co_firstlineno=9),
        Compilation("0/1", is_forward=False),
        Compilation("3/0", "h", fail_type="Unsupported", fail_reason="a break of the graph"),
        Compilation("4/0", "h", has_guarded_code=False),
        Compilation("5/0", None),
    )
    row = {"name": "f", "functions": 2, "traces": 3, "most_traces": 2, "file": "/job/net.py"}
    assert found == [
        {**row, "line": 7, "given_up": False},
        {**row, "name": "g", "functions": 1, "traces": 1, "most_traces": 1, "line": 9}
        | {"given_up": False},
    ]


@pytest.mark.parametrize(
    "reason", ["Dynamo recompile limit exceeded\n  Explanation: ...", "cache_size_limit reached"]
)
def test_the_limit_belongs_to_its_function(monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    limit = Compilation("0/8", None, fail_type="Unsupported", fail_reason=reason)
    found = rows(monkeypatch, Compilation("0/0"), Compilation("1/0", "g"), limit)
    assert {row["name"]: row["given_up"] for row in found} == {"f": True, "g": False}


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("0/0: s.k == 0    # def forward(s, x): ...", ("s.k", "value")),
        ("0/0: L['scale'] == 1.5", ("scale", "value")),
        ("0/0: tensor 'x' size mismatch at index 0. expected 3, actual 4", ("x", "shape")),
        ("0/0: tensor 'L['x']' dtype mismatch. expected Float, actual Double", ("x", "type")),
        ("0/0: tensor 'x' dispatch key set mismatch. expected A, actual B", None),
        ("0/0: len(L['xs']) == 3", None),
        ("", None),
    ],
)
def test_what_changed_is_read_from_the_reasons(
    monkeypatch: pytest.MonkeyPatch, reason: str, told: tuple[str, str] | None
) -> None:
    again = Compilation("0/1", recompile_reason=reason)
    (row,) = rows(monkeypatch, Compilation("0/0"), again, Compilation("0/2"))
    changed = {"argument": told[0], "changes": told[1], "again": 1} if told else {}
    assert {key: row[key] for key in ("argument", "changes", "again") if key in row} == changed


def test_another_pytorch_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without numbers of the functions, and with things that are something else."""
    old = Compilation("")
    del old.compile_id
    assert [row["traces"] for row in rows(monkeypatch, old, old, object())] == [2]
    assert rows(monkeypatch) == []
    assert rows(monkeypatch, Compilation("0/0", co_firstlineno="seven")) == []


def place(text: str) -> tuple[str, int]:
    """Name and line of a function of the program."""
    name = text.partition("(")[0].removeprefix("def ")
    return name, PROGRAM[: PROGRAM.index(text)].count("\n") + 1


def test_a_program_that_compiles_for_each_number(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    """Python numbers that change are compiled for up to the limit; tensors and shapes are not."""
    done = job(PROGRAM, python=environment("torch").python, variables=RANK_ZERO)
    assert (done.exit_code, done.stderr) == (0, b"")
    (process,) = done.of_role("rank")
    rows = process.metadata["frameworks"]["torch"]["tracing"]
    assert all(row["file"].endswith("/program.py") for row in rows)
    found = {(row["name"], row["line"]): (row["most_traces"], row["given_up"]) for row in rows}
    changed = {row["name"]: row.get("argument") for row in rows if row["most_traces"] > 2}
    assert changed["scaled"] == "factor"
    assert found[place("def scaled(")] == (8, True)
    assert found[place("def forward(self, x):\n        self.calls")] == (8, True)
    assert found[place("def scaled_by_tensor(")] == (1, False)
    compiled, given_up = found[place("def forward(self, x):\n        return")]
    assert 2 <= compiled <= COMPILED_OFTEN
    assert not given_up
