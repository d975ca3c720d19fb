"""What PyTorch's flight recorder tells beside the hooks: real gloo, two ranks on CPUs."""

import gc
import pickle
import time
from collections.abc import Callable, Iterator

import pytest

from perfscope.agent.perfscope_agent import recorder
from perfscope.agent.perfscope_agent.frameworks import torch_flight, torch_groups
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
    store = "file://" + os.path.abspath("store")
    multiprocessing.start_processes(work, (store,), nprocs=2, start_method="fork")
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


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Iterator[torch_flight._Reading]:
    """A reading that is due; what it reads is put into `dump`."""
    monkeypatch.setattr(recorder, "current", object())
    made = torch_flight._Reading()
    made.due_s = 0.0
    monkeypatch.setattr(torch_flight, "_reading", made)
    was_on, thresholds = gc.isenabled(), gc.get_threshold()
    yield made
    (gc.enable if was_on else gc.disable)()
    gc.set_threshold(*thresholds)


def test_the_collector_stays_as_the_program_sets_it_meanwhile(
    reading: torch_flight._Reading,
) -> None:
    seen = []

    def dump(*_: bool) -> bytes:  # another thread of the program goes on while it is read
        seen.append(gc.isenabled())
        gc.disable()
        return pickle.dumps({"entries": []})

    reading.dump = dump
    thresholds = gc.get_threshold()
    torch_flight.look()
    assert seen == [True]
    assert not gc.isenabled()
    assert gc.get_threshold() == thresholds

    def tuned(*_: bool) -> bytes:
        gc.set_threshold(thresholds[0] + 1, *thresholds[1:])
        return pickle.dumps({"entries": []})

    reading.dump, reading.due_s = tuned, 0.0
    torch_flight.look()
    assert gc.get_threshold()[0] == thresholds[0] + 1


def test_what_cannot_be_read_is_not_tried_with_each_sample(reading: torch_flight._Reading) -> None:
    def dump(*_: bool) -> bytes:
        raise RuntimeError

    reading.dump = dump
    torch_flight.look()
    assert reading.due_s > time.monotonic() + torch_flight._DENSEST_S


@pytest.mark.parametrize("count", [1, 40, 64, 65, 500])
def test_the_last_calls_are_kept(count: int) -> None:
    outermost = torch_groups._Outermost()
    outermost.calls = []
    for _ in range(count):
        with outermost, outermost:
            pass
    taken = outermost.take()
    assert len(taken) == count
    assert all(begin <= end for begin, end in taken)
    assert outermost.take() == taken[-torch_groups._KEPT_CALLS :]
