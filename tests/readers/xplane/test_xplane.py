"""XPlane profiles: known steps, devices with their launches, and what is no sound file."""

import gzip
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from perfscope import memory
from perfscope.document.analysis import analysis
from perfscope.errors import UnreadableInputError
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.readers.common.blocks import Growth
from perfscope.readers.detect import ReadOptions
from perfscope.readers.registry import open_trace, open_traces
from perfscope.readers.xplane import planes
from perfscope.schema.enums import PhaseKind
from perfscope.trace.devices import DeviceKind
from perfscope.trace.model import Format
from tests.readers.xplane.profiles import (
    EPOCH_NS,
    PlaneWriter,
    gpu,
    part,
    space,
    steps,
    tpus,
    varint,
    whole,
)
from tests.support.requirements import require_reference
from tests.support.trace_invariants import check_trace

MS = 1_000_000
WRITTEN = Path(__file__).parent / "written"
REAL = "xplane/tf221_keras_5steps_20ms_sleep.xplane.pb"


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_real_profile_gives_the_known_steps() -> None:
    values = json.loads(require_reference("expected.json").read_text())["xplane"]
    known = values["generated/tf221_keras_5steps_20ms_sleep.xplane.pb"]
    trace = open_trace(require_reference(REAL))
    check_trace(trace)
    assert trace.format is Format.XPLANE
    (rank,) = trace.ranks
    assert rank.steps["number"].tolist() == list(range(known["train_steps"]))
    lengths = (rank.steps["t1"] - rank.steps["t0"]) / 1e6
    assert lengths.tolist() == pytest.approx(known["durations_ms"], abs=1e-6)
    assert lengths.min() >= known["each_at_least_ms"]
    assert trace.origin_unix_ns // 10**9 == 1795188460


JAX_NS = {
    "train": [32_265_546, 41_245_513, 50_183_889, 20_687_388],
    "load_batch": [29_470_824, 21_965_728, 27_504_891, 20_112_714],
}
"""What JAX's own reader (`jax.profiler.ProfileData`) says of the file, by name of the event."""


def test_what_jax_wrote_is_told_as_its_own_reader_tells_it(tmp_path: Path) -> None:
    """Four steps from number 10 on that wait 20 ms or more for a batch."""
    copied = [tmp_path / "profile" / path.name for path in WRITTEN.iterdir()]
    (tmp_path / "profile").mkdir()
    for path in copied:
        path.write_bytes((WRITTEN / path.name).read_bytes())
    trace = open_trace(tmp_path)  # a directory, as a user has it
    check_trace(trace)
    (rank,) = trace.ranks
    assert trace.format is Format.XPLANE
    assert rank.steps["number"].tolist() == [10, 11, 12, 13]
    assert (rank.steps["t1"] - rank.steps["t0"]).tolist() == JAX_NS["train"]
    phases = rank.phases[rank.phases["kind"] == PhaseKind.INPUT]
    assert (phases["t1"] - phases["t0"]).tolist() == JAX_NS["load_batch"]
    assert "vm.trace.json.gz, the same profile as it is drawn for viewers" in " ".join(trace.notes)
    assert compute(trace).efficiency.parallel_efficiency.value is None


def test_a_file_that_is_damaged_at_its_source_is_an_error() -> None:
    with pytest.raises(UnreadableInputError, match="cannot be read") as caught:
        open_trace(require_reference("xplane/tpu_inference_2.xplane.pb"))
    assert "damaged at byte" in caught.value.why


def test_an_efficiency_that_the_file_cannot_support_is_null(tmp_path: Path) -> None:
    found = analysis(open_trace(write(tmp_path / "a.xplane.pb", space(steps()))), Options())
    efficiency = found["metrics"]["parallel_efficiency"]
    assert efficiency["value"] is None
    assert "communication between hosts" in efficiency["reason"]


def test_devices_come_with_their_launches_and_sums_are_left_aside(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / "a.xplane.pb", space(steps(), gpu())))
    check_trace(trace)
    (rank,) = trace.ranks
    assert rank.devices is not None
    rows = rank.devices.rows
    kernels = rows[rows["kind"] == DeviceKind.COMPUTE]
    assert kernels["t0"].tolist() == [6 * MS, 16 * MS, 26 * MS]
    assert kernels["launch"].tolist() == [5 * MS, 15 * MS, 25 * MS]
    assert set(rows["device"].tolist()) == {1}
    assert set(kernels["stream"].tolist()) == {14}
    (copy,) = rows[rows["kind"] == DeviceKind.MEMCPY]
    assert (int(copy["t0"]), int(copy["t1"])) == (8_500_000, 8_750_000)
    assert len(rows) == 4


def test_devices_without_work_are_counted_and_said(tmp_path: Path) -> None:
    idle = [PlaneWriter(f"/device:GPU:{number}") for number in (2, 3)]
    notes = open_trace(write(tmp_path / "a.xplane.pb", space(steps(), gpu(), *idle))).notes
    assert any("2 devices of 3 did nothing in it" in note for note in notes)


def test_what_stands_inside_of_an_operator_is_no_phase(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / "a.xplane.pb", space(steps())))
    phases = trace.ranks[0].phases
    kinds = set(phases["kind"].tolist())
    assert PhaseKind.EVALUATE not in kinds
    waits = phases[phases["kind"] == PhaseKind.INPUT]
    assert (waits["t1"] - waits["t0"]).tolist() == [3 * MS] * 3


def test_collectives_of_a_tpu_communicate(tmp_path: Path) -> None:
    plane = PlaneWriter("/device:TPU:0")
    plane.line("XLA Ops", [("fusion.3", 1.0, 2.0, {}), ("all-reduce.1", 3.0, 1.0, {})])
    plane.line("XLA Modules", [("jit_step", 1.0, 3.0, {})])
    trace = open_trace(write(tmp_path / "a.xplane.pb", space(steps(), plane)))
    devices = trace.ranks[0].devices
    assert devices is not None
    assert devices.rows["kind"].tolist() == [DeviceKind.COMPUTE, DeviceKind.COMMUNICATION]


GROUPS = {
    "replica_groups={{0,1,2,3}}, use_global_device_ids=true": 2,
    "replica_groups={{0,2},{1,3},{4,6},{5,7}}": 4,
    "replica_groups=[2,4]<=[8]": 4,
    "replica_groups=[8,2]<=[2,8]T(1,0)": 8,
    "source_target_pairs={{0,1},{1,2},{2,0}}": 2,
    "replica_groups={{0},{1}}": 1,
    "replica_groups={}": 1,
    "replica_groups=[4,99999999999999999999]<=[8]": 1,
    "replica_groups=devices": 1,
}


@pytest.mark.parametrize("groups", GROUPS)
def test_collectives_show_how_many_hosts_a_job_has(tmp_path: Path, groups: str) -> None:
    """Two TPUs a host: where its collectives are among more, there are more hosts."""
    trace = open_trace(write(tmp_path / "a.xplane.pb", space(steps(), *tpus(2, groups))))
    assert trace.world_size == GROUPS[groups]
    balance = analysis(trace, Options())["devices"]["efficiency"]["bsc"]["load_balance"]
    assert balance["value"] is None
    size = GROUPS[groups]
    why = f"of {size} ranks" if size > 1 else "no file tells how many ranks the job had"
    assert why in balance["reason"]


def test_files_of_all_hosts_have_their_efficiency(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / f"{host}.xplane.pb", space(steps(), *tpus(2, groups), host=host))
        for host, groups in zip("ab", ("replica_groups={{0,1,2,3}}",) * 2, strict=True)
    ]
    trace = open_traces(paths)
    assert (trace.world_size, trace.missing_ranks) == (2, [])
    document = analysis(trace, Options())
    assert document["devices"]["efficiency"]["bsc"]["load_balance"]["value"] == 1


@pytest.mark.parametrize(("begin_ms", "length_ms"), [(-5.0, 2.0), (6.0, -2.0), (6.0, 2.0**40)])
def test_events_at_times_that_cannot_be_are_left_out_and_counted(
    tmp_path: Path, begin_ms: float, length_ms: float
) -> None:
    """Whole numbers of protocol buffers: one below 0 is among the largest of 64 bits."""
    plane = gpu(30)
    plane.line("Stream #16(Compute)", [("odd", begin_ms, length_ms, {})])
    trace = open_trace(write(tmp_path / "a.xplane.pb", space(steps(30), plane)))
    check_trace(trace)
    devices = trace.ranks[0].devices
    assert devices is not None
    assert len(devices.rows) == 31
    assert any("1 event without a usable time" in note for note in trace.notes)


def test_a_line_that_begins_before_all_time_is_left_out_and_spoils(tmp_path: Path) -> None:
    rows: list[tuple[str, float, float, Mapping[str, int]]] = [
        ("gemm", 10.0 * step, 2.0, {}) for step in range(30)
    ]
    plane = PlaneWriter("/device:GPU:0").line("Stream #1(Compute)", rows, timestamp_ns=-(10**9))
    trace = open_trace(write(tmp_path / "a.xplane.pb", space(steps(3), gpu(), plane)))
    check_trace(trace)
    assert any("30 events without a usable time" in note for note in trace.notes)
    efficiency = analysis(trace, Options())["devices"]["efficiency"]["bsc"]
    assert efficiency["parallel_efficiency"]["value"] is None


def test_a_number_of_a_step_that_is_none_is_no_step(tmp_path: Path) -> None:
    """Statistics hold floating point, too: `step_num` as NaN."""
    plane = PlaneWriter("/host:CPU", stats={"step_num": 1, "_r": 2})
    plane.line("python", [("train", 0.0, 9.0, {}), ("train", 10.0, 9.0, {"step_num": 1, "_r": 1})])
    number = part(4, whole(1, 1) + b"\x11" + np.float64("nan").tobytes())
    root = part(4, whole(1, 2) + whole(4, 1))
    event = whole(1, 1) + whole(2, 20 * MS * 1000) + whole(3, 9 * MS * 1000) + number + root
    plane.lines[0] += part(4, event)
    trace = open_trace(write(tmp_path / "a.xplane.pb", space(plane)))
    check_trace(trace)
    assert trace.ranks[0].steps["number"].tolist() == [1]


def test_sums_of_a_device_with_streams_are_no_work(tmp_path: Path) -> None:
    plane = gpu().line("XLA Ops", [("gemm", 6.0, 2.0, {})])
    devices = open_trace(write(tmp_path / "a.xplane.pb", space(steps(), plane))).ranks[0].devices
    assert devices is not None
    assert len(devices.rows) == 4


def test_the_users_rules_name_phases(tmp_path: Path) -> None:
    rows = [("train", 0.0, 9.0, {"step_num": 0, "_r": 1}), ("my_check", 1.0, 2.0, {})]
    path = write(tmp_path / "b.xplane.pb", space(PlaneWriter("/host:CPU").line("python", rows)))
    assert read_phases(path, ()) == set()
    assert read_phases(path, (("evaluate", "my_check"),)) == {PhaseKind.EVALUATE}


def read_phases(path: Path, rules: tuple[tuple[str, str], ...]) -> set[int]:
    trace = open_trace(path, ReadOptions(phase_rules=rules))
    return set(trace.ranks[0].phases["kind"].tolist())


def test_files_of_hosts_are_ranks_also_compressed(tmp_path: Path) -> None:
    first = write(tmp_path / "a.xplane.pb", space(steps(), host="a"))
    second = write(tmp_path / "b.xplane.pb.gz", gzip.compress(space(steps(), host="b")))
    trace = open_traces([first, second])
    assert sorted(rank.host for rank in trace.ranks) == ["a", "b"]
    assert trace.origin_unix_ns == EPOCH_NS


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_cut_profile_is_an_error(tmp_path: Path, share: float) -> None:
    content = space(steps(200), gpu(200))
    path = write(tmp_path / "a.xplane.pb", content[: int(len(content) * share)])
    with pytest.raises(UnreadableInputError) as caught:
        open_trace(path)
    assert len(str(caught.value).splitlines()) <= 3


def test_a_changed_profile_is_an_error_or_a_sound_trace(tmp_path: Path) -> None:
    content = space(steps(), gpu())
    random = np.random.default_rng(8)
    for _ in range(300):
        changed = bytearray(content)
        for place in random.integers(0, len(content), 3):
            changed[place] = random.integers(0, 256)
        path = write(tmp_path / "a.xplane.pb", bytes(changed))
        with suppress(UnreadableInputError):
            check_trace(open_trace(path))


def test_a_profile_without_events_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="nothing that takes time"):
        open_trace(write(tmp_path / "a.xplane.pb", space(PlaneWriter("/host:CPU"))))


@pytest.mark.parametrize("bound", [3, 12, 16])
def test_a_profile_that_would_fill_the_memory_is_refused(
    bound: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.xplane.pb", space(steps()))
    left = 2 * bound * planes.ENTRY_BYTES
    monkeypatch.setattr(memory, "memory_left_bytes", lambda: left)
    with pytest.raises(UnreadableInputError, match="is too long"):
        open_trace(path)
    monkeypatch.undo()
    assert len(open_trace(path).ranks[0].phases)
    monkeypatch.setattr(planes, "GROWTH", Growth(most_bytes=100))
    with pytest.raises(UnreadableInputError, match="is too long"):
        open_trace(path)


DEEP = part(1, b"")
for _ in range(3000):
    DEEP = part(1, DEEP)
HOSTILE = {
    "a number that does not end": part(1, part(3, whole(3, 5) + b"\x18" + b"\xff" * 11)),
    "a number of more than 64 bits": part(1, part(3, b"\x18" + b"\xff" * 9 + b"\x02")),
    "a length beyond the file": part(1, part(3, b"\x22" + varint(1 << 62) + b"x")),
    "a group": part(1, b"\x1b\x08\x01\x1c"),
    "an unknown type": part(1, b"\x1e\x08\x01"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_no_message_is_named_by_its_byte(what: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.xplane.pb", space(steps()) + HOSTILE[what])
    with pytest.raises(UnreadableInputError) as caught:
        open_trace(path)
    assert "damaged at byte" in caught.value.why
    assert all(caught.value.lines())


def test_what_is_deep_long_or_named_twice_is_read(tmp_path: Path) -> None:
    """Unknown fields are not entered, so that no depth is too much; of names the last counts."""
    plane = steps()
    plane.events["second"] = plane.events["EagerExecute"]
    named = part(4, whole(1, 900) + part(2, whole(1, 900) + part(2, "n" * 1_000_000)))
    content = part(1, plane.content() + named + part(77, DEEP)) + part(9, DEEP)
    trace = open_trace(write(tmp_path / "a.xplane.pb", content + space()))
    check_trace(trace)
    assert len(trace.ranks[0].steps) == 3
