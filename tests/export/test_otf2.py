"""OTF2: libotf2 reads back every event, otf2-print opens the archive."""

import math
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import otf2
from hypothesis import given, settings

from perfscope.dataframes.opened import OpenedTrace
from perfscope.dataframes.source import Source
from perfscope.export.otf2 import write
from perfscope.readers.registry import open_trace
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import RowFlag, Trace
from perfscope.trace.operations import IS_COLLECTIVE, code_of, name_of
from perfscope.trace.samples import PROCESS_SAMPLE_DTYPE
from tests.export.expected import intervals, readable
from tests.export.otf2_contents import Contents, read
from tests.support.environments import REPOSITORY
from tests.support.random_traces import kernel_and_copy, traces
from tests.support.requirements import require_tool
from tests.support.trace_builder import TraceBuilder

SAMPLE = REPOSITORY / "sample_traces" / "rank_zero_evaluation"


def exported(trace: Trace) -> Contents:
    with tempfile.TemporaryDirectory() as directory:
        write(Source(trace), Path(directory) / "out")
        return read(Path(directory) / "out")


def shifted(counter: Counter, base: int, *places: int) -> Counter:  # type: ignore[type-arg]
    """Keys with `base` added to some of their numbers."""
    return Counter(
        {
            tuple(v + base if place in places else v for place, v in enumerate(key)): count
            for key, count in counter.items()
        }
    )


@settings(deadline=None, max_examples=40)
@given(traces())
def test_what_goes_out_comes_back(trace: Trace) -> None:
    found, base = exported(trace), trace.origin_unix_ns
    assert found.intervals == shifted(intervals(trace), base, 2, 3)
    assert found.first == found.realtime or not found.intervals
    assert found.communicators == [list(c.members) for c in trace.communicators]
    operations = OpenedTrace(trace).operations()
    sends = operations[operations["name"] == "MPI_Send"]
    columns = ("rank", "t0_ns", "target", "tag", "sent_bytes")
    wanted = Counter(zip(*(sends[name].tolist() for name in columns), strict=True))
    assert found.sends == shifted(wanted, base, 1)
    assert found.receives == shifted(received(trace), base, 1)
    assert found.collectives == shifted(collectives(trace), base, 1)


def received(trace: Trace) -> Counter[tuple[int, int, int, int, int]]:
    found: Counter[tuple[int, int, int, int, int]] = Counter()
    for rank in trace.ranks:
        blocking = rank.operations[rank.operations["op"] == code_of("MPI_Recv")]
        for rows, at in ((blocking, "t1"), (rank.completions, "t0")):
            for row in rows:
                key = [int(row[name]) for name in (at, "peer", "tag", "received")]
                found[(rank.number, key[0], key[1], key[2], key[3])] += 1
    return found


def collectives(trace: Trace) -> Counter[tuple[int, int, str, int | None, int, int]]:
    found: Counter[tuple[int, int, str, int | None, int, int]] = Counter()
    for rank in trace.ranks:
        for row in rank.operations[IS_COLLECTIVE[rank.operations["op"]]]:
            root = int(row["peer"]) if row["peer"] >= 0 else None
            kind = name_of(int(row["op"])).removeprefix("MPI_").upper()
            sent, received = int(row["sent"]), int(row["received"])
            found[(rank.number, int(row["t1"]), kind, root, sent, received)] += 1
    return found


@settings(deadline=None, max_examples=25)
@given(traces())
def test_metrics_and_threads_come_back(trace: Trace) -> None:
    found, base = exported(trace), trace.origin_unix_ns
    assert PROCESS_SAMPLE_DTYPE.names is not None
    wanted: Counter[tuple[int, int, str, float]] = Counter()
    nan = 0
    for rank in trace.ranks:
        for row in rank.process_samples:
            for name in PROCESS_SAMPLE_DTYPE.names[1:]:
                wanted[rank.number, int(row["t"]) + base, name, int(row[name])] += 1
        for row in rank.metrics:
            value = float(row["value"])
            nan += math.isnan(value)
            if not math.isnan(value):
                name = readable(trace.names[row["name"]])
                wanted[rank.number, int(row["t"]) + base, name, value] += 1
    assert sum(math.isnan(key[3]) * count for key, count in found.metrics.items()) == nan
    kept = {key: count for key, count in found.metrics.items() if not math.isnan(key[3])}
    assert kept == wanted
    for rank in trace.ranks:
        names = [name for group, name, _ in found.locations.values() if group == rank.number]
        for thread in rank.threads:
            assert f"{readable(thread.name)} {thread.tid}" in names


def test_steps_and_phases_carry_their_numbers() -> None:
    builder = TraceBuilder(1, end_s=9.0)
    rank = builder.rank(0).step(7, 1.0, 2.0, epoch=3, samples=32, global_batch=64)
    rank.phase(PhaseKind.EVALUATE, 3.0, 4.0, epoch=3, flags=RowFlag.OPEN)
    rank.op("MPI_Test", 5.0, 6.0, request=1000, flags=RowFlag.COALESCED)
    assert exported(builder.build()).attributes == {
        ("step", "step", 7): 1,
        ("step", "epoch", 3): 1,
        ("step", "samples", 32): 1,
        ("step", "global_batch", 64): 1,
        ("evaluate", "epoch", 3): 1,
        ("evaluate", "open", 1): 1,
        ("MPI_Test", "calls", 1000): 1,
    }


def test_roots_and_partners_are_ranks_of_the_communicator() -> None:
    builder = TraceBuilder(4, end_s=9.0)
    pair = builder.communicator([3, 1])
    for number in (1, 3):
        builder.rank(number).op("MPI_Bcast", 1.0, 2.0, comm=pair, peer=1, sent=8 * (number == 1))
    builder.rank(3).op("MPI_Isend", 3.0, 3.1, comm=pair, peer=1, tag=5, sent=9, request=77)
    builder.rank(3).op("MPI_Wait", 4.0, 5.0, request=1).completion("MPI_Isend", 4.5, 77)
    found, base = exported(builder.build()), 1_700_000_000_000_000_000
    assert {key[3] for key in found.collectives} == {1}
    assert found.sends == {(3, base + 3_000_000_000, 1, 5, 9): 1}
    assert found.communicators == [[0, 1, 2, 3], [3, 1]]


def test_nonblocking_collectives_end_where_their_request_does() -> None:
    builder = TraceBuilder(1, end_s=9.0)
    rank = builder.rank(0).op("MPI_Iallreduce", 1.0, 1.1, sent=8, received=8, request=5)
    rank.op("MPI_Wait", 2.0, 3.0, request=1).completion("MPI_Iallreduce", 3.0, 5)
    found, base = exported(builder.build()), 1_700_000_000_000_000_000
    assert found.collectives == {(0, base + 3_000_000_000, "ALLREDUCE", None, 8, 8): 1}


def test_ranks_that_left_no_recording_are_there_and_empty() -> None:
    trace = TraceBuilder(3, end_s=9.0).build()
    del trace.ranks[1]
    found = exported(trace)
    assert "not recorded" in found.locations[1][1]
    assert [place[0] for place in found.locations.values()][:3] == [0, 1, 2]


def test_partners_that_are_not_known_are_counted(tmp_path: Path) -> None:
    builder = TraceBuilder(1, end_s=9.0)
    builder.rank(0).op("MPI_Recv", 1.0, 2.0, peer=-2, tag=1, received=8)
    notes = write(Source(builder.build()), tmp_path / "out")
    assert len(notes) == 1
    assert notes[0].startswith("1 calls were written without their message or collective")


def test_kernels_stand_on_locations_of_their_streams() -> None:
    found, base = exported(kernel_and_copy()), 1_700_000_000_000_000_000
    wanted = Counter({(0, "gemm", 5_000, 9_001): 1, (0, "gemm", 6_000, 9_500): 1})
    assert found.intervals == shifted(wanted, base, 2, 3)
    kinds = [kind for _, name, kind in found.locations.values() if "device 0" in name]
    assert len(kinds) == 2
    assert all("ACCELERATOR_STREAM" in kind or "GPU" in kind for kind in kinds)


def test_the_sample_opens_in_otf2_print_with_all_its_events(tmp_path: Path) -> None:
    trace = open_trace(SAMPLE)
    write(Source(trace), tmp_path / "out")
    printer = require_tool("otf2-print")
    done = subprocess.run(
        [printer, tmp_path / "out" / "traces.otf2"], capture_output=True, text=True, check=True
    )
    counts = Counter(line.split()[0] for line in done.stdout.splitlines() if line.strip())
    spans = intervals(trace).total()
    ended = sum(int(np.count_nonzero(IS_COLLECTIVE[r.operations["op"]])) for r in trace.ranks)
    assert (counts["ENTER"], counts["LEAVE"]) == (spans, spans)
    assert counts["MPI_COLLECTIVE_END"] == ended
    assert done.stderr == ""


def test_the_same_trace_gives_the_same_bytes(tmp_path: Path) -> None:
    contents = []
    for name in ("first", "second"):
        write(Source(open_trace(SAMPLE)), tmp_path / name)
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        contents.append([path.read_bytes() for path in files if path.suffix != ".otf2"])
    assert contents[0] == contents[1]


def test_operations_stay_on_the_location_of_their_thread() -> None:
    """A phase that cuts one in two stands beside it."""
    builder = TraceBuilder(1, end_s=9.0)
    builder.rank(0).phase(PhaseKind.TRAIN, 1.0, 2.5).op("MPI_Barrier", 2.0, 3.0)
    with tempfile.TemporaryDirectory() as directory:
        write(Source(builder.build()), Path(directory) / "out")
        found = read(Path(directory) / "out")
        archive = otf2.reader.open(str(Path(directory) / "out" / "traces.otf2"))
        with archive as trace:
            places = {(loc.name, e.region.name) for loc, e in trace.events if hasattr(e, "region")}
    assert places == {("main 1000", "MPI_Barrier"), ("main 1000 (overlapping 1)", "train")}
    assert found.collectives.total() == 1
