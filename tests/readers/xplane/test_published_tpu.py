"""Facts of a published profile of JAX on TPUs, written anew.

github.com/openxla/xprof, xprof/convert/test_xplanes/tpu_inference_2.xplane.pb as it was first
committed (Apache-2.0; later commits damage it): one of two hosts with four TPU v6e each, whose
program keeps three arrays in the host's memory. Of TPU 0 the first all-reduce and the first run of
the program are kept, of TPU 3 the all-reduce. In the whole file each array comes from the host and
goes back to it a hundred times on each of the four devices: 76 of the 98 s pass with it.
"""

from collections.abc import Mapping
from pathlib import Path

from perfscope.document.analysis import analysis
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace
from perfscope.trace.devices import DeviceKind
from tests.readers.xplane.profiles import MS_PS, PlaneWriter, space
from tests.support.trace_invariants import check_trace

ARRAY = "f32[5,1024,1024,256]{3,2,1,0:T(8,128)}"
HOSTS = "f32[5,1024,1024,256]{3,2,1,0:T(8,128)S(5)}"
BACK = {0: 1, 2: 3, 4: 5}
"""By the number of the copy that brings an array, that of the copy that takes it back."""
REDUCE = (
    f"%all-reduce = {ARRAY} all-reduce({ARRAY} %bitcast), channel_id=1, "
    "replica_groups=[4,2]<=[2,4]T(1,0), use_global_device_ids=true, to_apply=%region_0.3.clone"
)
REDUCED_PS = {0: (7_495_498_089_000, 121_687_640_000), 3: (7_495_499_329_578, 121_704_501_328)}
RAN_PS = (
    ("copy-start", 19_500_542_949_500, 5_000),
    ("copy-start.2", 19_500_542_954_578, 6_250),
    ("copy-start.4", 19_500_542_960_906, 6_094),
    ("copy-done", 19_500_542_967_078, 189_172_501_328),
    ("broadcast_add_fusion.2", 19_689_715_469_500, 7_922_155_078),
    ("copy-start.1", 19_697_637_625_750, 1_250),
    ("copy-done.2", 19_697_637_628_250, 298_807_392_250),
    ("broadcast_add_fusion.1", 19_996_445_020_578, 8_153_507_422),
    ("copy-start.3", 20_004_598_529_250, 1_250),
    ("copy-done.4", 20_004_598_530_578, 194_437_036_250),
    ("broadcast_add_fusion", 20_199_035_568_000, 7_969_883_750),
    ("copy-start.5", 20_207_005_453_000, 1_250),
    ("copy-done.1", 20_207_005_454_328, 3_672),
    ("copy-done.3", 20_207_005_458_078, 3_672),
    ("copy-done.5", 20_207_005_461_828, 182_361_093_750),
)
BESIDE_PS = (
    ("copy-start", 19_500_542_949_500, 189_172_518_906),
    ("copy-start.2", 19_500_542_954_578, 495_902_065_922),
    ("copy-start.4", 19_500_542_960_906, 698_492_605_922),
    ("copy-start.1", 19_697_637_625_750, 509_367_832_250),
    ("copy-start.3", 20_004_598_529_250, 202_406_932_500),
    ("copy-start.5", 20_207_005_453_000, 182_361_102_578),
)
"""The copies themselves, on a line of their own; what begins them and waits for them is above."""
Row = tuple[str, float, float, Mapping[str, int]]


def instruction(name: str) -> str:
    """As XLA writes it: types with the memory that they are in, the result's before the name."""
    kind, _, number = name.partition(".")
    if not kind.startswith("copy"):
        return f"%{name} = {ARRAY} fusion({ARRAY} %copy-done), kind=kLoop, calls=%fused_computation"
    to, of = (HOSTS, ARRAY) if int(number or 0) in BACK.values() else (ARRAY, HOSTS)
    both = f"({to}, {of}, u32[]{{:S(2)}})"
    if kind == "copy-start":
        return f"%{name} = {both} copy-start({of} %param)"
    return f"%{name} = {to} copy-done({both} %copy-start.{number})"


def row(name: str, at_ps: int, length_ps: int) -> Row:
    return name, at_ps / MS_PS, length_ps / MS_PS, {}


def device(number: int) -> PlaneWriter:
    plane = PlaneWriter(f"/device:TPU:{number}", shown={REDUCE: "all-reduce"})
    plane.line("XLA Modules", [row("jit_f(12190760917235803885)", RAN_PS[0][1], 913_711_874_906)])
    reduced = row(REDUCE, *REDUCED_PS[number])
    ran = [row(instruction(name), *when) for name, *when in RAN_PS] if number == 0 else []
    plane.shown |= {instruction(name): name for name, *_ in RAN_PS}
    plane.line("XLA Ops", [reduced, *ran])
    if number == 0:
        beside = [row(instruction(name) + " ", *when) for name, *when in BESIDE_PS]
        plane.shown |= {text: "async-copy" for text, *_ in beside}
        plane.line("Async XLA Ops", beside)
    return plane


def write(path: Path) -> Path:
    idle = [PlaneWriter(f"/device:TPU:{number}") for number in (1, 2)]
    path.write_bytes(space(device(0), *idle, device(3), PlaneWriter("/host:CPU")))
    return path


def test_a_tpu_copies_computes_and_communicates_for_as_long_as_its_profile_says(
    tmp_path: Path,
) -> None:
    trace = open_trace(write(tmp_path / "tpu.xplane.pb"))
    check_trace(trace)
    assert trace.world_size == 2
    (rank,) = trace.ranks
    assert rank.devices is not None
    rows = rank.devices.rows[rank.devices.rows["device"] == 0]
    lasted = rows["t1"] - rows["t0"]
    reduced = rows["kind"] == DeviceKind.COMMUNICATION
    assert abs(int(lasted[reduced].sum()) - REDUCED_PS[0][1] // 1000) <= 1
    computed = lasted[rows["kind"] == DeviceKind.COMPUTE]
    fused = [length // 1000 for name, _, length in RAN_PS if "fusion" in name]
    assert len(computed) == 3
    assert all(abs(int(a) - b) <= 1 for a, b in zip(computed, fused, strict=True))
    copies = int((rows["kind"] == DeviceKind.MEMCPY).sum())
    assert copies == len(RAN_PS) - 3 + len(BESIDE_PS)


def test_a_tpu_that_waits_for_its_hosts_memory_is_said_to(tmp_path: Path) -> None:
    """The device computes for 24 of the 889 ms of this run of its program."""
    trace = open_trace(write(tmp_path / "tpu.xplane.pb"))
    found = compute(trace).devices
    assert found is not None
    first = next(device for device in found.devices if device.device == 0)
    kinds = {copy.direction.value: copy for copy in first.copies}
    assert {way: copy.count for way, copy in kinds.items()} == {
        "host to device": 3 + 3 + 3,
        "device to host": 3 + 3 + 3,
    }
    begin, end = RAN_PS[0][1], RAN_PS[-1][1] + RAN_PS[-1][2]
    computed = sum(length for name, _, length in RAN_PS if "fusion" in name)
    assert abs(first.exposed.known_s - (end - begin - computed) / 1e12) < 1e-6
    assert first.exposed.known_s < sum(copy.exposed_s for copy in first.copies)
    document = analysis(trace, Options())
    row = next(row for row in document["findings"] if row["id"] == "device_copies")
    share = first.exposed.known_s / document["run"]["wall_s"]
    assert f"{share:.1%}".replace("%", " %") in row["title"]
    assert "of 2 ranks" in document["devices"]["reason"]
