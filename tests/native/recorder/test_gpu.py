"""GPU samples, taken from a stand-in for the driver's library: there is no GPU here."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.native.recorder import running
from tests.native.recorder.decode import SAMPLE, Record, Recording
from tests.support.nvml_mock import GIB, compile_mock, gpu_uuid, mig_uuid

DEVICE, DEVICE_PROCESS = 4, 5
DEFINITION = 7
UNKNOWN = 0xFFFFFFFF
UNKNOWN_REASONS = 1 << 62


@pytest.fixture(scope="module")
def mock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_mock(tmp_path_factory.mktemp("nvml"))


def sampled(
    library: Path,
    place: Path,
    mock: Path | str,
    *,
    ranks: int = 1,
    until: str = "sampled",
    **values: object,
) -> list[Recording]:
    """What processes leave behind that run so long; each rank uses the GPU of its number."""
    variables = {"PERFSCOPE_NVML": str(mock), "PERFSCOPE_GPU_HZ": "10"}
    variables |= {f"NVML_MOCK_{name}": str(value) for name, value in values.items()}
    job = running.JOBS / "gpu.py"
    starts = " ".join(f"{sys.executable} {job} {rank} {until} {ranks} &" for rank in range(ranks))
    command = ["bash", "-c", f"{starts} wait"]
    done = running.run(command, library, place / "run", variables=variables).succeeded()
    return done.recordings


def samples(recording: Recording, kind: int = DEVICE) -> list[Record]:
    return [record for record in recording.of_kind(SAMPLE) if record.op == kind]


def devices(recording: Recording) -> list[dict[str, str]]:
    """What each definition of a device says."""
    texts = recording.texts.get(DEFINITION, [])
    return [dict(line.split("=", 1) for line in text.splitlines()) for text in texts]


def test_values_of_the_driver_are_recorded(library: Path, mock: Path, tmp_path: Path) -> None:
    users = tmp_path / "users"
    [recording] = sampled(library, tmp_path, mock, DEVICES=2, USERS=users)
    assert devices(recording) == [
        {
            "uuid": gpu_uuid(index),
            "index": str(index),
            "name": "Mock GPU",
            "driver": "999.01",
            "capability": "9.0",
            "memory_bytes": str(80 * GIB),
            "sm_mhz": "1980",
            "power_mw": "700000",
        }
        for index in range(2)
    ]
    for index in range(2):
        found = [record for record in samples(recording) if record.comm == index + 1]
        assert len(found) >= 3
        for record in found:
            assert record.sent == (index + 1) * GIB
            assert record.received == (0x40 if index == 1 else 0)
            assert record.request == (1200 + index) | 5000 << 32
            assert record.seq == 200_000 + index
            assert record.peer == (40 + index) | 7 << 8
            assert record.tag == 50 + index
    using = samples(recording, DEVICE_PROCESS)
    assert {(r.comm, r.seq, r.sent) for r in using} == {(1, recording.header["pid"], GIB // 2)}


def test_one_rank_samples_a_gpu_for_all(library: Path, mock: Path, tmp_path: Path) -> None:
    users = tmp_path / "users"
    recordings = sampled(library, tmp_path, mock, ranks=2, until="users", DEVICES=2, USERS=users)
    owners = [[d["uuid"] for d in devices(recording)] for recording in recordings]
    assert sorted(owners[0] + owners[1]) == [gpu_uuid(0), gpu_uuid(1)]
    pids = {recording.header["pid"] for recording in recordings}
    told = {(r.comm, r.seq) for one in recordings for r in samples(one, DEVICE_PROCESS)}
    assert {pid for _, pid in told} == pids


def test_an_old_driver_gives_what_it_has(library: Path, tmp_path: Path) -> None:
    [recording] = sampled(library, tmp_path, compile_mock(tmp_path, is_old=True))
    [device] = devices(recording)
    assert "capability" not in device
    assert "driver" not in device
    found = samples(recording)
    assert found
    assert {(r.received, r.seq, r.tag) for r in found} == {(UNKNOWN_REASONS, 200_000, 50)}
    assert not samples(recording, DEVICE_PROCESS)


def test_what_a_device_does_not_support_is_unknown(
    library: Path, mock: Path, tmp_path: Path
) -> None:
    [recording] = sampled(library, tmp_path, mock, UNSUPPORTED=1)
    found = samples(recording)
    assert found
    assert {(r.peer, r.seq, r.received) for r in found} == {
        (255 | 255 << 8, UNKNOWN, UNKNOWN_REASONS)
    }
    assert {r.sent for r in found} == {GIB}


def test_a_device_that_goes_is_not_asked_again(library: Path, mock: Path, tmp_path: Path) -> None:
    [recording] = sampled(library, tmp_path, mock, DEVICES=2, LOST_AFTER=2)
    by_device = [sum(r.comm == number for r in samples(recording)) for number in (1, 2)]
    assert by_device[0] == 2
    assert by_device[1] > 2
    lost = [device for device in devices(recording) if "lost_ns" in device]
    assert [device["uuid"] for device in lost] == [gpu_uuid(0)]


def test_instances_of_a_divided_gpu_are_devices(library: Path, mock: Path, tmp_path: Path) -> None:
    [recording] = sampled(library, tmp_path, mock, DEVICES=2, MIG=2)
    found = devices(recording)
    assert [device["uuid"] for device in found] == [mig_uuid(0), mig_uuid(1), gpu_uuid(1)]
    assert [device.get("board") for device in found] == [gpu_uuid(0), gpu_uuid(0), None]
    memory = {r.comm: r.sent for r in samples(recording)}
    assert memory == {1: 11 * GIB, 2: 12 * GIB, 3: 2 * GIB}


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"INIT": 18}, r"NVML error 18: Driver/library version mismatch"),
        ({"DEVICES": 0}, "the driver shows no device"),
    ],
)
def test_a_driver_that_fails_is_told(
    values: dict[str, Any], reason: str, library: Path, mock: Path, tmp_path: Path
) -> None:
    [recording] = sampled(library, tmp_path, mock, until="told", **values)
    [told] = devices(recording)
    assert re.search(reason, told["reason"])
    assert not samples(recording)


def test_a_missing_library_is_told(library: Path, tmp_path: Path) -> None:
    [recording] = sampled(library, tmp_path, tmp_path / "none.so", until="told")
    assert devices(recording) == [
        {"driver": "1", "reason": "the driver's library libnvidia-ml.so.1 cannot be loaded"}
    ]


def test_a_driver_that_hangs_holds_up_neither_samples_nor_the_end(
    library: Path, mock: Path, tmp_path: Path
) -> None:
    [recording] = sampled(library, tmp_path, mock, until="alive", HANG=1)
    assert not samples(recording)
    assert len([r for r in recording.of_kind(SAMPLE) if r.op == 1]) >= 5


@pytest.mark.skipif(
    Path("/proc/driver/nvidia/version").exists(), reason="there is an NVIDIA driver"
)
def test_without_a_driver_nothing_is_loaded(library: Path, tmp_path: Path) -> None:
    [recording] = sampled(library, tmp_path, "", until="told")
    assert devices(recording) == [{"reason": "no NVIDIA driver is loaded on this node"}]
    assert not any(thread.name == "perfscope-gpu" for thread in recording.threads)
