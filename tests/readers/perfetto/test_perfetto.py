"""Perfetto's own traces: perfscope's export, packets made by hand, damage."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from perfscope import memory
from perfscope.dataframes.source import Source
from perfscope.errors import UnreadableInputError
from perfscope.export import _perfetto_packets as proto
from perfscope.export import perfetto
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.readers.perfetto import reader
from perfscope.readers.registry import open_trace
from perfscope.schema.enums import PhaseKind
from perfscope.trace.devices import DeviceKind
from perfscope.trace.model import Format, Trace
from tests.support.environments import REPOSITORY
from tests.support.trace_invariants import check_trace

SAMPLES = REPOSITORY / "sample_traces"
NOW = 1_795_000_000 * 10**9


@pytest.fixture(scope="module")
def sample() -> Trace:
    return open_trace(SAMPLES / "rank_zero_evaluation")


def exported(trace: Trace, path: Path) -> Trace:
    assert perfetto.write(Source(trace), path) == []
    back = open_trace(path)
    check_trace(back)
    assert back.format is Format.PERFETTO
    return back


def test_efficiencies_and_calls_of_an_export_are_those_of_the_recording(
    sample: Trace, tmp_path: Path
) -> None:
    back = exported(sample, tmp_path / "a.perfetto-trace")
    shift = back.origin_unix_ns - sample.origin_unix_ns
    for rank, again in zip(sample.ranks, back.ranks, strict=True):
        assert again.number == rank.number
        assert len(again.operations) == len(rank.operations)
        assert np.array_equal(
            np.sort(again.operations["t0"]) + shift, np.sort(rank.operations["t0"])
        )
        assert np.array_equal(again.steps["number"], rank.steps["number"])
    mine = compute(sample)
    start, end = (at - shift for at in (mine.focus.start_ns, mine.focus.end_ns))
    theirs = compute(back, Options(focus=f"{start / 1e9:.9f}:{end / 1e9:.9f}")).efficiency
    for name in ("parallel_efficiency", "load_balance", "communication_efficiency"):
        value = getattr(mine.efficiency, name).value
        assert value is not None
        assert getattr(theirs, name).value == pytest.approx(value, abs=1e-9)


def test_a_compressed_export_is_the_same(sample: Trace, tmp_path: Path) -> None:
    for name in ("a.pftrace", "a.pftrace.gz"):
        perfetto.write(Source(sample), tmp_path / name)
    packed = gzip.decompress((tmp_path / "a.pftrace.gz").read_bytes())
    assert packed == (tmp_path / "a.pftrace").read_bytes()


def made(*parts: bytes) -> bytes:
    thread = proto.held(4, proto.whole(1, 7) + proto.whole(2, 8) + proto.text(5, "main"))
    return b"".join((proto.clocks(NOW), proto.track(1, thread), *parts))


def test_slices_nest_and_end_in_their_order(tmp_path: Path) -> None:
    outer, inner = proto.text(23, "train_step"), proto.text(23, "evaluate")
    path = tmp_path / "a.pftrace"
    path.write_bytes(
        made(
            proto.event(proto.BEGIN, 1, NOW, outer),
            proto.event(proto.BEGIN, 1, NOW + 100, inner),
            proto.event(proto.END, 1, NOW + 300),
            proto.event(proto.END, 1, NOW + 1000),
        )
    )
    trace = open_trace(path)
    check_trace(trace)
    (rank,) = trace.ranks
    lengths = {trace.names[row["name"]]: int(row["t1"] - row["t0"]) for row in rank.phases}
    assert lengths == {"train_step": 1000, "evaluate": 200}
    assert trace.origin_unix_ns == NOW
    assert compute(trace).efficiency.parallel_efficiency.value is None


@pytest.mark.parametrize("agent", [4, "Agent-4"])
def test_kernels_and_copies_of_rocprofv3_are_work_of_devices(
    tmp_path: Path, agent: int | str
) -> None:
    """Tracks of agents stand beside the process that launched their work, below no process.

    The tool names agents by number or, from ROCm 6.4 on, in words.
    """

    def slices(track: int, kind: str, name: str, begin: int, end: int, **facts: int | str) -> bytes:
        told = proto.text(22, kind) + proto.text(23, name)
        told += b"".join(proto.annotation(*fact) for fact in facts.items())
        return proto.event(proto.BEGIN, track, begin, told) + proto.event(proto.END, track, end)

    agents = [proto.track(uuid, proto.text(2, f"AGENT [{uuid}]")) for uuid in (2, 3)]
    path = tmp_path / "7_results.pftrace"
    parts = [
        slices(1, "marker_api", "evaluate", NOW, NOW + 900),
        slices(1, "hip_api", "hipLaunchKernel", NOW + 100, NOW + 110, corr_id=8),
        slices(2, "kernel_dispatch", "gemm", NOW + 300, NOW + 800, corr_id=8, agent=agent, queue=1),
        slices(
            *(3, "memory_copy", "MEMORY_COPY_DEVICE_TO_HOST", NOW + 810, NOW + 850),
            src_agent=agent,
        ),
    ]
    path.write_bytes(made(*agents, *parts))
    trace = open_trace(path)
    check_trace(trace)
    (rank,) = trace.ranks
    assert rank.phases["kind"].tolist() == [PhaseKind.EVALUATE]
    assert rank.devices is not None
    rows = rank.devices.rows
    assert rows["kind"].tolist() == [DeviceKind.COMPUTE, DeviceKind.MEMCPY]
    assert rows["device"].tolist() == [4, 4]
    assert rows["t0"][0] - rows["launch"][0] == 200
    assert compute(trace).efficiency.parallel_efficiency.value is None


@pytest.mark.parametrize("start", [0, 5])
def test_interned_names_and_clocks_of_a_sequence_are_followed(tmp_path: Path, start: int) -> None:
    """As the SDK writes: names by number, times counted from the one before in its own clock."""
    own = proto.whole(1, 64) + proto.whole(2, start) + proto.whole(3, 1) + proto.whole(4, 1000)
    boot = proto.whole(1, proto.BOOTTIME) + proto.whole(2, NOW)
    clocks = proto.packet(proto.held(6, proto.held(1, own) + proto.held(1, boot)))
    named = proto.held(12, proto.held(2, proto.whole(1, 3) + proto.text(2, "evaluate")))
    defaults = proto.held(59, proto.whole(58, 64))
    begin = proto.whole(9, proto.BEGIN) + proto.whole(11, 1) + proto.whole(10, 3)
    end = proto.whole(9, proto.END) + proto.whole(11, 1)
    path = tmp_path / "a.pftrace"
    path.write_bytes(
        made(
            clocks,
            proto.packet(proto.whole(8, 2) + named + defaults + proto.held(11, begin)),
            proto.packet(proto.whole(8, 4) + proto.held(11, end)),
        )
    )
    trace = open_trace(path)
    (row,) = trace.ranks[0].phases
    assert trace.names[row["name"]] == "evaluate"
    assert row["t1"] - row["t0"] == 4000


def test_what_chrome_wrote_of_a_known_page_is_told() -> None:
    """Chromium 156: a page that measures five times 20 ms of work and 5 ms of evaluation.

    The lengths are those that Perfetto's own library reads. Each slice has a track of its own.
    Packets that describe the machine were taken out of the file.
    """
    trace = open_trace(Path(__file__).with_name("written") / "chrome.pftrace.gz")
    check_trace(trace)
    assert trace.format is Format.PERFETTO
    (rank,) = trace.ranks
    assert (rank.pid, trace.origin_unix_ns // 10**9) == (31529, 1_795_684_554)
    rows = [(trace.names[row["name"]], int(row["t1"] - row["t0"]) // 1000) for row in rank.phases]
    assert [us for name, us in rows if name == "train_step"] == [22766, 20991, 21193, 20983, 19956]
    assert [us for name, us in rows if name == "evaluate"] == [7910, 6546, 5097, 5108, 4970]
    assert len(rows) == 10
    assert compute(trace).efficiency.parallel_efficiency.value is None


@pytest.mark.parametrize("missing", [1, 3, 9])
def test_a_cut_file_is_an_error_that_names_the_byte(
    sample: Trace, tmp_path: Path, missing: int
) -> None:
    path = tmp_path / "a.pftrace"
    perfetto.write(Source(sample), path)
    path.write_bytes(path.read_bytes()[:-missing])
    with pytest.raises(UnreadableInputError) as raised:
        open_trace(path)
    assert "byte" in raised.value.why


def test_a_trace_without_track_events_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.pftrace"
    path.write_bytes(made())
    with pytest.raises(UnreadableInputError, match="no track event"):
        open_trace(path)


def test_parents_in_a_circle_end(tmp_path: Path) -> None:
    path = tmp_path / "a.pftrace"
    circle = [proto.track(uuid, proto.text(2, "x"), parent=5 - uuid) for uuid in (2, 3)]
    slices = [proto.event(proto.BEGIN, 2, NOW, proto.text(23, "evaluate"))]
    path.write_bytes(made(*circle, *slices, proto.event(proto.END, 2, NOW + 50)))
    check_trace(open_trace(path))


def test_more_events_than_memory_holds_are_an_error(
    sample: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = 2 * 100 * reader.ENTRY_BYTES
    perfetto.write(Source(sample), tmp_path / "a.pftrace")
    monkeypatch.setattr(memory, "memory_left_bytes", lambda: left)
    with pytest.raises(UnreadableInputError, match="too many events"):
        open_trace(tmp_path / "a.pftrace")


HOSTILE = {
    "a number that does not end": b"\x0a\x0e\x40" + b"\xff" * 13,
    "a length beyond the file": b"\x0a" + proto.varint(1 << 62) + b"x",
    "a group": proto.packet(b"\x5b\x48\x01\x5c"),
    "an event that is cut": proto.packet(proto.whole(8, NOW) + proto.held(11, b"\x48")),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_no_message_is_named_by_its_byte(what: str, tmp_path: Path) -> None:
    path = tmp_path / "a.pftrace"
    path.write_bytes(made(slice_of("evaluate"), HOSTILE[what]))
    with pytest.raises(UnreadableInputError) as raised:
        open_trace(path)
    assert "damaged at byte" in raised.value.why
    assert all(raised.value.lines())


def slice_of(name: str, facts: bytes = b"") -> bytes:
    begin = proto.event(proto.BEGIN, 1, NOW, proto.text(23, name) + facts)
    return begin + proto.event(proto.END, 1, NOW + 500)


def test_facts_that_nest_are_long_or_repeated_do_no_harm(tmp_path: Path) -> None:
    """Facts that hold others are left out; of two of one name the last one counts."""
    deep = proto.text(10, "x")
    for _ in range(3000):
        deep = proto.text(10, "x") + proto.held(11, deep)
    facts = proto.held(4, deep) + proto.annotation("y" * 1_000_000, "z" * 1_000_000)
    facts += proto.annotation('\x00"', "\\") + proto.annotation("a", 1) + proto.annotation("a", 2)
    words = b"".join(
        proto.packet(proto.held(12, proto.held(2, proto.whole(1, 3) + proto.text(2, str(at)))))
        for at in range(2000)
    )
    path = tmp_path / "a.pftrace"
    path.write_bytes(made(words, slice_of("evaluate", facts)))
    trace = open_trace(path)
    check_trace(trace)
    assert trace.ranks[0].phases["kind"].tolist() == [PhaseKind.EVALUATE]
