"""Steps of a process that trains parameters of its own and of others by PyTorch's RPC."""

from collections.abc import Callable

from tests.agent.jobs import Job
from tests.support.environments import Environment

TRAINED = """
import sys, tempfile, torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
import torch.multiprocessing as mp
from torch.distributed.optim import DistributedOptimizer

def layer():
    return torch.nn.Linear(3, 2)

def parameters(of):
    return [rpc.RRef(one) for one in of.local_value().parameters()]

def through(of, batch):
    return of.local_value()(batch)

def work(rank, meeting):
    options = rpc.TensorPipeRpcBackendOptions(init_method="file://%s/meeting" % meeting)
    rpc.init_rpc("member%d" % rank, rank=rank, world_size=2, rpc_backend_options=options)
    if rank == 1:
        kept = rpc.remote("member0", layer)
        update = DistributedOptimizer(
            torch.optim.SGD, rpc.rpc_sync("member0", parameters, (kept,)), lr=0.1
        )
        for _ in range(7):
            with dist_autograd.context() as context:
                loss = rpc.rpc_sync("member0", through, (kept, torch.ones(4, 3))).sum()
                dist_autograd.backward(context, [loss])
                update.step(context)
    rpc.shutdown()

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as meeting:
        mp.start_processes(work, (meeting,), nprocs=2, start_method="fork")
"""


def test_updates_of_parameters_that_others_keep_are_steps(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    done = job(TRAINED, python=environment("torch").python)
    assert done.exit_code == 0, done.stderr
    by_rank = {
        one.metadata["frameworks"]["torch"]["rank"]: one
        for one in done.of_role("rank")
        if "torch" in one.metadata["frameworks"]
    }
    assert {rank: len(one.steps()) for rank, one in by_rank.items()} == {0: 0, 1: 7}
    phases = [name for name, _ in by_rank[1].phases()]
    assert (phases.count("backward"), phases.count("optimizer")) == (7, 7)
