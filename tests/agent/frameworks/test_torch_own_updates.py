"""Steps of programs that update their parameters themselves, and what is no step."""

import itertools
from collections.abc import Callable

import pytest

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


OPTIMIZED = """
import torch
before = torch.nn.Module.__call__
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters())
for batch in range(70):
    optimizer.zero_grad()
    model(torch.ones(5 if batch < 60 else 3, 4)).sum().backward()
    optimizer.step()
assert torch.nn.Module.__call__ is before
"""

OWN_CALL = """
import torch
before = torch.nn.Module.__call__
class Model(torch.nn.Linear):
    __call__ = lambda self, *given: torch.nn.Linear.__call__(self, *given)
class Plain(torch.nn.Linear):
    pass
models = Model(4, 1), Plain(4, 1)
for batch in range(6):
    for model in models:
        model(torch.ones(1, 4))  # what comes before the batch
    sum(model(torch.ones(3, 4)).sum() for model in models).backward()
    for parameter in (one for model in models for one in model.parameters()):
        parameter.data.add_(parameter.grad, alpha=-0.1)
assert torch.nn.Module.__call__ is before
assert "__call__" in vars(Model) and "__call__" not in vars(Plain)
"""

PATCHED = """
import torch
model = torch.nn.Linear(4, 1)
model(torch.ones(3, 4)).sum().backward()
before, seen = torch.nn.Module.__call__, []
def call(self, *args):
    seen.append(len(args))
    return before(self, *args)
torch.nn.Module.__call__ = call
for batch in range(9):
    model(torch.ones(3, 4)).sum().backward()
assert seen == [1] * 9, seen
"""

ONE_BY_ONE = """
import torch
model = torch.nn.Linear(4, 1)
for batch in range(6):
    torch.stack([model(torch.ones(4)) for _ in range(5)]).sum().backward()
"""

WORDS = """
import torch
model = torch.nn.Embedding(10, 4)
for batch in range(6):
    model(torch.tensor([1, 2, 3])).sum().backward()
"""

PLAYED = """
import torch
value, target, scale = torch.nn.Linear(4, 2), torch.nn.Linear(4, 2), torch.nn.LayerNorm(1)
optimizer = torch.optim.SGD(value.parameters())
before = torch.nn.Module.__call__
for move in range(60):
    value(torch.ones(1, 4)).argmax(dim=1)
    if move % 10 == 9:
        with torch.no_grad():
            wanted = target(torch.ones(16, 4)).max(dim=1)[0]
        loss = (value(torch.ones(16, 4)).max(dim=1)[0] - wanted).square()
        scale(loss.reshape(-1, 1).expand(-1, 1)[:7]).sum()
        optimizer.zero_grad()
        loss.mean().backward()
        optimizer.step()
assert torch.nn.Module.__call__ is before
"""
"""An agent asks its model for moves, one at a time, and learns from what it remembers of them."""


def steps_of(
    text: str, job: Callable[..., Job], environment: Callable[[str], Environment]
) -> list[tuple[int, int]]:
    """Numbers and samples of the steps of a program that runs as the only rank."""
    done = job(text, python=environment("torch").python, variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    (rank,) = done.of_role("rank")
    found = rank.steps()
    assert all(step.t0 < step.t1 for step in found)
    assert all(one.t1 <= other.t0 for one, other in itertools.pairwise(found))
    return [(step.seq, step.sent) for step in found]


def test_each_backward_pass_without_an_optimizer_is_a_step(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    known = [(number, 3) for number in range(1, 14)]
    assert steps_of(OWN_UPDATE, job, environment) == [(0, 0), *known]


def test_an_optimizer_has_the_steps_of_its_own(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    assert steps_of(ACCUMULATED, job, environment) == [(0, 9), (1, 12), (2, 12)]


def test_a_batch_is_looked_at_where_no_loader_tells_it_and_now_and_then_again(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    known = [(number, 5 if number < 64 else 3) for number in range(1, 70)]
    assert steps_of(OPTIMIZED, job, environment) == [(0, 0), *known]


def test_samples_are_of_the_call_that_gradients_are_of(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    assert steps_of(PLAYED, job, environment) == [(0, 0), *((number, 16) for number in range(1, 6))]


def test_classes_of_models_are_left_as_they_were(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    expected = [(0, 0), *((number, 3) for number in range(1, 6))]
    assert steps_of(OWN_CALL, job, environment) == expected


def test_what_the_program_puts_around_modules_stays(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    assert len(steps_of(PATCHED, job, environment)) == 10


@pytest.mark.parametrize(("text", "expected"), [(ONE_BY_ONE, 0), (WORDS, 3)])
def test_the_features_of_one_sample_are_no_batch(
    text: str,
    expected: int,
    job: Callable[..., Job],
    environment: Callable[[str], Environment],
) -> None:
    """Whole numbers in one dimension are one: of words, of nodes."""
    assert [sent for _, sent in steps_of(text, job, environment)] == [0] + [expected] * 5
