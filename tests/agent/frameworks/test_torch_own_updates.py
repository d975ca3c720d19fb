"""Steps of programs that update their parameters themselves, and what is no step."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from tests.agent.jobs import RANK_ZERO, Job
from tests.support.environments import Environment

OWN_UPDATE = """
import torch
model = torch.nn.Linear(4, 1)
for epoch in range(2):
    model.train()
    for batch in range(7):
        model.zero_grad()
        model(torch.ones(3, 4)).sum().backward()
        for parameter in model.parameters():
            parameter.data.add_(parameter.grad, alpha=-0.1)
    model.eval()
    with torch.no_grad():
        model(torch.ones(3, 4))
"""

ACCUMULATED = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters())
for parameter in model.parameters():
    parameter.grad = torch.zeros_like(parameter)
optimizer.step()  # sets the optimizer's state up, as for a broadcast
for batch in range(12):
    model(torch.ones(3, 4)).sum().backward()
    if batch % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
"""


def steps_of(
    text: str, job: Callable[..., Job], environment: Callable[[str], Environment]
) -> list[int]:
    """Numbers of the steps of a program that runs as the only rank."""
    done = job(text, python=environment("torch").python, variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    (rank,) = done.of_role("rank")
    found = rank.steps()
    assert all(step.t0 < step.t1 for step in found)
    assert all(one.t1 <= other.t0 for one, other in itertools.pairwise(found))
    return [step.seq for step in found]


def test_each_backward_pass_without_an_optimizer_is_a_step(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    assert steps_of(OWN_UPDATE, job, environment) == list(range(14))


def test_an_optimizer_has_the_steps_of_its_own(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    assert steps_of(ACCUMULATED, job, environment) == [0, 1, 2]
