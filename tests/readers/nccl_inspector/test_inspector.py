"""Logs of NCCL's inspector, as its format v4.0 has them: collectives with a planted late rank."""

import json
from pathlib import Path
from typing import Any

import pytest

from perfscope import memory
from perfscope.document.analysis import analysis
from perfscope.errors import UnreadableInputError
from perfscope.metrics.results import Options
from perfscope.readers.nccl_inspector import records
from perfscope.readers.registry import open_traces
from perfscope.schema.other_tools import ToolReport
from perfscope.trace.model import Format
from tests.support.trace_invariants import check_trace


def line(rank: int, number: int, us: float, **told: Any) -> str:
    """One operation as the plugin writes it."""
    header = {"id": "0x7f8c", "comm_name": "unknown", "rank": rank, "n_ranks": 3, "nnodes": 1}
    metadata = {"inspector_output_format_version": "v4.0", "hostname": "n0", "pid": 40 + rank}
    row = {"coll": "AllReduce", "coll_sn": number, "coll_msg_size_bytes": 1 << 20}
    row |= {"coll_exec_time_us": us, "coll_timing_source": "kernel_gpu", "coll_busbw_gbs": 2.0}
    return json.dumps({"header": header, "metadata": metadata, "coll_perf": row | told}) + "\n"


def logs(place: Path) -> list[Path]:
    """Ten collectives of three ranks of 100 us; to nine of them rank 2 comes 900 us late."""
    for rank in range(3):
        late = [1000.0 if rank != 2 and number else 100.0 for number in range(10)]
        lines = [line(rank, number, us) for number, us in enumerate(late)]
        (place / f"n0-pid{40 + rank}.log").write_text("".join(lines))
    return sorted(place.iterdir())


def told(paths: list[Path]) -> ToolReport:
    trace = open_traces(paths)
    check_trace(trace)
    assert trace.format is Format.INSPECTOR
    assert analysis(trace, Options())["metrics"]["parallel_efficiency"]["value"] is None
    return trace.tool_reports[0]


def test_the_late_rank_is_named_with_what_others_waited(tmp_path: Path) -> None:
    found = told(logs(tmp_path))
    assert found.says == (
        (
            "In communicator 0x7f8c of 3 ranks rank 2 came last to 90.0 % of 10 collectives: ranks "
            "waited 5.40 ms of 6.40 ms in them, on average."
        ),
        "It holds 30 operations of 3 processes, measured by kernel_gpu.",
    )
    operations, waiting = found.tables
    (row,) = operations.rows
    assert (*row[:3], row[4]) == ("AllReduce", 30, 30 << 20, 2.0)
    assert row[3] == pytest.approx(0.0192)
    assert [row[1:3] for row in waiting.rows] == [(0, 1), (1, 0), (2, 9)]
    assert [row[3] for row in waiting.rows] == [pytest.approx(0.0081)] * 2 + [0]


def test_what_nccls_own_plugin_wrote_is_told() -> None:
    """Three files of the inspector of NCCL 2.30.7, built from its source.

    It was called through `ncclProfiler_v5` as libnccl calls it, with the times of a device that is
    not there. On `world` six AllReduce of 1 MiB take rank 2 100 us and the others 1 ms but for the
    first, three AllGather 40 us on rank 0 and 90 us on the others; on another communicator rank 1
    comes 140 us late to four ReduceScatter; two messages go from rank 0 to rank 1.
    """
    found = told(sorted(Path(__file__).with_name("written").iterdir()))
    world, other, held = found.says
    assert world == (
        "In world of 3 ranks rank 2 came last to 55.6 % of 9 collectives: ranks waited 3.10 ms of "
        "3.82 ms in them, on average."
    )
    assert other == (
        "In communicator 0x51 of 2 ranks rank 1 came last to 100.0 % of 4 collectives: ranks "
        "waited 280 µs of 520 µs in them, on average."
    )
    assert held == "It holds 39 operations of 3 processes, measured by kernel_gpu."
    operations, waiting = found.tables
    expected = {
        "AllReduce": (18, 18 << 20, 10_800e-6),
        "ReduceScatter": (8, 8 << 19, 1_040e-6),
        "AllGather": (9, 9 << 18, 660e-6),
        "Recv": (2, 2 << 18, 150e-6),
        "Send": (2, 2 << 18, 140e-6),
    }
    rows = {str(row[0]): row[1:4] for row in operations.rows}
    assert rows.keys() == expected.keys()
    for name, figures in expected.items():
        assert rows[name] == pytest.approx(figures)
    assert {row[:3]: row[3] for row in waiting.rows} == {
        ("world of 3 ranks", 0, 4): pytest.approx(4_500e-6),
        ("world of 3 ranks", 1, 0): pytest.approx(4_650e-6),
        ("world of 3 ranks", 2, 5): pytest.approx(150e-6),
        ("communicator 0x51 of 2 ranks", 0, 0): pytest.approx(560e-6),
        ("communicator 0x51 of 2 ranks", 1, 4): 0,
    }


def dumped(rank: int, dropped: int, told: str = "dump_stats") -> str:
    """What the plugin writes at the begin of each dump from format v4.1 on."""
    header = {"id": "0x7f8c", "comm_name": "unknown", "rank": rank, "n_ranks": 3, "nnodes": 1}
    stats = {"coll_records": 5, "coll_dropped_total": dropped, "coll_dropped_since_last_dump": 1}
    messages = min(dropped, 1)
    stats |= {"p2p_records": 0, "p2p_dropped_total": messages}
    return json.dumps({"header": header, "metadata": {}, told: stats}) + "\n"


def test_operations_that_the_plugin_dropped_are_told(tmp_path: Path) -> None:
    """The totals grow from dump to dump: of a rank the largest counts."""
    paths = logs(tmp_path)
    for rank, path in enumerate(paths[:2]):
        path.write_text(dumped(rank, 4) + path.read_text() + dumped(rank, 40))
    trace = open_traces(paths)
    first, _, held = trace.tool_reports[0].says
    assert first.startswith("The inspector could not write 82 operations in time")
    assert held == "It holds 30 operations of 3 processes, measured by kernel_gpu."
    assert not any("left out" in note for note in trace.notes)
    assert trace.world_size == 3


def test_records_of_other_kinds_are_no_damage(tmp_path: Path) -> None:
    paths = logs(tmp_path)
    paths[0].write_text(dumped(0, 0) + paths[0].read_text() + dumped(0, 7, "proxy_op"))
    trace = open_traces(paths)
    assert len(trace.tool_reports[0].says) == 2
    assert [note for note in trace.notes if "line" in note] == [
        f"{paths[0].name}: 2 lines beside those of operations."
    ]


def test_a_log_that_tells_of_losses_alone_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(dumped(0, 4) * 3)
    with pytest.raises(UnreadableInputError, match="tells of no operation"):
        open_traces([path])


def test_each_operation_of_a_communicator_counts_by_itself(tmp_path: Path) -> None:
    paths = logs(tmp_path)
    for rank, path in enumerate(paths):
        late = 50.0 if rank == 1 else 150.0
        path.write_text(
            path.read_text()
            + "".join(line(rank, number, late, coll="AllGather") for number in range(10))
        )
    found = told(paths)
    assert "of 20 collectives: ranks waited" in found.says[0]
    _, waiting = found.tables
    assert [row[1:3] for row in waiting.rows] == [(0, 1), (1, 10), (2, 9)]


def test_collectives_that_not_all_ranks_told_once_say_nothing_of_waiting(tmp_path: Path) -> None:
    paths = logs(tmp_path)[:2]
    paths[0].write_text(line(0, 1, 5) + line(0, 1, 5) + line(0, 2, 5) + "{cut")
    trace = open_traces(paths)
    assert len(trace.tool_reports[0].tables) == 1
    assert any("left out 1 line that tell" in note for note in trace.notes)


@pytest.mark.parametrize(
    "told",
    [
        {"coll_sn": -1},
        {"coll_sn": 1 << 70},
        {"coll_exec_time_us": "x"},
        {"coll_exec_time_us": -5},
        {"coll": 7},
        {"coll_sn": None},
    ],
)
def test_operations_that_cannot_be_are_an_error(tmp_path: Path, told: dict[str, Any]) -> None:
    path = tmp_path / "a.log"
    path.write_text(line(0, 1, 5, **told) + "[" * 500 + "\n" + line(7, 1, 5))
    with pytest.raises(UnreadableInputError) as raised:
        open_traces([path])
    assert all(raised.value.lines())


def test_lines_that_do_not_end_or_nest_are_left_out(tmp_path: Path) -> None:
    """Of a line that is longer than any operation only its end is waited for."""
    log = tmp_path / "n0-pid1.log"
    long = line(0, 7, 5).rstrip("\n")
    deep = line(0, 8, 5).replace("1048576", "[" * 5000 + "]" * 5000)
    log.write_text(line(0, 1, 5) + long + " " * (9 << 20) + "x\n" + deep + line(0, 2, 5) + long * 2)
    trace = open_traces([log])
    assert "It holds 2 operations" in trace.tool_reports[0].says[-1]
    assert any("left out 3 lines" in note for note in trace.notes)


def test_records_beyond_the_memory_are_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = logs(tmp_path)
    left = 2 * 4 * records.RECORD_BYTES
    monkeypatch.setattr(memory, "memory_left_bytes", lambda: left)
    trace = open_traces(paths[:1])
    assert "It holds 4 operations" in trace.tool_reports[0].says[-1]
    assert any("of more than 4 operations the first were read" in note for note in trace.notes)
