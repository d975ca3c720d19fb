"""Devices of OTF2 archives: told by the names of their streams, else by their groups."""

from pathlib import Path

import pytest

from perfscope.readers.detect import ReadOptions
from perfscope.readers.otf2.ranks import Location, LocationGroup, find_ranks
from perfscope.readers.registry import open_trace
from perfscope.trace.devices import DeviceKind
from tests.support.otf2_archives import ArchiveWriter

MS = 1_000_000
PROCESS, ACCELERATOR, STREAM = 1, 2, 2


def devices(streams: dict[str, int], groups: dict[int, str]) -> tuple[list[int], dict[int, str]]:
    """The device of each stream of a rank, and their names; group 0 is the process."""
    locations = [Location(0, 0, "Master thread", 1, 1, 0)]
    locations += [
        Location(place, place, name, STREAM, 1, group)
        for place, (name, group) in enumerate(streams.items(), start=1)
    ]
    known = [LocationGroup(0, "MPI Rank 0", PROCESS, 0, -1)]
    known += [LocationGroup(n, name, ACCELERATOR, 0, 0) for n, name in groups.items()]
    (rank,) = find_ranks(locations, known, [], [0]).ranks
    assert len({(device, stream) for device, stream, _ in rank.streams}) == len(streams)
    return [device for device, _, _ in rank.streams], rank.devices


def test_streams_in_the_process_are_of_the_devices_in_their_names() -> None:
    """As before version 8 of Score-P."""
    streams = {"CUDA[0:7]": 0, "CUDA[1:7]": 0, "CUDA[0:13]": 0}
    assert devices(streams, {}) == ([0, 1, 0], {0: "", 1: ""})


def test_two_contexts_on_one_device_are_one_device() -> None:
    groups = {1: "CUDA Context 1", 2: "CUDA Context 2", 3: "CUDA Context 3"}
    streams = {"CUDA[0:7]": 1, "CUDA[0:8]": 2, "CUDA[3:7]": 3}
    assert devices(streams, groups) == ([0, 0, 3], {0: "CUDA Context 1", 3: "CUDA Context 3"})


def test_names_that_tell_nothing_leave_it_to_the_groups() -> None:
    streams = {"stream 7": 1, "stream 8": 1, "CUDA[0:7]": 2, "stream [1:x]": 3, "[0:1]": 3}
    groups = {1: "GPU A", 2: "GPU B", 3: "GPU C"}
    assert devices(streams, groups) == ([1, 1, 0, 2, 2], {0: "GPU B", 1: "GPU A", 2: "GPU C"})


def test_interfaces_number_their_devices_by_themselves() -> None:
    assert devices({"CUDA[0:1]": 0, "OpenCL[0:1]": 0}, {})[0] == [0, 1]


def test_kernels_of_streams_without_a_group_stand_on_their_devices(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path / "a")
    writer.ranks(1)
    kernel = writer.region("sgemm", paradigm=5)
    writer.event(0, "Enter", 0, writer.region("main"))
    for device in (0, 1):
        writer.location(10 + device, f"CUDA[{device}:7]", 0, kind=STREAM)
        writer.event(10 + device, "Enter", (1 + device) * MS, kernel)
        writer.event(10 + device, "Leave", (2 + device) * MS, kernel)
    activity = open_trace(writer.close()).ranks[0].devices
    assert activity is not None
    assert activity.rows["device"].tolist() == [0, 1]
    assert [device.number for device in activity.devices] == [0, 1]
    assert activity.stream_names == {(0, 0): "CUDA[0:7]", (1, 0): "CUDA[1:7]"}


KERNELS = {
    **dict.fromkeys(("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "myNcclKernel"), True),
    **dict.fromkeys(("void RCCL::kernel", "mscclKernel_Sum_half", "hcclAllReduce"), True),
    **dict.fromkeys(("oneapi::ccl::v1::allreduce", "_ZN6oneapi3ccl2v19allreduceE"), True),
    **dict.fromkeys(("void vllm::cross_device_reduce_1stage<half, 8>",), True),
    **dict.fromkeys(("void deep_ep::internode::notify_dispatch<false>(int)",), True),
    **dict.fromkeys(("nvshmemi_barrier_all_kernel", "two_shot_all_reduce_kernel"), True),
    **dict.fromkeys(("syncClear", "asyncCLoop", "sgemm", "funccl"), False),
}


@pytest.mark.parametrize("named", [False, True])
def test_kernels_communicate_by_the_table_of_all_formats_and_by_the_users_globs(
    tmp_path: Path, named: bool
) -> None:
    writer = ArchiveWriter(tmp_path / "a")
    writer.ranks(1)
    writer.event(0, "Enter", 0, writer.region("main"))
    writer.location(10, "CUDA[0:7]", 0, kind=STREAM)
    for place, name in enumerate([*KERNELS, "exchange_halo"]):
        region = writer.region(name, paradigm=5)
        writer.event(10, "Enter", (2 * place + 1) * MS, region)
        writer.event(10, "Leave", (2 * place + 2) * MS, region)
    options = ReadOptions(communication=("exchange_*",) if named else ())
    activity = open_trace(writer.close(), options).ranks[0].devices
    assert activity is not None
    found = activity.rows["kind"] == DeviceKind.COMMUNICATION
    assert found.tolist() == [*KERNELS.values(), named]
