"""What PyTorch's flight recorder tells beside the hooks: real gloo, two ranks on CPUs."""

from collections.abc import Callable

from tests.agent.jobs import Job, Process
from tests.support.environments import Environment

# Of everything here the hooks see all but what DistributedDataParallel and compiled code call.
PROGRAM = """
import os, warnings
warnings.simplefilter("ignore")
import torch, torch.distributed as dist, torch.multiprocessing as multiprocessing
import torch.distributed._functional_collectives as functional
from torch.nn.parallel import DistributedDataParallel

def work(rank, store):
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
    pair = dist.new_group([0, 1])
    model = DistributedDataParallel(torch.nn.Linear(10, 10, bias=False))
    for _ in range(2):
        model(torch.ones(4, 10)).sum().backward()
    with model.no_sync():
        model(torch.ones(4, 10)).sum().backward()
    x = torch.ones(5)
    dist.all_reduce(x)
    dist.all_reduce(x, async_op=True, group=pair).wait()
    functional.all_reduce(x, "sum", pair).sum()

    @torch.compile(backend="aot_eager")
    def reduced(x):
        return functional.all_reduce(x * 2, "sum", pair) + 1

    print(float(reduced(x).sum()), flush=True)
    dist.send(x, 1) if rank == 0 else dist.recv(x, 0)
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    multiprocessing.spawn(work, ("file://" + os.path.abspath("store"),), nprocs=2)
"""


def unseen(rank: Process) -> list[tuple[str, str, int, str]]:
    """Operation, members of the group, PyTorch's number and bytes of what only it has seen."""
    names = {name for name, _ in rank.phases() if name.startswith("torch.flight\x1e")}
    records = [
        (record, name.split("\x1e")) for name in names for record in rank.phase_records(name)
    ]
    return [
        (parts[1], parts[3], record.seq, parts[4])
        for record, parts in sorted(records, key=lambda one: one[0].t0)
    ]


def test_what_ddp_and_compiled_code_call_is_told_once(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    done = job(PROGRAM, python=environment("torch").python)
    assert done.exit_code == 0, done.stderr
    first, second = done.of_role("rank")
    found = unseen(first)
    assert unseen(second) == found
    weights = 10 * 10 * 4
    # the gradients of two backward passes and not of the third, which is below no_sync()
    reduced = [one for one in found if one[0] == "all_reduce (async)" and one[1] == ""]
    assert [moved for *_, moved in reduced] == [f"{weights}:{weights}"] * 2
    assert (
        "all_reduce (async)",
        "0,1",
        3,
        "20:20",
    ) in found  # of compiled code, the third of the pair
    told = first.metadata["frameworks"]["torch.distributed"]["flight_recorder"]
    assert told["lost"] == told["unknown"] == 0
    assert {one[0] for one in found} <= {
        "all_gather (async)",  # how the model compares its shapes over the ranks
        "all_reduce (async)",
        "broadcast (async)",
    }
    numbers = [(members, number) for _, members, number, _ in found]
    assert len(set(numbers)) == len(numbers)
