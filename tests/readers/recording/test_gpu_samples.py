"""GPUs of a recording: what is read of them, what cannot be true, and recordings without any."""

from pathlib import Path

import numpy as np
import pytest

from perfscope.readers.recording.layout import DefinitionType, SampleKind
from perfscope.readers.recording.reader import open_recording
from perfscope.trace.devices import Gpu
from perfscope.trace.model import Trace
from tests.support.write_recording import ProcessWriter, two_ranks, write_run

GIB = 1 << 30
UNKNOWN = 0xFFFFFFFF


def device(process: ProcessWriter, number: int, **values: object) -> None:
    text = "".join(f"{key}={value}\n" for key, value in values.items())
    process.define(DefinitionType.DEVICE, number, text.encode())


def process(rank: int, size: int = 2) -> ProcessWriter:
    writer = ProcessWriter(rank=rank, size=size, pid=100 + rank)
    writer.communicator(0, 77, list(range(size)))
    writer.op("MPI_Allreduce", 2.0, 3.0, sent=8, received=8)
    writer.header |= {
        "init_exit_ns": writer.mono(1.0),
        "finalize_enter_ns": writer.mono(8.0),
        "alive_ns": writer.mono(8.9),
        "exit_ns": writer.mono(9.0),
    }
    return writer


def opened(directory: Path, *processes: ProcessWriter) -> Trace:
    for one in processes:
        one.write(directory)
    write_run(directory)
    return open_recording(directory)


def test_values_come_with_their_units(tmp_path: Path) -> None:
    first, second = process(0), process(1)
    device(
        first,
        1,
        uuid="GPU-a",
        index=3,
        name="A GPU",
        driver="999.01",
        capability="9.0",
        memory_bytes=80 * GIB,
        sm_mhz=1980,
        power_mw=700_000,
    )
    clocks = 1200 | 5000 << 32
    values = {"sent": 2 * GIB, "received": 0x44, "request": clocks, "seq": 250_500}
    first.sample(SampleKind.DEVICE, 4.0, comm=1, peer=42 | 7 << 8, tag=61, **values)
    first.sample(SampleKind.DEVICE_PROCESS, 4.0, comm=1, seq=101, sent=GIB)
    trace = opened(tmp_path, first, second)
    assert trace.gpus == [
        Gpu(
            host="node0",
            uuid="GPU-a",
            index=3,
            name="A GPU",
            driver="999.01",
            capability=(9, 0),
            memory_bytes=80 * GIB,
            sm_mhz=1980.0,
            power_w=700.0,
        )
    ]
    (row,) = trace.ranks[0].gpu_samples
    moment = int(trace.ranks[0].start_ns) + 4 * 10**9
    assert (row["t"], row["gpu"], row["memory_bytes"], row["throttling"]) == (
        moment,
        0,
        2 * GIB,
        0x44,
    )
    told = [float(row[name]) for name in ("busy", "memory_busy", "sm_mhz", "memory_mhz")]
    assert told == pytest.approx([0.42, 0.07, 1200.0, 5000.0])
    assert (float(row["power_w"]), float(row["celsius"])) == (250.5, 61.0)
    (user,) = trace.ranks[0].gpu_processes
    assert (user["pid"], user["memory_bytes"]) == (101, GIB)
    assert not len(trace.ranks[1].gpu_samples)


def test_what_is_unknown_or_cannot_be_true_is_unknown(tmp_path: Path) -> None:
    first = process(0, size=1)
    device(first, 1, uuid="GPU-a", index="x", capability="nine", memory_bytes=-1, sm_mhz=10**9)
    device(first, 2, name="without a name in the world")
    huge = {"received": 0, "request": (1 << 60) - 1, "seq": UNKNOWN}
    first.sample(SampleKind.DEVICE, 4.0, comm=1, peer=255 | 200 << 8, tag=-1, **huge)
    first.sample(SampleKind.DEVICE, 4.1, comm=2, peer=5)  # of a device that is none
    first.sample(SampleKind.DEVICE, 4.2, comm=9, peer=5)  # of one that nobody defined
    first.sample(SampleKind.DEVICE, -50.0, comm=1, peer=5)  # before the process
    trace = opened(tmp_path, first)
    assert trace.gpus == [Gpu(host="node0", uuid="GPU-a")]
    (row,) = trace.ranks[0].gpu_samples
    for name in ("busy", "memory_busy", "sm_mhz", "memory_mhz", "power_w", "celsius"):
        assert np.isnan(row[name]), name


def test_a_process_that_is_no_rank_may_have_sampled(tmp_path: Path) -> None:
    """A wrapper that runs longer than the job: it was the first to claim the GPU."""
    wrapper = ProcessWriter(rank=-1, size=-1, pid=50, flags=ProcessWriter().flags & ~1)
    wrapper.metadata = {"schema": 1, "role": "unranked"}
    device(wrapper, 1, uuid="GPU-a")
    wrapper.sample(SampleKind.DEVICE, 4.0, comm=1, peer=30)
    trace = opened(tmp_path, process(0), process(1), wrapper)
    assert [rank.number for rank in trace.ranks] == [0, 1]
    rows = np.concatenate([rank.gpu_samples for rank in trace.ranks])
    assert rows["busy"].tolist() == pytest.approx([0.30])
    assert int(rows["t"][0]) == int(trace.ranks[0].start_ns) + 4 * 10**9


def test_why_there_are_none_is_kept(tmp_path: Path) -> None:
    first = process(0, size=1)
    first.define(DefinitionType.DEVICE, 0, b"reason=no NVIDIA driver is loaded on this node\n")
    trace = opened(tmp_path, first)
    assert trace.ranks[0].gpu_reason == "no NVIDIA driver is loaded on this node"
    assert not trace.ranks[0].has_gpu_driver
    assert trace.gpus == []


def test_a_driver_without_samples_is_kept(tmp_path: Path) -> None:
    first = process(0, size=1)
    first.define(DefinitionType.DEVICE, 0, b"driver=1\nreason=the driver shows no device\n")
    rank = opened(tmp_path, first).ranks[0]
    assert (rank.gpu_reason, rank.has_gpu_driver) == ("the driver shows no device", True)


def test_recordings_of_before_stay_readable(tmp_path: Path) -> None:
    two_ranks(tmp_path)
    trace = open_recording(tmp_path)
    assert trace.gpus == []
    assert [rank.gpu_reason for rank in trace.ranks] == ["", ""]
