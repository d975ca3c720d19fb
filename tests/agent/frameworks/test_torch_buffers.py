"""Buffers that a data-parallel model sends in each forward pass, as the agent sees two ranks."""

from typing import Any

import pytest

from perfscope.trace.operands import frame_of
from tests.agent.frameworks.test_torch_async import calls_of
from tests.agent.frameworks.torch_forks import ran
from tests.agent.jobs import Process

PASSES = 20
PROGRAM = f"""
import inspect, os
import torch, torch.distributed as dist, torch.multiprocessing as multiprocessing
from torch.nn.parallel import DistributedDataParallel

class Net(torch.nn.Module):
    def __init__(self, rank):
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        self.register_buffer("table", torch.randn(4096, 64, generator=generator))
        self.register_buffer("index", torch.randint(0, 4096, (4096, 16), generator=generator))
        self.register_buffer("bank", torch.randn(4096, 64, generator=generator))
        self.register_buffer("turned", torch.randn(64, 4096, generator=generator).t())
        self.register_buffer("hidden", torch.randn(4096, 16, generator=generator))
        self.register_buffer("seldom", torch.randn(4096, 12, generator=generator))
        self.register_buffer("anew", torch.randn(4096, 8, generator=generator))
        self.passes = 0
        self.norm, self.head, self.rank = torch.nn.BatchNorm1d(64), torch.nn.Linear(64, 1), rank

    def forward(self, nodes):
        around = self.table[self.index[nodes]].mean(1)
        self.bank[nodes[0]] = around[0].detach() + self.rank
        self.hidden.numpy()[...] = self.rank
        self.passes += 1
        if self.rank == 0 and self.passes == 10:  # the first rank alone, between two looks
            self.seldom.data.add_(1.0)
        self.anew = self.anew.clone()
        return self.head(self.norm(around))

def work(rank, store):
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
    torch.manual_seed(rank)
    small = DistributedDataParallel(torch.nn.Sequential(torch.nn.BatchNorm1d(8)))
    quiet = DistributedDataParallel(Net(rank), broadcast_buffers=False)
    model = DistributedDataParallel(Net(rank))
    for step in range({PASSES}):
        small(torch.randn(4, 8)).sum().backward()
        model(torch.randint(0, 4096, (8,))).sum().backward()
    quiet(torch.randint(0, 4096, (8,))).sum().backward()
    dist.destroy_process_group()

if __name__ == "__main__":
    parameters = inspect.signature(DistributedDataParallel.__init__).parameters
    print([one for one in ("forward_sync_buffers", "broadcast_buffers") if one in parameters][0])
    store = "file://" + os.path.abspath("store")
    multiprocessing.start_processes(work, (store,), nprocs=2, start_method="fork")
"""
FLOATS = 4096 * 4


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[Process]:
    """The ranks in order; their metadata holds what PyTorch calls the argument as well."""
    done = ran(PROGRAM, tmp_path_factory.mktemp("buffers"))
    found = sorted(done.of_role("rank"), key=number)
    assert list(map(number, found)) == [0, 1]
    for one in found:
        one.metadata["argument"] = done.stdout.decode().strip()
    return found


def number(rank: Process) -> int:
    return int(rank.metadata["frameworks"]["torch.distributed"]["rank"])


def sent(rank: Process) -> dict[str, Any]:
    (told,) = rank.metadata["frameworks"]["torch.distributed"]["sent_buffers"]
    return dict(told)


def test_who_changes_a_buffer_and_what_receivers_hold_already(ranks: list[Process]) -> None:
    """NumPy and batch normalization write uncounted; a tensor in another order is not looked at."""
    root, other = map(sent, ranks)
    counted, uncounted = {"bank", "anew"}, {"hidden", "norm.running_mean", "norm.running_var"}
    for one, looks in ((root, 0), (other, 8)):
        assert one["syncs"] == PASSES
        rows = {row["name"]: row for row in one["buffers"]}
        sizes = [row["bytes"] for row in one["buffers"]]
        assert sizes == sorted(sizes, reverse=True)
        assert rows["table"]["bytes"] == rows["bank"]["bytes"] == 64 * FLOATS
        assert "turned" not in rows
        assert one["bytes"] > sum(sizes)
        for name in ("table", "index"):
            row = rows[name]
            assert row["written"] == 0
            assert row["looks"] == row["same"]
            assert looks <= row["looks"] < PASSES
            assert 8 <= row["revisits"] == row["kept"]
        assert rows["seldom"]["written"] == 0
        assert rows["seldom"]["kept"] == rows["seldom"]["revisits"] - 1
        written = {name: rows[name]["written"] for name in counted}
        assert written == dict.fromkeys(counted, PASSES - 1)
        seen = {name for name in counted | uncounted if rows[name]["looks"] > rows[name]["same"]}
        assert seen >= (uncounted if one is other else set())
        assert one is other or not seen


def test_where_the_model_is_made_and_what_the_argument_is_called(ranks: list[Process]) -> None:
    lines = PROGRAM.splitlines()
    for rank in ranks:
        told = sent(rank)
        assert told["argument"] == rank.metadata["argument"]
        place = frame_of(told["made_at"])
        assert place is not None
        assert (place.function, place.file.rpartition("/")[2]) == ("work", "program.py")
        assert lines[place.line - 1].strip() == "model = DistributedDataParallel(Net(rank))"


def test_each_broadcast_has_its_bytes(ranks: list[Process]) -> None:
    for rank in ranks:
        size = sent(rank)["bytes"]
        moved = f"0:{size}" if number(rank) else f"{size}:0"
        volumes = [told for name, _, told in calls_of(rank) if name == "broadcast_buffers"]
        assert volumes.count(moved) == PASSES
        assert len(volumes) == 2 * PASSES  # with those of the small model
