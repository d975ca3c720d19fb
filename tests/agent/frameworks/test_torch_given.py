"""What two ranks give to large collectives of torch.distributed: whether that is the same."""

from pathlib import Path

import pytest

from perfscope.metrics.host.looks import FEWEST_LOOKS
from perfscope.trace.given import Given, given
from tests.agent.frameworks.torch_forks import ran
from tests.agent.jobs import Process
from tests.support.trace_builder import TraceBuilder

STEPS = 24
SAME = ("KEPT", "TABLE", "ALREADY ADDED UP")
DIFFERENT = ("GRADIENT", "BY TURNS", "AT FIRST")
PROGRAM = f"""
import os
import torch, torch.distributed as dist, torch.multiprocessing as multiprocessing

LARGE = 1 << 17  # floats

def work(rank, store):
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
    common, own = torch.Generator().manual_seed(1), torch.Generator().manual_seed(2 + rank)
    kept = torch.nn.Parameter(torch.zeros(LARGE), requires_grad=False)
    table, few = torch.randn(LARGE, generator=common), torch.ones(8)
    at_first = table + rank
    for step in range({STEPS}):
        kept.lerp_(torch.randn(LARGE, generator=common), 0.1)
        gradient = torch.randn(LARGE, generator=own)
        dist.all_reduce(kept)  # KEPT
        dist.all_reduce(gradient)  # GRADIENT
        dist.broadcast(table, src=0)  # TABLE
        dist.all_reduce(few)  # FEW
        dist.all_reduce(torch.zeros(LARGE))  # ZEROS
        dist.all_gather([torch.empty(LARGE), torch.empty(LARGE)], gradient)  # ALREADY ADDED UP
        dist.broadcast(at_first, src=0)  # AT FIRST
        if step % 2:
            gradient = torch.randn(LARGE, generator=own)
        dist.reduce(gradient, dst=0)  # BY TURNS
        kept /= 2
    dist.destroy_process_group()

if __name__ == "__main__":
    store = "file://" + os.path.abspath("store")
    multiprocessing.start_processes(work, (store,), nprocs=2, start_method="fork")
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Given]:
    """What rank 0 gave in each line that has a comment, compared with rank 1."""
    done = ran(PROGRAM, tmp_path_factory.mktemp("given"), variables={"PERFSCOPE_KEY": "5a" * 16})
    ranks = sorted(done.of_role("rank"), key=_number)
    builder = TraceBuilder(2, end_s=2.0)
    for number, rank in enumerate(ranks):
        assert len(rank.metadata["agent_notes"]) == 1  # that another Python started it
        builder.rank(number).set(metadata=rank.metadata)
    marks = dict(enumerate((line.partition("  # ")[2] for line in PROGRAM.splitlines()), 1))
    rows = [one for one in given(builder.build().ranks) if one.rank == 0]
    return {marks[one.where.line]: one for one in rows if one.where}


def _number(rank: Process) -> int:
    return int(rank.metadata["frameworks"]["torch.distributed"]["rank"])


@pytest.mark.parametrize("mark", SAME)
def test_what_all_ranks_hold_is_told(mark: str, seen: dict[str, Given]) -> None:
    found = seen[mark]
    assert (found.calls, found.bytes) == (STEPS, 4 << 17)
    assert len(found.is_same) >= FEWEST_LOOKS  # as many as the budget of time allows
    assert all(found.is_same)


def test_what_differs_is_not(seen: dict[str, Given]) -> None:
    assert not any(seen["GRADIENT"].is_same)
    assert {True, False} == set(seen["BY TURNS"].is_same)
    first, *others = seen["AT FIRST"].is_same
    assert not first
    assert all(others)


def test_small_ones_and_zeros_are_not_compared(seen: dict[str, Given]) -> None:
    assert {name for name, one in seen.items() if one.is_same} == {*SAME, *DIFFERENT}
    assert seen.keys() - {*SAME, *DIFFERENT} == {"ZEROS"}


def test_without_a_key_nothing_is_written(tmp_path: Path) -> None:
    """A digest that anyone can make would tell whether a value is the one that he guesses."""
    for rank in ran(PROGRAM, tmp_path).of_role("rank"):
        assert rank.metadata["given"] == []
