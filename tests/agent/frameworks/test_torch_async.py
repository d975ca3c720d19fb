"""What returns before it is complete, collectives and messages: start, wait, bytes."""

from pathlib import Path

import pytest

from perfscope.agent.perfscope_agent.recorder import Phase
from tests.agent.frameworks.torch_forks import ran
from tests.agent.jobs import RANK_ZERO, Process

# A group that names no backend has one for each kind of device.
STARTED = """
import sys, warnings
warnings.simplefilter("ignore")
import torch, torch.distributed as dist
import torch.distributed._functional_collectives as functional

dist.init_process_group(init_method="file://" + sys.argv[1], rank=0, world_size=1)
x = torch.ones(100)
works = [dist.all_reduce(x, async_op=True), dist.broadcast(x, 0, async_op=True)]
works[1].wait(), works[0].wait(), works[0].wait()
y = functional.all_reduce(x, "sum", dist.group.WORLD)
print(float((y.view(10, 10) + 1).sum()))
out = torch.empty(100)
dist.all_gather([out], x)
dist.reduce_scatter_tensor(out, x)
dist.all_reduce(x, async_op=True)
dist.barrier()
dist.destroy_process_group()
"""

# Each by two processes of its own.
SHARDED_AND_PIPELINED = """
import os
import torch, torch.distributed as dist, torch.multiprocessing as multiprocessing
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

def sharded(rank, store):
    dist.init_process_group(init_method=store, rank=rank, world_size=2)
    model = fully_shard(torch.nn.Linear(64, 64, bias=False), mesh=init_device_mesh("cpu", (2,)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        model(torch.ones(4, 64)).sum().backward()
        optimizer.step()
    dist.destroy_process_group()

def pipelined(rank, store):
    dist.init_process_group(init_method=store, rank=rank, world_size=2)
    model, x = torch.nn.Linear(8, 8), torch.ones(4, 8)
    stage = PipelineStage(model, rank, 2, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, n_microbatches=2, loss_fn=torch.nn.functional.mse_loss)
    schedule.step(*([] if rank else [x]), **({"target": x, "losses": []} if rank else {}))
    if rank:
        dist.send(x, 0, tag=7)
    else:
        print(dist.recv(x, tag=7))
    dist.destroy_process_group()

if __name__ == "__main__":
    for work in (sharded, pipelined):
        store = "file://" + os.path.abspath(work.__name__)
        multiprocessing.start_processes(work, (store,), nprocs=2, start_method="fork")
"""


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[list[Process]]:
    """The ranks of the one, and those of the other."""
    done = ran(SHARDED_AND_PIPELINED, tmp_path_factory.mktemp("pairs"))
    assert done.stdout == b"1\n", done.stderr  # who sent the last message
    ranks = done.of_role("rank")
    assert len(ranks) == 4
    return [ranks[:2], ranks[2:]]


def calls(ranks: list[Process]) -> list[tuple[str, int, str]]:
    """Operation, ordinal and bytes of what ranks called, all the same, in order."""
    first, *others = [calls_of(rank) for rank in ranks]
    assert all(other == first for other in others)
    return first


def calls_of(rank: Process) -> list[tuple[str, int, str]]:
    """The same of one rank."""
    assert all("joined a job" in note for note in rank.metadata["agent_notes"])
    names = {name for name, kind in rank.phases() if kind == Phase.COMMUNICATION}
    records = [(r.t0, r.t1, name, r.seq) for name in names for r in rank.phase_records(name)]
    parts = [(name.split("\x1e"), ordinal) for _, _, name, ordinal in sorted(records)]
    return [
        (name[1], ordinal, name[4] if len(name) > 4 else "")
        for name, ordinal in parts
        if not name[1].endswith("process_group")
    ]


def test_starts_and_waits_share_an_ordinal(tmp_path: Path) -> None:
    done = ran(STARTED, tmp_path, tmp_path / "store", variables=RANK_ZERO)
    assert done.stdout == b"200.0\n"
    assert calls(done.of_role("rank")) == [
        ("all_reduce (async)", 0, "400:400"),
        ("broadcast (async)", 1, "400:0"),
        ("wait", 1, ""),
        ("wait", 0, ""),  # the second wait of the same finds it complete
        ("all_reduce (async)", 2, "400:400"),
        ("wait", 2, ""),
        ("all_gather", 3, "400:400"),
        ("reduce_scatter_tensor", 4, "400:400"),
        ("all_reduce (async)", 5, "400:400"),  # nobody waits for it
        ("barrier", 6, ""),
    ]


def test_sharded_parameters_are_gathered_and_scattered(pairs: list[list[Process]]) -> None:
    volumes: dict[str, set[str]] = {}
    for operation, _, volume in calls(pairs[0]):
        volumes.setdefault(operation.partition("_single")[0], set()).add(volume)
    part, whole = 64 * 32 * 4, 64 * 64 * 4
    assert volumes["all_gather"] == {f"{part}:{whole}"}
    assert volumes["reduce_scatter"] == {f"{whole}:{part}"}


def test_stages_of_a_pipeline_send_and_receive(pairs: list[list[Process]]) -> None:
    """Two parts of a batch go on, their gradients come back; then one comes from whoever sends."""
    ranks = {rank.metadata["frameworks"]["torch.distributed"]["rank"]: rank for rank in pairs[1]}
    part = 2 * 8 * 4
    for number, (first, last) in enumerate([("isend", "irecv"), ("irecv", "isend")]):
        found = [(name, volume) for name, _, volume in calls_of(ranks[number])]
        for name in (first, last):
            volume = f"{part}:0" if name == "isend" else f"0:{part}"
            assert found.count((name, volume)) == 2
        started = [name for name, _ in found if name in (first, last)]
        assert started[-4:] == [first, first, last, last]
        assert [name for name, _ in found].count("wait") == len(started)
        assert found[-1] == (("send", "128:0:7") if number else ("recv", "0:128:7"))
        told = ranks[number].metadata["frameworks"]["torch.distributed"]
        assert told["model_ranks"] == [0, 1]


@pytest.mark.parametrize("operation", ["all_gather", "reduce", "scatter", "gather", "broadcast"])
def test_bytes_follow_the_direction_of_the_operation(operation: str) -> None:
    from perfscope.agent.perfscope_agent.frameworks import torch_volumes

    class Tensor:
        nbytes = 8

    one, many = Tensor(), [Tensor(), Tensor()]
    given = {"tensor": one, "tensor_list": many, "gather_list": many, "scatter_list": many}
    expected = {
        "all_gather": ((8, 16), (8, 16)),
        "reduce": ((8, 8), (8, 0)),
        "scatter": ((16, 8), (0, 8)),
        "gather": ((8, 16), (8, 0)),
        "broadcast": ((8, 0), (0, 8)),
    }[operation]
    assert torch_volumes.volume(operation, given, True) == expected[0]
    assert torch_volumes.volume(operation, given, False) == expected[1]
