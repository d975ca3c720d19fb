"""What optimizers keep is looked at where the program has them step, and not changed by it."""

from collections.abc import Callable

from tests.agent.jobs import RANK_ZERO, Job
from tests.support.environments import Environment

PROGRAM = """
import torch
from perfscope_agent import operands, pace
from perfscope_agent.frameworks import torch_states

pace._SHARE = pace.Budget.SHARE = 0.5  # what looks cost on a slow machine keeps none of them away
torch_states._EVERY_NS = 1000000

model = torch.nn.Linear(300, 300)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)


def improve():
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()


improve()
kept = optimizer.state[model.weight]["momentum_buffer"]
kept.fill_(0.1)
kept[:150] = 1e-39


def looks():
    sites = list(operands.looker._sites.values()) if operands.looker else []
    own = [site for site in sites if site.code is improve.__code__]
    names = [one for site in own for name, one in list(site.operands.items()) if "state" in name]
    return sum(one.looks for one in names)


print(looks() > 0)
momentum = optimizer.param_groups[0]
momentum["momentum"] = 1.0  # what is kept stays as it is
while looks() < 20:
    improve()
print(float(kept[0, 0]) > 0, abs(float(kept[200, 0]) - 0.1) < 1e-6)
"""


def test_values_of_what_an_optimizer_keeps(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    done = job(PROGRAM, python=environment("torch").python, variables=RANK_ZERO)
    assert (done.exit_code, done.stdout) == (0, b"True\nTrue True\n"), done.stderr
    metadata = done.process.metadata
    assert metadata["agent_notes"] == []
    told = {
        one["name"]: (site["place"].split("\x1f")[0], one)
        for site in metadata["operands"]["sites"]
        for one in site["operands"]
    }
    function, state = told["optimizer.state.momentum_buffer"]
    assert function.endswith("improve")
    assert state["dtype"] == "float32"
    # the weights come with the biases, which are not subnormal, and with a first look at zeros
    assert 0.1 < state["shares"]["subnormal"] < 0.5
