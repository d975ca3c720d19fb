"""How ranks share data and beginnings: told from what was seen, silent on the usual programs."""

from typing import Any

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from perfscope.trace.model import OPERATION_DTYPE
from perfscope.trace.operations import code_of
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

LOADER = {"sampler": "RandomSampler", "dataset": "Images", "samples": 1000, "training": True}
DDP = {"torch.distributed": {"ddp": True}}
HOROVOD = {"horovod": {"optimizers": 1, "broadcasts": []}}


def judged(
    *loaders: dict[str, Any],
    frameworks: dict[str, Any],
    ranks: int = 2,
    epoch_samples: int = 0,
    broadcast_bytes: int = 0,
) -> Finding | None:
    """Ranks with the same loaders; None where the diagnosis is not listed."""
    builder = TraceBuilder(ranks, end_s=20.0)
    for number in range(ranks):
        rank = builder.rank(number).init(1.0).finalize(19.0)
        rank.set(metadata={"frameworks": {"torch": {"loaders": list(loaders)}, **frameworks}})
        for step in range(4):
            rank.step(step, 2.0 + step, 3.0 + step, epoch=0, samples=epoch_samples // 4)
        if broadcast_bytes:
            row = np.zeros(1, OPERATION_DTYPE)
            row["op"], row["comm"], row["received"] = code_of("MPI_Bcast"), -1, broadcast_bytes
            rank.set(background=row)
    return analyze_trace(builder.build()).findings.get("data_parallel_setup")


def status_of(*loaders: dict[str, Any], **plan: Any) -> Status:
    finding = judged(*loaders, **plan)
    assert finding is not None
    return finding.status


def test_the_whole_data_on_every_rank_is_told() -> None:
    finding = judged(LOADER, frameworks=DDP, epoch_samples=1000)
    assert finding is not None
    assert finding.status is Status.INFO
    assert finding.title == "Each of 2 ranks trains on all 1,000 samples"
    assert "DistributedSampler" in finding.actions[0]
    assert finding.gain_s is None


@pytest.mark.parametrize(
    "change",
    [
        {"sampler": "DistributedSampler"},
        {"sampler": "MySampler"},
        {"training": False},  # evaluation on every rank is another diagnosis
        {"dataset": "Subset"},  # may be the rank's part
        {"samples": None},
    ],
)
def test_usual_programs_are_silent(change: dict[str, Any]) -> None:
    assert status_of({**LOADER, **change}, frameworks=DDP) is Status.PASS


def test_a_loader_that_is_read_for_a_figure_is_no_training_data() -> None:
    """As a test set that is read without `torch.no_grad()`, beside training data in parts."""
    training = {**LOADER, "sampler": "DistributedSampler", "samples": None}
    tested = {**LOADER, "sampler": "SequentialSampler", "samples": 20}
    assert status_of(tested, frameworks=DDP, epoch_samples=1000) is Status.INFO
    assert status_of(training, tested, frameworks=DDP, epoch_samples=1000) is Status.PASS


@pytest.mark.parametrize(
    ("sampler", "samples", "status"),
    [
        ("RASampler", 1000, Status.PASS),  # of another library, or of the program's own
        ("DistributedLengthGroupedSampler", 2000, Status.PASS),
        ("DistributedSampler", 200, Status.INFO),  # a validation set, read with gradients
    ],
)
def test_parts_of_the_training_data_are_told_from_those_of_a_smaller_set(
    sampler: str, samples: int, status: Status
) -> None:
    other = {**LOADER, "sampler": sampler, "samples": samples}
    assert status_of(LOADER, other, frameworks=DDP, epoch_samples=1000) is status


def test_ranks_that_take_a_part_of_the_batches_are_silent() -> None:
    assert status_of(LOADER, frameworks=DDP, epoch_samples=500) is Status.PASS


def test_horovod_without_a_broadcast_is_told() -> None:
    finding = judged(frameworks=HOROVOD)
    assert finding is not None
    assert finding.status is Status.INFO
    assert finding.title == "No broadcast of the first parameters was seen"
    assert "broadcast_parameters" in finding.actions[0]


def test_a_broadcast_by_horovod_or_mpi_is_seen() -> None:
    called = {"horovod": {"optimizers": 1, "broadcasts": ["broadcast_parameters"]}}
    assert status_of(frameworks=called) is Status.PASS
    assert status_of(frameworks=HOROVOD, broadcast_bytes=1 << 20) is Status.PASS
    assert status_of(frameworks=HOROVOD, broadcast_bytes=300) is Status.INFO  # control traffic


def test_older_recordings_do_not_tell() -> None:
    old = {"batch_size": 32, "workers": 2}
    assert status_of(old, frameworks=DDP) is Status.NOT_MEASURED
    assert status_of(frameworks={"horovod": {"optimizers": 1}}) is Status.NOT_MEASURED


def test_a_program_without_loaders_is_not_called_an_older_recording() -> None:
    """It indexes its tensors itself; its optimizer was seen."""
    row = {"optimizer": "Adam", "learning_rate": 0.002, "default": 0.001}
    assert status_of(frameworks={**DDP, "torch": {"learning_rates": [row]}}) is Status.PASS


@pytest.mark.parametrize(
    ("frameworks", "ranks"),
    [(DDP, 1), ({"mpi4py": {}}, 2), ({"horovod": {"optimizers": 0, "broadcasts": []}}, 2)],
)
def test_other_jobs_do_not_list_it(frameworks: dict[str, Any], ranks: int) -> None:
    assert judged(LOADER, frameworks=frameworks, ranks=ranks) is None


def test_facts_that_make_no_sense_are_left_out() -> None:
    rows: list[Any] = [None, {"sampler": ["x"], "training": 1, "samples": "many"}]
    assert status_of(*rows, frameworks=DDP) is Status.PASS


def rate(value: object, default: object, **more: Any) -> dict[str, Any]:
    row = {"optimizer": "Adam", "learning_rate": value, "default": default}
    return {"horovod": {"optimizers": 1, "broadcasts": ["x"], "learning_rates": [row], **more}}


def test_a_default_learning_rate_on_several_ranks_is_told() -> None:
    finding = judged(frameworks=rate(0.0010000000474974513, 0.001), ranks=4)
    assert finding is not None
    assert finding.status is Status.INFO
    assert finding.title == "Adam begins with its default learning rate, 0.001, on 4 ranks"
    assert "0.001 times the number of ranks" in finding.actions[0]
    assert finding.gain_s is None


@pytest.mark.parametrize(
    ("value", "default"),
    [(0.004, 0.001), (0.001, None), (None, 0.001), ("0.001", "0.001"), (float("nan"), 0.001)],
)
def test_a_learning_rate_of_the_programs_own_is_not_told(value: object, default: object) -> None:
    assert status_of(frameworks=rate(value, default)) is Status.PASS
