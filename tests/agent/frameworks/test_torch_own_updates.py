"""Steps of programs that update their parameters themselves or not, and where they do so."""

import itertools

import pytest

from tests.agent.frameworks.torch_forks import ranks_of
from tests.agent.jobs import Process

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


TWO_LOOPS = """
import torch
model = torch.nn.Linear(4, 1)
def warm_up():
    model(torch.ones(3, 4)).sum().backward()
def fine_tune():
    model(torch.ones(3, 4)).mean().backward()
for batch in range(80):
    warm_up()
for batch in range(40):
    fine_tune()
"""

REPORTED = """
import torch
model = torch.nn.Linear(4, 1)
def gradients(samples):
    model.zero_grad()
    model(torch.ones(samples, 4)).sum().backward()
    return [parameter.grad.clone() for parameter in model.parameters()]
for update in range(20):
    mine = gradients(3)
    if update % 5 == 4:
        report = sum(gradients(9)[0].norm() for part in range(6))
    with torch.no_grad():
        for parameter, gradient in zip(model.parameters(), mine):
            parameter.sub_(gradient, alpha=0.1)
"""
"""What is reported of gradients updates nothing."""

IN_PARTS = """
import torch
model = torch.nn.Linear(4, 1)
for update in range(40):
    for part in range(3):
        model(torch.ones(2, 4)).sum().backward()
    for parameter in model.parameters():
        parameter.data = parameter.data - 0.1 * parameter.grad
        parameter.grad = None
"""

UNKNOWN = """
import sys, torch
torch_leaves = sys.modules["perfscope_agent.frameworks.torch_leaves"]
model, find = torch.nn.Linear(4, 1), torch_leaves._leaves
def fails(loss):
    raise ValueError("a loss of a class of the program's own")
for update in range(80):
    if update == 40:
        sys.modules["perfscope_agent.frameworks.torch"]._loop.own._leaves._budget.spent_ns = 1 << 62
    for part in range(2):
        torch_leaves._leaves = fails if update in (20, 30) and part else find
        model(torch.ones(3, 4)).sum().backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.sub_(parameter.grad, alpha=0.1)
"""
"""What was updated is not known at times, and from the half on never."""

LONG_REPORT = REPORTED.replace(
    "    mine =",
    """
    if update == 1:  # it is of this process with its first pass
        own = sys.modules["perfscope_agent.frameworks.torch"]._loop.own
        own._leaves._budget.spent_ns = -1 << 62  # however slow it is here, all are looked at
    mine =""",
)
LONG_REPORT = "import sys\n" + LONG_REPORT.replace("range(6)", "range(150)")
LONG_REPORT += """
model(torch.ones(3, 4)).sum().backward()
for part in range(301):
    gradients(9)
assert own._count > 300 and len(own._group) == 64, (own._count, len(own._group))
"""

OWN_NODE = REPORTED.replace(
    "model(torch.ones(samples, 4))", "Twice.apply(model(torch.ones(samples, 4)))"
)
OWN_NODE = OWN_NODE.replace(
    "def gradients",
    """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, given):
        ctx.variable = torch.rand(3)
        return given * 2
    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2
def gradients""",
)
"""A function of the program's own keeps something by the name that PyTorch has for parameters."""

LAZY = """
import sys, torch
from torch._C import _is_cow_tensor as is_lazy
whole = torch.ones(2, 4)
lazy = torch.nn.Parameter(torch._lazy_clone(whole)[1:])
loss = (torch.ones(1, 4) * lazy).sum()
assert is_lazy(lazy)
sys.modules["perfscope_agent.frameworks.torch_leaves"].Leaves()._look(loss)
assert is_lazy(lazy), "memory was copied"
address_of = sys.modules["perfscope_agent.frameworks.torch_states"].address_of
assert address_of(lazy) == address_of(whole) + 16 and is_lazy(whole)
whole = whole.clone()
assert address_of(whole[1:]) == whole.data_ptr() + 16
loss.backward()
"""

GAN = """
import torch
d, g = torch.nn.Linear(2, 1), torch.nn.Linear(2, 2)
od, og = torch.optim.Adam(d.parameters()), torch.optim.Adam(g.parameters())
for _ in range(5):
    fake = g(torch.ones(3, 2))
    od.zero_grad()
    (d(torch.ones(3, 2)) - d(fake.detach())).sum().backward()
    od.step()
    og.zero_grad()
    d(fake).sum().backward()
    og.step()
"""


PROGRAMS = {
    "own update": OWN_UPDATE,
    "accumulated": ACCUMULATED,
    "optimized": OPTIMIZED,
    "played": PLAYED,
    "own call": OWN_CALL,
    "patched": PATCHED,
    "one by one": ONE_BY_ONE,
    "words": WORDS,
    "two loops": TWO_LOOPS,
    "reported": REPORTED,
    "in parts": IN_PARTS,
    "unknown": UNKNOWN,
    "long report": LONG_REPORT,
    "own node": OWN_NODE,
    "lazy": LAZY,
    "gan": GAN,
}

Steps = list[tuple[int, int]]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Process]:
    """What was written about each program."""
    return ranks_of(PROGRAMS, tmp_path_factory.mktemp("updates"))


@pytest.fixture
def steps(ranks: dict[str, Process]) -> dict[str, Steps]:
    """Numbers and samples of the steps of each program."""
    for rank in ranks.values():
        assert all(step.t0 < step.t1 for step in rank.steps())
        assert all(one.t1 <= other.t0 for one, other in itertools.pairwise(rank.steps()))
    return {name: [(step.seq, step.sent) for step in rank.steps()] for name, rank in ranks.items()}


def test_each_backward_pass_without_an_optimizer_is_a_step(steps: dict[str, Steps]) -> None:
    assert steps["own update"] == [(0, 0), *((number, 3) for number in range(1, 14))]


def test_passes_that_no_update_follows_are_no_steps(steps: dict[str, Steps]) -> None:
    """But where one needs several: there it is one step of all their samples."""
    assert steps["reported"] == [(0, 0), *((number, 3) for number in range(1, 20))]
    assert steps["in parts"] == [(0, 4), *((number, 6) for number in range(1, 40))]


def test_where_updates_cannot_be_seen_as_many_passes_are_a_step_as_before(
    steps: dict[str, Steps],
) -> None:
    assert steps["unknown"] == [(0, 3), *((number, 6) for number in range(1, 80))]


def test_passes_without_an_update_are_not_kept(steps: dict[str, Steps]) -> None:
    """The program looks at that; its steps are those of its updates, and the passes at its end."""
    assert len(steps["long report"]) == 20 + 1


def test_what_a_function_of_the_program_keeps_is_no_parameter(steps: dict[str, Steps]) -> None:
    assert steps["own node"] == steps["reported"]


def test_parameters_that_share_memory_until_they_are_changed_go_on_to_do_so(
    steps: dict[str, Steps],
) -> None:
    """The program looks at that."""
    assert len(steps["lazy"]) == 1


def test_an_optimizer_has_the_steps_of_its_own(steps: dict[str, Steps]) -> None:
    assert steps["accumulated"] == [(0, 9), (1, 12), (2, 12)]


def test_a_batch_is_looked_at_where_no_loader_tells_it_and_now_and_then_again(
    steps: dict[str, Steps],
) -> None:
    known = [(number, 5 if number < 64 else 3) for number in range(1, 70)]
    assert steps["optimized"] == [(0, 0), *known]


def test_samples_are_of_the_call_that_gradients_are_of(steps: dict[str, Steps]) -> None:
    assert steps["played"] == [(0, 0), *((number, 16) for number in range(1, 6))]


def test_classes_of_models_are_left_as_they_were(steps: dict[str, Steps]) -> None:
    assert steps["own call"] == [(0, 0), *((number, 3) for number in range(1, 6))]


def test_what_the_program_puts_around_modules_stays(steps: dict[str, Steps]) -> None:
    assert len(steps["patched"]) == 10


@pytest.mark.parametrize(("name", "expected"), [("one by one", 0), ("words", 3)])
def test_the_features_of_one_sample_are_no_batch(
    steps: dict[str, Steps], name: str, expected: int
) -> None:
    """Whole numbers in one dimension are one: of words, of nodes."""
    assert [sent for _, sent in steps[name]] == [0] + [expected] * 5


def test_a_loop_that_is_entered_later_is_a_place_of_updates_as_well(
    ranks: dict[str, Process],
) -> None:
    told = ranks["two loops"].metadata["updates"]
    told = [one for one in told if one.split("\x1f")[1].endswith("/two loops")]
    assert {one.split("\x1f")[0] for one in told} == {"warm_up", "fine_tune", "<module>"}
    assert len(told) == len(set(told)) == 4


def test_gan_has_one_step_an_iteration(ranks: dict[str, Process]) -> None:
    assert len(ranks["gan"].steps()) == 5
    rates = ranks["gan"].metadata["frameworks"]["torch"]["learning_rates"]
    row = {"optimizer": "Adam", "learning_rate": 0.001, "default": 0.001}
    assert rates == [row, row]
