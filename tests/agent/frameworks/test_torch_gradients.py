"""What exchanged gradients hold that nothing uses, as the agent sees it of jobs of one process."""

from typing import Any

import pytest

from tests.agent.frameworks.torch_forks import ran

TABLE = """
import atexit, gc, os, sys, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
gc.freeze()  # each fork would look through all of it at its end, for a second

def train(kind):
    store = "file://" + os.path.abspath("store" + kind)
    dist.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    is_sparse, is_frozen, has_second = (letter == "1" for letter in kind[:3])
    cap = 0.0001 if kind.endswith("-") else None
    units_are_off = kind.endswith("o")
    table, head = torch.nn.Embedding(10_000, 4, sparse=is_sparse), torch.nn.Linear(4, 10)
    batch = torch.arange(20)
    if units_are_off:
        batch, table, head = torch.rand(3, 20), torch.nn.Linear(20, 2_000), torch.nn.ReLU()
        torch.nn.init.constant_(table.bias, -100.0)
        table.bias.data[:20] = 100.0
    model = DistributedDataParallel(torch.nn.Sequential(table, head), bucket_cap_mb=cap)
    other = DistributedDataParallel(torch.nn.Linear(4, 10)) if has_second else None
    held = head.parameters() if is_frozen else model.parameters()
    optimizer = torch.optim.SGD(held, lr=0.1)
    late = torch.optim.SGD(table.parameters(), lr=0.1)
    for step in range(8):
        model(batch).sum().backward()
        if other is not None:
            other(torch.ones(1, 4)).sum().backward()
        optimizer.step()
        if kind.endswith("+") and step == 6:
            late.step()
    dist.destroy_process_group()

for kind in sys.argv[1:]:
    if not os.fork():
        train(kind)
        atexit._run_exitfuncs()
        os._exit(0)  # PyTorch is not taken to pieces, which takes a fork half a second
    assert os.wait()[1] == 0, kind
"""
KINDS = ("000", "101", "010", "010+", "000-", "000o")
"""Letters say whether the table is sparse, frozen, and what else."""

ROWS_BYTES, HEAD_BYTES = 10_000 * 4 * 4, (4 * 10 + 10) * 4


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What is noted of a run of each kind: PyTorch is loaded once, and each is a fork of that."""
    job = ran(TABLE, tmp_path_factory.mktemp("gradients"), *KINDS)
    ranks = job.of_role("rank")
    assert all("joined a job" in note for one in ranks for note in one.metadata["agent_notes"])
    told = [rank.metadata["frameworks"]["torch.distributed"] for rank in ranks]
    return dict(zip(KINDS, told, strict=True))


def test_a_table_of_which_a_batch_looks_few_rows_up(noted: dict[str, dict[str, Any]]) -> None:
    """20 of 10,000 rows: of the 64 that are looked at, the first one."""
    found = noted["000"]
    gradients = found["gradients"]
    assert gradients["bytes"] == ROWS_BYTES + HEAD_BYTES
    assert 0.95 * ROWS_BYTES < gradients["empty_bytes"] < ROWS_BYTES
    assert (gradients["empty_name"], gradients["empty_module"]) == ("0.weight", "Embedding")
    assert gradients["unheld_bytes"] == 0
    assert gradients["buckets"] == 1
    assert "exchanges_apart" not in found


def test_sparse_gradients_are_none_of_zeros(noted: dict[str, dict[str, Any]]) -> None:
    found = noted["101"]
    assert found["gradients"]["empty_bytes"] == 0
    assert found["exchanges_apart"] is True


def test_units_that_are_off_are_no_rows_that_a_batch_left_out(
    noted: dict[str, dict[str, Any]],
) -> None:
    """All but 20 of 2,000 rows of the layer's gradient are zero."""
    gradients = noted["000o"]["gradients"]
    assert gradients["bytes"] == (20 * 2_000 + 2_000) * 4
    assert gradients["empty_bytes"] == 0


def test_parameters_of_no_optimizer_and_of_one_that_steps_late(
    noted: dict[str, dict[str, Any]],
) -> None:
    gradients = noted["010"]["gradients"]
    assert gradients["unheld_bytes"] == ROWS_BYTES
    assert gradients["unheld_name"] == "0.weight"
    assert noted["010+"]["gradients"]["unheld_bytes"] == 0


def test_in_how_many_buckets_gradients_are_exchanged(noted: dict[str, dict[str, Any]]) -> None:
    """Where 100 bytes fill one: those of the head, with 40 and 160 bytes, and the table."""
    assert noted["000-"]["gradients"]["buckets"] == 2
