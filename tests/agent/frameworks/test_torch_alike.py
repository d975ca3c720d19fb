"""Small operations that are alike, as the agent sees them in jobs of one process."""

import json
from typing import Any

import pytest

from perfscope.agent.perfscope_agent.frameworks import torch_alike
from tests.agent.frameworks.torch_forks import ran
from tests.agent.jobs import RANK_ZERO

PROGRAM = """
import json, sys, torch
from perfscope_agent import metadata, pace
from perfscope_agent.frameworks import torch_alike
pace.Budget.SHARE = 0.5  # what looks cost on a slow machine keeps none of them away

def one_by_one(table, turns):
    found = []
    for row in range(turns):
        apart = (table[row] - table).abs().sum(1)
        found.append(torch.log1p(apart).mean())
    return torch.stack(found).sum()

def at_once(table, turns):
    return torch.log1p((table[:, None] - table).abs().sum(2)).mean(1).sum()

def in_order(table, turns):
    state = table[0]
    for row in range(turns):
        state = torch.tanh(state * table[row]) + state
    return state.sum()

def large(table, turns):
    wide = table.repeat(1, 400)
    found = []
    for row in range(turns):
        found.append((wide * float(row)).exp().sum())
    return torch.stack(found).sum()

def few(table, turns):
    return one_by_one(table, 4)

def detached(table, turns):
    found, state = [], torch.zeros(table.shape[1])
    for row in range(turns):
        made = torch.tanh(table[row] * state)
        state = made.detach()
        found.append(made.sum())
    return torch.stack(found).sum()

def in_turn(table, turns):
    is_second = torch_alike.looker.passes % 2  # one has been, and this is the next
    return (one_by_one if is_second else at_once)(table, turns)

for kind in sys.argv[1:]:
    torch.manual_seed(0)
    torch_alike.looker = torch_alike._Looker()
    layer = torch.nn.Linear(12, 6)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.001)
    for step in range(26):
        loss = globals()[kind](layer(torch.rand(20, 12)), 20)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(json.dumps(metadata.facts["frameworks"]["torch"].pop("alike_operations", None)))
"""
KINDS = ("one_by_one", "at_once", "in_order", "large", "few", "detached", "in_turn")


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any] | None]:
    """What is noted of each kind of program, in one process that loads PyTorch once."""
    job = ran(PROGRAM, tmp_path_factory.mktemp("alike"), *KINDS, variables=RANK_ZERO)
    assert job.process.metadata["agent_notes"] == []
    return dict(zip(KINDS, map(json.loads, job.stdout.splitlines()), strict=True))


def test_each_turn_leaves_operations_that_are_alike(
    noted: dict[str, dict[str, Any] | None],
) -> None:
    """Seven operations of 20 turns: select, subtract, abs, sum, add and log, mean."""
    told = noted["one_by_one"]
    assert told is not None
    assert told["graphs"] == 3  # the 6th, the 13th and the 26th pass
    assert told["turns"] == 20
    assert told["alike"] == 20 * told["kinds"]
    assert 3 * 5 <= told["kinds"] <= 3 * 7
    assert told["alike"] > 0.8 * told["small"]
    assert 0 < told["alike_ns"] < told["whole_ns"]


@pytest.mark.parametrize("kind", ["at_once", "large", "few"])
def test_no_many_small_operations(noted: dict[str, dict[str, Any] | None], kind: str) -> None:
    """One does it for all, each computes for long, or the loop turns a few times."""
    assert noted[kind] is None


def test_turns_that_need_the_one_before(noted: dict[str, dict[str, Any] | None]) -> None:
    """Rows are taken alike, and all else is made of what the turn before has made."""
    told = noted["in_order"]
    assert told is None or told["alike"] < 0.5 * told["small"]


def test_a_state_around_the_graph_is_not_seen(noted: dict[str, dict[str, Any] | None]) -> None:
    """Turns look as if none needed another one: nothing that is told may rest on that."""
    told = noted["detached"]
    assert told is not None
    assert told["alike"] > 0.5 * told["small"]


def test_each_of_two_passes_of_a_step_has_its_turn(
    noted: dict[str, dict[str, Any] | None],
) -> None:
    """Of three only the second ones, the 6th and the 26th, have operations that are alike."""
    told, whole = noted["in_turn"], noted["one_by_one"]
    assert told is not None
    assert whole is not None
    assert told["graphs"] == 3
    assert 3 * told["kinds"] == 2 * whole["kinds"]
    assert told["turns"] == 20


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_all_passes_of_a_step_are_looked_at(passes: int) -> None:
    looker = torch_alike._Looker()
    due = [number for number in range(200) if looker.is_due()]
    assert {number % passes for number in due} == set(range(passes))
