"""Exports of Nsight Systems: published values, several processes, and what is no sound export."""

import json
import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfscope.document.analysis import analysis
from perfscope.errors import UnreadableInputError
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace, open_traces
from perfscope.schema.enums import PhaseKind
from perfscope.trace.devices import LAUNCH_UNKNOWN, DeviceKind
from perfscope.trace.model import Format, Rank, Trace
from perfscope.trace.operations import BY_NAME
from tests.readers.nsys.exports import (
    CALLS,
    COPIES,
    EPOCH_NS,
    KERNELS,
    MS,
    RANGES,
    SYSTEM_CALLS,
    serialized,
    steps_of,
    write_export,
)
from tests.support.requirements import require_reference
from tests.support.trace_invariants import check_trace

INTERIOR_PAGE = 5
NAME = "nsys/power_iteration__baseline.sqlite"


@pytest.fixture(scope="module")
def published() -> dict[str, Any]:
    values = json.loads(require_reference("expected.json").read_text())
    found: dict[str, Any] = values["nsys"][NAME]
    return found


def rows_of(rank: Rank) -> Any:
    assert rank.devices is not None
    return rank.devices.rows


def test_a_real_export_gives_the_published_values(published: dict[str, Any]) -> None:
    trace = open_trace(require_reference(NAME))
    check_trace(trace)
    assert trace.format is Format.NSYS
    (rank,) = trace.ranks
    assert rank.devices is not None
    rows, lengths = rank.devices.rows, rank.devices.rows["t1"] - rank.devices.rows["t0"]
    kernels, copies = (rows["kind"] == kind for kind in (DeviceKind.COMPUTE, DeviceKind.MEMCPY))
    assert int(kernels.sum()) == published["kernels"]
    assert int(lengths[kernels].sum()) == published["kernel_sum_ns"]
    assert int(copies.sum()) == published["memcpy"]
    assert int(lengths[copies].sum()) == published["memcpy_sum_ns"]
    assert int(rows["bytes"][copies].sum()) == published["memcpy_bytes"]
    assert int(np.count_nonzero(rows["launch"] == LAUNCH_UNKNOWN)) == 0
    assert len(rank.devices.runtime) == published["runtime_calls"]
    times = rank.devices.runtime["t1"] - rank.devices.runtime["t0"]
    assert int(times.sum()) == published["runtime_sum_ns"]
    assert int(rows["t1"].max() - rows["t0"].min()) == published["span_ns"]
    name, count, length = published["top_kernel"]
    top = np.array([name in text for text in trace.names])[rows["name"]]
    assert (int(top.sum()), int(lengths[top].sum())) == (count, length)
    assert [device.name for device in rank.devices.devices] == [published["gpu"]]
    loop = next(n for n, text in enumerate(trace.names) if text == "Loop")
    (loops,) = np.flatnonzero(rank.phases["name"] == loop)
    spent = rank.phases["t1"][loops] - rank.phases["t0"][loops]
    assert int(spent) == published["nvtx_Loop_ns"]


def test_calls_of_the_system_in_a_real_export_are_told() -> None:
    """The sums are those of SQLite over the table."""
    (found,) = open_trace(require_reference(NAME)).tool_reports
    (told,) = found.tables
    rows = {row[1]: row for row in told.rows}
    assert len(rows) == 8
    assert not found.says  # 1 % of the main thread's time
    assert [*rows["write"][2:5]] == pytest.approx([1100, 0.010713545, 0.0059821], rel=1e-4)
    assert [*rows["poll"][2:6]] == pytest.approx([18, 0.0, 0.0, 1.80255859])


def test_calls_of_the_system_are_told_by_rank(tmp_path: Path) -> None:
    tables = steps_of(500)
    for name, rows in steps_of(501).items():
        tables[name] += rows
    tables["MPI_RANK"] = [(serialized(500, 0), 1), (serialized(501, 0), 0)]
    tables[SYSTEM_CALLS] = [
        (MS, 9 * MS, serialized(500), 9, 0),
        (2 * MS, 3 * MS, serialized(500), 10, 1),  # inside of the other
        (0, 30 * MS, serialized(500, 77), 10, 0),
        (5 * MS, 6 * MS, serialized(501), 9, None),
        (6 * MS, 5 * MS, serialized(501), 9, 0),
        ("x", 5 * MS, serialized(501), 9, 0),
        (0, MS, serialized(400), 9, 0),  # of no rank
    ]
    trace = open_trace(write_export(tmp_path / "report.sqlite", tables))
    (found,) = trace.tool_reports
    length = (trace.ranks[1].end_ns - trace.ranks[1].start_ns) / 1e6
    (told,) = found.tables
    named = [row[:2] for row in told.rows]
    assert named == [(1, "read"), (0, "read"), (1, "poll")]
    expected = [
        [1, 0.008, 8 / length, 0.0, 0.008],
        [2, 0.001, 1 / length, 0.0, 0.001],
        [1, 0.0, 0.0, 0.03, 0.03],
    ]
    for row, figures in zip(told.rows, expected, strict=True):
        assert [*row[2:]] == pytest.approx(figures)
    assert found.says[0].startswith(
        "The main thread of rank 1 was in calls of the operating system"
    )


def test_calls_of_the_system_alone_open_and_tell_no_efficiency(tmp_path: Path) -> None:
    """What `nsys profile --trace=osrt` leaves: when each process ran, and in which calls."""
    rows = [(MS, 9 * MS, serialized(500), 9, 0), (2 * MS, 31 * MS, serialized(501), 10, 0)]
    trace = open_trace(write_export(tmp_path / "report.sqlite", {SYSTEM_CALLS: rows}))
    check_trace(trace)
    assert [(rank.start_ns, rank.end_ns) for rank in trace.ranks] == [(0, 8 * MS), (MS, 30 * MS)]
    assert [row[:2] for row in trace.tool_reports[0].tables[0].rows] == [(1, "poll"), (0, "read")]
    efficiency = analysis(trace, Options())["metrics"]["parallel_efficiency"]
    assert efficiency["value"] is None
    assert "no report holds a call of MPI" in efficiency["reason"]


def two_ranks(place: Path) -> Trace:
    """Rank 1 works 2 ms longer before each allreduce; a third process only starts the others."""
    tables = steps_of(500)
    for name, rows in steps_of(501, late_ms=2).items():
        tables[name] += rows
    tables[RANGES].append((0, MS, serialized(400), 59, "launcher", None, 0))
    tables["MPI_RANK"] = [(serialized(500, 0), 1), (serialized(501, 0), 0)]
    return open_trace(write_export(place / "report.sqlite", tables))


def test_processes_of_an_export_are_the_ranks_that_it_names(tmp_path: Path) -> None:
    trace = two_ranks(tmp_path)
    check_trace(trace)
    assert [(rank.number, rank.pid) for rank in trace.ranks] == [(0, 501), (1, 500)]
    assert trace.world_size == 2
    assert trace.origin_unix_ns == EPOCH_NS
    assert [rank.steps["number"].tolist() for rank in trace.ranks] == [[0, 1, 2, 3]] * 2
    entered = [rank.operations["t0"].tolist() for rank in trace.ranks]
    assert entered == [[(10 * n + 6) * MS for n in range(4)], [(10 * n + 4) * MS for n in range(4)]]
    for rank in trace.ranks:
        assert set(rank.operations["op"].tolist()) == {BY_NAME["MPI_Allreduce"].code}
        assert rank.operations["seq"].tolist() == [0, 1, 2, 3]
        assert set(rank.operations["comm"].tolist()) == {0}
        assert rows_of(rank)["launch"].tolist() == [10 * n * MS + MS // 2 for n in range(4)]


def test_files_of_ranks_are_joined(tmp_path: Path) -> None:
    paths = []
    for rank, pid in enumerate((70, 71)):
        tables = steps_of(pid, late_ms=rank)
        tables["MPI_RANK"] = [(serialized(pid, 0), rank)]
        tables["TARGET_INFO_SYSTEM_ENV"] = [("Hostname", f"node{rank}")]
        paths.append(write_export(tmp_path / f"{'ba'[rank]}.sqlite", tables))
    trace = open_traces(paths)
    assert [(rank.number, rank.pid, rank.host) for rank in trace.ranks] == [
        (0, 70, "node0"),
        (1, 71, "node1"),
    ]
    assert trace.communicators[0].members == (0, 1)


def test_ranks_whose_calls_of_mpi_were_not_traced_have_no_efficiency(tmp_path: Path) -> None:
    for rank in range(2):
        tables = {k: rows for k, rows in steps_of(5 + rank).items() if not k.startswith("MPI_")}
        write_export(tmp_path / f"rank{rank}.sqlite", tables)
    found = compute(open_traces([tmp_path])).efficiency.parallel_efficiency
    assert found.value is None
    assert "--trace=cuda,nvtx,mpi" in (found.reason or "")


def test_the_rank_may_stand_in_the_name_of_a_file(tmp_path: Path) -> None:
    paths = [
        write_export(tmp_path / f"report_rank{rank}.sqlite", steps_of(80 + rank)) for rank in (1, 0)
    ]
    assert [(rank.number, rank.pid) for rank in open_traces(paths).ranks] == [(0, 80), (1, 81)]


def test_kernels_of_nccl_communicate(tmp_path: Path) -> None:
    tables = steps_of(5)
    tables[KERNELS].append((45 * MS, 46 * MS, 0, 9, 50, serialized(5, 0), 3, 3))
    (rank,) = open_trace(write_export(tmp_path / "a.sqlite", tables)).ranks
    kinds = rows_of(rank)["kind"].tolist()
    assert kinds == [DeviceKind.COMPUTE] * 4 + [DeviceKind.COMMUNICATION]
    assert rows_of(rank)["launch"][-1] == LAUNCH_UNKNOWN


def test_a_wait_of_the_host_is_known_in_every_release(tmp_path: Path) -> None:
    tables = steps_of(5)
    tables[CALLS].append((MS + 1, 3 * MS, serialized(5), 77, 5))
    trace = open_trace(write_export(tmp_path / "a.sqlite", tables))
    (rank,) = trace.ranks
    assert {trace.names[name] for name in rank.devices.runtime["name"].tolist()} == {  # type: ignore[union-attr]
        "cudaLaunchKernel",
        "cudaStreamSynchronize",
    }


def test_ranges_of_libraries_are_no_phases_of_the_program(tmp_path: Path) -> None:
    thread = serialized(5)
    tables = steps_of(5)
    tables[RANGES] += [
        (0, None, thread, 75, "CCCL", None, 3),
        (MS, 2 * MS, thread, 59, "cub::DeviceReduce", None, 3),
        (2 * MS, 3 * MS, thread, 60, "load", None, 0),
        (4 * MS, None, thread, 34, "a mark", None, 0),
    ]
    trace = open_trace(write_export(tmp_path / "a.sqlite", tables))
    told = {trace.names[name] for name in trace.ranks[0].phases["name"].tolist()}
    assert "load" in told
    assert not told & {"cub::DeviceReduce", "CCCL", "a mark"}


def test_operators_of_pytorch_are_no_phases_of_the_program(tmp_path: Path) -> None:
    """As torch.autograd.profiler.emit_nvtx names them; nor does a module's name tell of saving."""
    thread = serialized(5)
    tables = steps_of(5)
    wrapped = "FSDP::pre_forward (blocks.16._checkpoint_wrapped_module)"
    tables[RANGES] += [
        (MS, 3 * MS, thread, 59, wrapped, None, 0),
        (MS, 2 * MS, thread, 59, "aten::linear, seq = 47485, op_id = 12", None, 0),
        (4 * MS, 5 * MS, thread, 59, "aten::copy_, op_id = 13", None, 0),
        (6 * MS, 7 * MS, thread, 59, "checkpoint_tensor, seq = 3", None, 0),
    ]
    trace = open_trace(write_export(tmp_path / "a.sqlite", tables))
    phases = trace.ranks[0].phases
    told = {trace.names[name] for name in phases["name"].tolist()}
    assert wrapped in told
    assert not {name for name in told if "seq" in name or "aten" in name}
    assert PhaseKind.CHECKPOINT not in phases["kind"]


def test_several_communicators_are_not_taken_for_one(tmp_path: Path) -> None:
    tables = steps_of(5)
    tables["MPI_COLLECTIVES_EVENTS"].append((41 * MS, 42 * MS, serialized(5), 6, 100, None, 8, 8))
    (rank,) = open_trace(write_export(tmp_path / "a.sqlite", tables)).ranks
    assert set(rank.operations["comm"].tolist()) == {-1}


def test_steps_are_the_outermost_ranges_that_are_called_so(tmp_path: Path) -> None:
    tables = steps_of(5)
    for step in range(4):
        for part in range(3):
            begin = (10 * step + 2 * part) * MS
            name = f"micro_batch {part}"
            tables[RANGES].append((begin, begin + MS, serialized(5), 59, name, None, 0))
    trace = open_trace(write_export(tmp_path / "a.sqlite", tables))
    assert trace.ranks[0].steps["number"].tolist() == [0, 1, 2, 3]


def test_ranks_that_make_other_calls_are_not_in_one_world(tmp_path: Path) -> None:
    tables = steps_of(5)
    for name, rows in steps_of(6, steps=3).items():
        tables[name] += rows
    tables["MPI_COMMUNICATORS"] = [(0, 99, 2)]
    trace = open_trace(write_export(tmp_path / "a.sqlite", tables))
    assert {number for rank in trace.ranks for number in rank.operations["comm"].tolist()} == {-1}
    assert any("other collectives" in note for note in trace.notes)


def test_ranks_that_an_export_numbers_twice_are_numbered_anew(tmp_path: Path) -> None:
    tables = steps_of(5)
    for name, rows in steps_of(6).items():
        tables[name] += rows
    tables["MPI_RANK"] = [(serialized(5, 0), 0), (serialized(6, 0), 0)]
    trace = open_trace(write_export(tmp_path / "a.sqlite", tables))
    assert [rank.number for rank in trace.ranks] == [0, 1]


def test_a_name_that_is_no_text_can_be_read(tmp_path: Path) -> None:
    path = write_export(tmp_path / "a.sqlite", steps_of(5))
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/r\xff?#.sqlite"))
    path.rename(odd)
    assert len(open_trace(odd).ranks) == 1


def test_a_wait_for_several_requests_is_one_call(tmp_path: Path) -> None:
    tables: dict[str, Any] = steps_of(5)
    row = (41 * MS, 43 * MS, serialized(5), 7)
    tables["MPI_START_WAIT_EVENTS"] = [(*row, 1), (*row, 2), (*row, 3)]
    tables["MPI_P2P_EVENTS"] = [(44 * MS, 45 * MS, serialized(5), 8, 99, 0, 0, 512)]
    (rank,) = open_trace(write_export(tmp_path / "a.sqlite", tables)).ranks
    codes = rank.operations["op"].tolist()
    assert codes.count(BY_NAME["MPI_Waitall"].code) == 1
    (sent,) = rank.operations["sent"][rank.operations["op"] == BY_NAME["MPI_Send"].code].tolist()
    assert sent == 512


def test_rows_without_a_time_are_left_out_and_said(tmp_path: Path) -> None:
    tables = steps_of(5)
    for bad in ("soon", None, 2.5):
        tables[KERNELS].append((bad, 9 * MS, 0, 7, 1, serialized(5, 0), 2, 1))
    tables[COPIES] = [(6 * MS, 7 * MS, 0, 7, None, serialized(5, 0), "many", "there")]
    trace = open_trace(write_export(tmp_path / "a.sqlite", tables))
    assert len(rows_of(trace.ranks[0])) == 5
    assert any("left out 3 events without a usable time" in note for note in trace.notes)


def test_an_export_without_a_known_column_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = write_export(tmp_path / "a.sqlite", steps_of(5))
    with sqlite3.connect(path) as connection:
        connection.execute(f'ALTER TABLE "{KERNELS}" DROP COLUMN demangledName')
        connection.execute(f'ALTER TABLE "{KERNELS}" DROP COLUMN globalPid')
    connection.close()
    trace = open_trace(path)
    assert {trace.names[name] for name in rows_of(trace.ranks[0])["name"].tolist()} == {
        "gemm_kernel"
    }


def test_an_export_without_events_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInputError, match="holds no event"):
        open_trace(write_export(tmp_path / "a.sqlite", {RANGES: []}))


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.95])
def test_a_cut_export_is_an_error_or_says_nothing_wrong(tmp_path: Path, share: float) -> None:
    path = write_export(tmp_path / "a.sqlite", steps_of(5, steps=2000))
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(UnreadableInputError) as caught:
        open_trace(path)
    assert len(str(caught.value).splitlines()) <= 3


def test_damaged_pages_are_an_error_or_a_sound_trace(tmp_path: Path) -> None:
    path = write_export(tmp_path / "a.sqlite", steps_of(5, steps=500))
    content = path.read_bytes()
    random = np.random.default_rng(4)
    for _ in range(40):
        damaged = bytearray(content)
        place = int(random.integers(100, len(content) - 64))
        damaged[place : place + 64] = random.bytes(64)
        path.write_bytes(damaged)
        with suppress(UnreadableInputError):
            check_trace(open_trace(path))


def test_pages_that_all_name_the_same_page_are_no_endless_table(tmp_path: Path) -> None:
    path = write_export(tmp_path / "a.sqlite", {KERNELS: steps_of(1)[KERNELS] * 2000})
    content = bytearray(path.read_bytes())
    page = int.from_bytes(content[16:18], "big")
    number = interior = next(
        n for n in range(1, len(content) // page) if content[n * page] == INTERIOR_PAGE
    )
    for _ in range(12):  # each level has as many rows as all its children together
        number = _with_one_child(content, page, of=interior, child=number)
    _with_one_child(content, page, of=interior, child=number, place=interior)
    content[28:32] = (len(content) // page).to_bytes(4, "big")
    path.write_bytes(content)
    with pytest.raises(UnreadableInputError) as refused:
        open_trace(path)
    assert refused.value.why == "Its tables hold more rows than its bytes can."


def _with_one_child(
    content: bytearray, page: int, *, of: int, child: int, place: int | None = None
) -> int:
    """Writes an interior page again, all children of which are one page; gives its number."""
    written = bytearray(content[of * page : (of + 1) * page])
    at_leaf = int.from_bytes(written[8:12], "big")
    for cell in range(int.from_bytes(written[3:5], "big")):
        start = int.from_bytes(written[12 + 2 * cell : 14 + 2 * cell], "big")
        written[start : start + 4] = (at_leaf if child == of else child + 1).to_bytes(4, "big")
    written[8:12] = (at_leaf if child == of else child + 1).to_bytes(4, "big")
    where = len(content) // page if place is None else place
    content[where * page : (where + 1) * page] = written
    return where


def test_a_view_in_the_place_of_a_table_is_not_asked(tmp_path: Path) -> None:
    path = write_export(tmp_path / "a.sqlite", {RANGES: []})
    with sqlite3.connect(path) as connection:
        connection.execute(
            f'CREATE VIEW "{KERNELS}" AS WITH RECURSIVE n(start) AS '
            "(SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start, start + 1 AS end FROM n"
        )
    connection.close()
    with pytest.raises(UnreadableInputError, match="holds no event"):
        open_trace(path)
