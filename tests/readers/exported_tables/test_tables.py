"""Tables that perfscope exported, whole and damaged."""

import csv as plain_csv
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from perfscope.cli.main import main
from perfscope.dataframes.source import Source
from perfscope.errors import ExitCode, UnreadableInputError
from perfscope.export import csv, parquet
from perfscope.metrics.compute import compute
from perfscope.readers.registry import open_trace
from perfscope.trace.devices import DEVICE_DTYPE, DeviceActivity
from perfscope.trace.model import PEER_PROC_NULL, PEER_UNKNOWN, Format, Trace
from tests.support.environments import REPOSITORY
from tests.support.requirements import require_reference
from tests.support.trace_builder import TraceBuilder
from tests.support.trace_invariants import check_trace

SAMPLE = REPOSITORY / "sample_traces" / "ddp_slow_rank"
Write = Callable[[Source, Path], list[str]]
both = pytest.mark.parametrize("write", [csv.write, parquet.write], ids=["csv", "parquet"])


def messages() -> Trace:
    """Messages of all kinds: combined, to nobody, to somebody unknown, nonblocking."""
    builder = TraceBuilder(3, end_s=5.0)
    half = builder.communicator([0, 2])
    for number in (0, 1, 2):
        builder.rank(number).init(0.5).finalize(4.5)
    left, right, third = (builder.rank(number) for number in (0, 1, 2))
    left.op("MPI_Sendrecv", 1.0, 1.4, peer=1, seq=1, tag=4, sent=8, received=16, request=6)
    right.op("MPI_Sendrecv", 1.2, 1.4, peer=0, seq=0, tag=5, sent=16, received=8, request=5)
    left.op("MPI_Send", 1.5, 1.6, peer=PEER_PROC_NULL, tag=1)
    left.op("MPI_Recv", 1.6, 1.7, peer=PEER_UNKNOWN, tag=1)
    left.op("MPI_Isend", 2.0, 2.1, peer=1, tag=9, sent=1 << 20, request=11)
    left.op("MPI_Wait", 2.1, 3.0, request=1).completion("MPI_Isend", 2.9, 11, peer=1, tag=9)
    right.op("MPI_Recv", 2.5, 3.0, peer=0, tag=9, received=1 << 20)
    left.op("MPI_Bcast", 3.5, 3.8, comm=half, peer=2, sent=0, received=64)
    third.op("MPI_Bcast", 3.7, 3.8, comm=half, peer=2, sent=64)
    return builder.build()


@both
def test_calls_and_requests_come_back_exactly(write: Write, tmp_path: Path) -> None:
    trace = messages()
    write(Source(trace), tmp_path / "out")
    back = open_trace(tmp_path / "out")
    check_trace(back)
    assert back.format is Format.TABLES
    assert [one.members for one in back.communicators] == [(0, 1, 2), (0, 2)]
    for rank, again in zip(trace.ranks, back.ranks, strict=True):
        waits = rank.operations["request"] == 1  # how many requests a wait is for is in no table
        rank.operations["request"][waits] = 0
        assert again.operations.tolist() == rank.operations.tolist()
        columns = ["t0", "op", "comm", "peer", "tag", "request"]
        assert again.completions[columns].tolist() == rank.completions[columns].tolist()
    mine, others = (compute(one).efficiency.transfer_efficiency for one in (trace, back))
    assert mine.value == others.value


@both
def test_work_of_devices_without_a_name_is_left_out(write: Write, tmp_path: Path) -> None:
    trace = messages()
    trace.names = ["", "gemm"]
    rows = np.zeros(3, DEVICE_DTYPE)
    rows["t0"], rows["t1"], rows["name"] = [100, 300, 500], [200, 400, 600], [1, 0, 1]
    rows["op"] = -1
    trace.ranks[1].devices = DeviceActivity(rows=rows)
    write(Source(trace), tmp_path / "out")
    devices = open_trace(tmp_path / "out").ranks[1].devices
    assert devices is not None
    assert devices.rows["t0"].tolist() == [100, 500]


@both
@pytest.mark.parametrize(
    "name",
    [
        *("otf2/ping_pong", "otf2/mi300_hpl", "paraver_epoch/epoch_2proc.prv.gz", "torch_gloo4"),
        "nsys/power_iteration__baseline.sqlite",
        "kineto/hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    ],
)
def test_other_tools_traces_have_the_same_efficiencies(
    name: str, write: Write, tmp_path: Path
) -> None:
    trace = open_trace(require_reference(name))
    write(Source(trace), tmp_path / "out")
    results, again = compute(trace), compute(open_trace(tmp_path / "out"))
    assert told(again.efficiency) == told(results.efficiency)
    assert (results.devices is None) == (again.devices is None)
    if results.devices is not None and again.devices is not None:
        for formula, tree in results.devices.efficiency.items():
            assert told(again.devices.efficiency[formula]) == told(tree)


def told(tree: Any) -> dict[str, float | None]:
    return {
        name: metric.value and round(metric.value, 9)
        for name, metric in vars(tree).items()
        if hasattr(metric, "value")
    }


def exported(tmp_path: Path, write: Write = csv.write) -> Path:
    """The sample's tables, a copy that a test may change."""
    (tmp_path / "out").mkdir()
    for name, content in files_of_sample(write).items():
        (tmp_path / "out" / name).write_bytes(content)
    return tmp_path / "out"


@cache
def files_of_sample(write: Write) -> dict[str, bytes]:
    """What an export of the sample writes, by the names of its files."""
    with TemporaryDirectory() as place:
        write(Source(open_trace(SAMPLE)), Path(place) / "out")
        return {path.name: path.read_bytes() for path in (Path(place) / "out").iterdir()}


def test_the_folder_is_one_recording_and_no_table_is_left_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = exported(tmp_path)
    assert main(["analyze", str(place), "--output", str(tmp_path / "report")]) == ExitCode.OK
    said = capsys.readouterr()
    assert "left aside" not in said.out + said.err
    document = json.loads((tmp_path / "report" / "analysis.json").read_text(encoding="utf-8"))
    value = document["metrics"]["parallel_efficiency"]["value"]
    assert value == pytest.approx(
        compute(open_trace(SAMPLE)).efficiency.parallel_efficiency.value, rel=1e-9
    )


def changed(place: Path, table: str, change: Callable[[list[list[str]]], None]) -> None:
    """Changes the rows of a table, of which the first is the header."""
    path = place / f"{table}.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(plain_csv.reader(stream))
    change(rows)
    with path.open("w", encoding="utf-8", newline="") as stream:
        plain_csv.writer(stream).writerows(rows)


def cell(row: int, column: str, text: str) -> Callable[[list[list[str]]], None]:
    def change(rows: list[list[str]]) -> None:
        rows[row][rows[0].index(column)] = text

    return change


def phase(rows: list[list[str]], column: str, text: str) -> None:
    """Changes the first row of a phase."""
    first = next(row for row in rows if row[rows[0].index("kind")] == "phase")
    first[rows[0].index(column)] = text


@pytest.mark.parametrize(
    ("table", "change", "why"),
    [
        ("operations", lambda rows: rows.pop(), "speaks of"),
        ("operations", lambda rows: rows[0].__setitem__(0, "rang"), "no column rank"),
        ("operations", lambda rows: rows[5].pop(), ""),
        ("operations", lambda rows: rows.clear(), ""),
        ("operations", cell(3, "t0_ns", "soon"), "soon"),
        ("operations", cell(3, "t0_ns", str(1 << 70)), ""),
        ("operations", cell(3, "t0_ns", str(-(1 << 62))), "outside of its life"),
        ("operations", cell(3, "open", "perhaps"), "perhaps"),
        ("intervals", lambda rows: phase(rows, "t1_ns", str(1 << 62)), "outside of its life"),
        ("ranks", cell(1, "rank", "1"), "one number twice"),
        ("ranks", cell(1, "rank", str(1 << 40)), "numbers"),
        ("ranks", cell(1, "end_ns", str((1 << 62) + 1)), "cannot be"),
    ],
)
def test_damaged_tables_are_refused(
    table: str, change: Callable[[list[list[str]]], None], why: str, tmp_path: Path
) -> None:
    place = exported(tmp_path)
    changed(place, table, change)
    with pytest.raises(UnreadableInputError) as raised:
        open_trace(place / "tables.json")
    assert why in raised.value.why


@pytest.mark.parametrize(
    ("column", "text"),
    [
        *(("communicator", "99"), ("communicator", str(-(1 << 60))), ("root", "700")),
        *(("tag", str(1 << 60)), ("sent_bytes", str(1 << 61)), ("name", "=cmd()")),
        *(("sequence", str(1 << 61)), ("calls", "-7"), ("calls", str(1 << 61)), ("tid", "-1")),
    ],
)
def test_numbers_that_cannot_be_are_not_taken(column: str, text: str, tmp_path: Path) -> None:
    place = exported(tmp_path)
    changed(place, "operations", cell(3, column, text))
    back = open_trace(place)
    check_trace(back)
    compute(back)


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    place = exported(tmp_path)
    (place / "steps.csv").unlink()
    with pytest.raises(UnreadableInputError, match=r"exported tables") as raised:
        open_trace(place / "tables.json")
    assert "steps.csv" in raised.value.why


@pytest.mark.parametrize("length", [0, 4, 100, 900])
def test_parquet_that_is_cut_off_is_refused(length: int, tmp_path: Path) -> None:
    place = exported(tmp_path, parquet.write)
    path = place / "operations.parquet"
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(UnreadableInputError, match=r"operations\.parquet"):
        open_trace(place / "tables.json")


def test_a_description_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    place = exported(tmp_path)
    path = place / "tables.json"
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(UnreadableInputError):
        open_trace(path)


@pytest.mark.parametrize(
    "change",
    [
        {"perfscope": 7},
        {"perfscope": {"communicators": [[-1, 0, 99], [5, "x"]], "devices": 3}},
        {"perfscope": {"communicators": 7, "watched": [[0, "a", "b"]], "devices": [[0, [], 1]]}},
        {"world_size": 1 << 60},
        {"world_size": "many", "origin_unix_ns": -3},
    ],
)
def test_a_description_that_makes_no_sense_changes_no_call(
    change: dict[str, Any], tmp_path: Path
) -> None:
    place = exported(tmp_path)
    path = place / "tables.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(document | change), encoding="utf-8")
    back = open_trace(place)
    check_trace(back)
    assert np.array_equal(
        back.ranks[0].operations["op"], open_trace(SAMPLE).ranks[0].operations["op"]
    )
