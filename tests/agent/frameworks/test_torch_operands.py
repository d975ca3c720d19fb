"""Tensors that lines work on: in main memory, dense, of exactly PyTorch's own types."""

from collections.abc import Callable

from tests.agent.jobs import RANK_ZERO, Job
from tests.support.environments import Environment

PROGRAM = """
import torch
from perfscope_agent import operands, pace
from torch import nn

pace._SHARE = pace.Budget.SHARE = 0.5  # what looks cost on a slow machine keeps none of them away

torch.set_num_threads(1)
asked = []


class Asking(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        asked.append(function)
        return super().__torch_function__(function, types, arguments, named or {})


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.rand(700, 700))
        self.weights = nn.Parameter(torch.rand(700, 700).half().float())

    def forward(self, inputs):
        return torch.linalg.qr(self.table @ self.weights * inputs)


def was_seen(function, *names):  # at work on each of these
    sites = list(operands.looker._sites.values()) if operands.looker else []
    own = [site for site in sites if site.code is function.__code__]
    seen = {name for site in own for name in list(site.operands)}
    return any(site.looks for site in own) and seen >= {*names}


def repeat(function, names, *arguments):
    while not was_seen(getattr(function, "forward", function), *names):
        function(*arguments)


def sparse(matrix):
    return torch.sparse.mm(matrix, matrix)


def subclassed(tensor):
    torch.Tensor.as_subclass(tensor, torch.Tensor) @ torch.ones(700, 700)


def padded(tokens):
    return torch.sort(tokens)


def shared(tensor, one):
    copy = torch._lazy_clone(tensor)
    return copy[1:] @ one, torch._C._is_cow_tensor(copy)


model = Model()
repeat(model, ["self.table", "self.weights"], torch.rand(700, 1))
repeat(sparse, [], torch.eye(3000).to_sparse())
tokens = torch.zeros(400, 100, dtype=torch.long)
tokens[:, :20] = 5
repeat(padded, ["tokens"], tokens)
stay = set()
while not was_seen(shared, "one"):
    stay.add(shared(model.table, model.table)[1])
special = torch.rand(700, 700).as_subclass(Asking)
del asked[:]
count = len(asked)
while not was_seen(subclassed):
    subclassed(special)
    count += 1
print(len(asked) == 0 or set(map(str, asked)), stay)
"""


def test_tensors_are_told_and_subclasses_are_not_asked(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    done = job(PROGRAM, python=environment("torch").python, variables=RANK_ZERO)
    assert (done.exit_code, done.stdout) == (0, b"True {True}\n"), done.stderr
    metadata = done.process.metadata
    assert metadata["agent_notes"] == []
    told = {
        (site["place"].split("\x1f")[0].rpartition(".")[2], one["name"]): one
        for site in metadata["operands"]["sites"]
        for one in site["operands"]
    }
    table, weights = told["forward", "self.table"], told["forward", "self.weights"]
    assert (table["kind"], table["dtype"], table["requires_grad"]) == ("tensor", "float32", False)
    assert (weights["kind"], weights["requires_grad"]) == ("parameter", True)
    assert table["contents"] == weights["contents"] == 1
    assert told["padded", "tokens"]["shares"] == {"padding": 0.8, "padding_of_longest": 0.8}
    assert told["shared", "one"]["contents"] == 1
    assert ("sparse", "matrix") not in told
    assert ("subclassed", "tensor") not in told
