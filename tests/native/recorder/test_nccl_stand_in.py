"""The recorder as a profiler plugin, called by a stand-in for libnccl: there is no GPU here."""

import sys
from pathlib import Path

import pytest

from tests.native.recorder import running
from tests.native.recorder.decode import PHASE, Record

IN_FLIGHT = 4096


def records(
    library: Path, place: Path, what: str, version: int = 5, **more: str
) -> list[tuple[list[str], Record]]:
    """Parts of the name and record of each collective, in the order in which they were written."""
    job = running.JOBS / "nccl_stand_in.py"
    done = running.run(
        [sys.executable, job, str(version), what],
        library,
        place / "run",
        variables={"NCCL_PROFILER_PLUGIN": str(library)} | more,
    ).succeeded()
    assert done.stdout == ("0 False\n" if what == "unrecorded" else "66 True\n")
    return [
        (recording.names[record.comm].split("\x1e"), record)
        for recording in done.recordings
        for record in recording.of_kind(PHASE)
    ]


@pytest.mark.parametrize("version", [4, 5])
def test_a_stand_in_for_nccl_has_its_collectives_recorded(
    library: Path, tmp_path: Path, version: int
) -> None:
    found = records(library, tmp_path, "ordinary", version)
    assert [parts for parts, _ in found] == [
        ["nccl", function, "2 ranks (abc)", "", moved]
        for function, moved in (
            ("AllReduce", "4000:4000"),
            ("AllGather", "4000:8000"),
            ("ReduceScatter", "8000:4000"),
        )
    ]
    assert [record.seq for _, record in found] == [0, 1, 2]
    assert [record.t1 - record.t0 for _, record in found] == [3_500] * 3  # by the GPU's clock


def test_a_stand_in_for_nccl_that_keeps_no_order_does_no_harm(
    library: Path, tmp_path: Path
) -> None:
    ((_, record),) = records(library, tmp_path, "awkward")
    assert record.t1 - record.t0 == 1_000


def test_what_a_stand_in_for_nccl_never_ends_is_a_moment(library: Path, tmp_path: Path) -> None:
    found = records(library, tmp_path, "endless")
    assert sorted(record.seq for _, record in found) == list(range(5_000))
    assert all(record.t1 == record.t0 for _, record in found)
    assert [record.seq for _, record in found[: 5_000 - IN_FLIGHT]] == list(
        range(5_000 - IN_FLIGHT)
    )


def test_a_stand_in_for_nccl_makes_communicators_anew(library: Path, tmp_path: Path) -> None:
    assert len(records(library, tmp_path, "renewed")) == 600


def test_a_stand_in_for_nccl_without_a_recording_is_told_nothing(
    library: Path, tmp_path: Path
) -> None:
    assert records(library, tmp_path, "unrecorded") == []
