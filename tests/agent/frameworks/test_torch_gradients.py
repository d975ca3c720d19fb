"""What exchanged gradients hold that nothing uses, as the agent sees it of a job of one process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.agent.jobs import RANK_ZERO, run
from tests.support.environments import Environment

TABLE = """
import sys, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=0, world_size=1)
is_sparse, is_frozen, has_second = (letter == "1" for letter in sys.argv[2][:3])
cap = 0.0001 if sys.argv[2].endswith("-") else None
table, head = torch.nn.Embedding(10_000, 4, sparse=is_sparse), torch.nn.Linear(4, 10)
model = DistributedDataParallel(torch.nn.Sequential(table, head), bucket_cap_mb=cap)
other = DistributedDataParallel(torch.nn.Linear(4, 10)) if has_second else None
held = head.parameters() if is_frozen else model.parameters()
optimizer = torch.optim.SGD(held, lr=0.1)
late = torch.optim.SGD(table.parameters(), lr=0.1)
for step in range(8):
    model(torch.arange(20)).sum().backward()
    if other is not None:
        other(torch.ones(1, 4)).sum().backward()
    optimizer.step()
    if sys.argv[2].endswith("+") and step == 6:
        late.step()
dist.destroy_process_group()
"""

ROWS_BYTES, HEAD_BYTES = 10_000 * 4 * 4, (4 * 10 + 10) * 4


def noted(tmp_path: Path, python: Any, kind: str) -> dict[str, Any]:
    """What is noted of a run: letters say whether the table is sparse, frozen, and what else."""
    (tmp_path / "program.py").write_text(TABLE)
    arguments: list[str | Path] = [tmp_path / "program.py", tmp_path / "store", kind]
    job = run(arguments, tmp_path / "trace", python=python, variables=RANK_ZERO)
    assert job.exit_code == 0, job.stderr
    (rank,) = job.of_role("rank")
    assert rank.metadata["agent_notes"] == []
    found: dict[str, Any] = rank.metadata["frameworks"]["torch.distributed"]
    return found


def test_a_table_of_which_a_batch_looks_few_rows_up(
    tmp_path: Path, environment: Callable[[str], Environment]
) -> None:
    """20 of 10,000 rows: of the 64 that are looked at, the first one."""
    found = noted(tmp_path, environment("torch").python, "000")
    gradients = found["gradients"]
    assert gradients["bytes"] == ROWS_BYTES + HEAD_BYTES
    assert 0.95 * ROWS_BYTES < gradients["empty_bytes"] < ROWS_BYTES
    assert (gradients["empty_name"], gradients["empty_module"]) == ("0.weight", "Embedding")
    assert gradients["unheld_bytes"] == 0
    assert gradients["buckets"] == 1
    assert "exchanges_apart" not in found


def test_sparse_gradients_are_none_of_zeros(
    tmp_path: Path, environment: Callable[[str], Environment]
) -> None:
    found = noted(tmp_path, environment("torch").python, "101")
    assert found["gradients"]["empty_bytes"] == 0
    assert found["exchanges_apart"] is True


def test_parameters_of_no_optimizer_and_of_one_that_steps_late(
    tmp_path: Path, environment: Callable[[str], Environment]
) -> None:
    python = environment("torch").python
    (tmp_path / "late").mkdir()
    gradients = noted(tmp_path, python, "010")["gradients"]
    assert gradients["unheld_bytes"] == ROWS_BYTES
    assert gradients["unheld_name"] == "0.weight"
    assert noted(tmp_path / "late", python, "010+")["gradients"]["unheld_bytes"] == 0


def test_in_how_many_buckets_gradients_are_exchanged(
    tmp_path: Path, environment: Callable[[str], Environment]
) -> None:
    """Where 100 bytes fill one: those of the head, with 40 and 160 bytes, and the table."""
    gradients = noted(tmp_path, environment("torch").python, "000-")["gradients"]
    assert gradients["buckets"] == 2
