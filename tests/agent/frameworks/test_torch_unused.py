"""Gradients that no optimizer uses, as the agent sees them in jobs of one process."""

import json
from typing import Any

import pytest

from tests.agent.frameworks.torch_forks import ran
from tests.agent.jobs import RANK_ZERO

PROGRAM = """
import json, sys, torch
from perfscope_agent import metadata, pace
from perfscope_agent.frameworks import torch_unused
pace.Budget.SHARE = 0.5  # what looks cost on a slow machine keeps none of them away

def train(kind):
    torch.manual_seed(0)
    layers = torch.nn.Linear(30, 200), torch.nn.ReLU(), torch.nn.Linear(200, 8)
    encoder, head = torch.nn.Sequential(*layers), torch.nn.Linear(8, 1)
    both = [*encoder.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(both if kind == "all" else head.parameters(), lr=0.01)
    for step in range(40):
        with torch.set_grad_enabled(kind != "no_grad"):
            found = encoder(torch.rand(50, 30))
        loss = head(found).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if kind == "by hand":
            for parameter in encoder.parameters():
                parameter.data -= 0.01 * parameter.grad

for kind in sys.argv[1:]:
    torch_unused._looker = torch_unused._Looker()
    train(kind)
    print(json.dumps(metadata.facts["frameworks"]["torch"].pop("unused_gradients", None)))
"""
KINDS = ("frozen", "all", "no_grad", "by hand")


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any] | None]:
    """What is noted of each kind of program, in one process that loads PyTorch once."""
    job = ran(PROGRAM, tmp_path_factory.mktemp("unused"), *KINDS, variables=RANK_ZERO)
    assert job.process.metadata["agent_notes"] == []
    return dict(zip(KINDS, map(json.loads, job.stdout.splitlines()), strict=True))


def test_what_leads_to_parameters_of_no_optimizer_is_timed(
    noted: dict[str, dict[str, Any] | None],
) -> None:
    told = noted["frozen"]
    assert told is not None
    assert told["looks"] == 4  # the 4th, 8th, 16th and 32nd pass
    assert (told["parameters"], told["values"]) == (4, 30 * 200 + 200 + 200 * 8 + 8)
    assert told["largest"] == [200, 30]
    assert 0 < told["needless_ns"] < told["whole_ns"]


@pytest.mark.parametrize("kind", ["all", "no_grad", "by hand"])
def test_gradients_that_are_used_or_not_computed(
    noted: dict[str, dict[str, Any] | None], kind: str
) -> None:
    """An optimizer holds all; none are asked for; the program updates what none holds itself."""
    assert noted[kind] is None
