"""Reports of a part of a job: how many ranks it had is known from MPI, and from NCCL's payloads."""

import importlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from perfscope.cli.main import main
from perfscope.dataframes.source import Source
from perfscope.document.analysis import analysis
from perfscope.document.invariants import broken
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_traces
from perfscope.trace.model import Trace
from tests.readers.nsys.exports import (
    COLLECTIVES,
    KERNELS,
    MS,
    RANGES,
    serialized,
    steps_of,
    write_export,
)

Tables = dict[str, list[tuple[Any, ...]]]
DOMAIN, SCHEMA = 7, 16777217
INIT = (
    (DOMAIN, SCHEMA, 0, 18, "NCCL communicator ID", None),
    (DOMAIN, SCHEMA, 1, 5, "No. of ranks", 8),
    (DOMAIN, SCHEMA, 2, 5, "Rank", 12),
)


def nccl(pid: int) -> Tables:
    """A process of steps that compute, and sum over NCCL."""
    tables: Tables = {name: list(rows) for name, rows in steps_of(pid).items()}
    del tables[COLLECTIVES]
    tables[KERNELS] += [
        ((10 * step + 5) * MS, (10 * step + 8) * MS, 0, 9, 90 + step, serialized(pid, 0), 3, 3)
        for step in range(4)
    ]
    return tables


def init(pid: int, size: int, rank: int, communicator: int = 99) -> tuple[Any, ...]:
    """The range of ncclCommInitRank, with its payload."""
    payload = communicator.to_bytes(8, "little")
    payload += b"".join(number.to_bytes(4, "little", signed=True) for number in (size, rank))
    head = b"".join(n.to_bytes(8, "little") for n in (DOMAIN, SCHEMA, len(payload), 32))
    return (0, MS, serialized(pid), 59, "ncclCommInitRank", None, DOMAIN, head + payload)


def opened(place: Path, *files: Mapping[str, Sequence[Sequence[object]]]) -> Trace:
    paths = [place / f"{number}.sqlite" for number in range(len(files))]
    return open_traces([*map(write_export, paths, files)])


def load_balance(trace: Trace) -> Any:
    devices = analysis(trace, Options())["devices"]
    return devices["efficiency"]["bsc"]["load_balance"]


def of_mpi(size: int) -> Tables:
    return {"MPI_COMMUNICATORS": [(0, 99, size), (0, 98, 1)]}


def in_nccl(pid: int, *ranks: int, size: int = 4) -> Tables:
    tables = nccl(pid)
    tables[RANGES] += [init(pid, size, rank) for rank in ranks]
    return {**tables, "NVTX_PAYLOAD_SCHEMA_ENTRIES": [*INIT]}


PARTS: dict[str, tuple[Tables, Tables]] = {
    "a communicator of MPI": ({**nccl(5), **of_mpi(4)}, nccl(6)),
    "a partner": ({**nccl(5), "MPI_P2P_EVENTS": [(0, 1, serialized(5), 8, 9, 0, 3, 8)]}, nccl(6)),
    "a root": ({**nccl(5), COLLECTIVES: [(0, 1, serialized(5), 6, 9, 3, 8, 8)]}, nccl(6)),
    "a communicator of NCCL": (in_nccl(5, 1), in_nccl(6, 2)),
    "one of NCCL with several devices a process": (
        in_nccl(5, 0, 1, size=8),
        in_nccl(6, 2, 3, size=8),
    ),
}


@pytest.mark.parametrize("what", PARTS)
def test_reports_of_a_part_of_the_ranks_have_no_efficiency(what: str, tmp_path: Path) -> None:
    trace = opened(tmp_path, *PARTS[what])
    assert trace.world_size == 4
    found = load_balance(trace)
    assert found["value"] is None
    assert "2 of 4 ranks are missing" in found["reason"]


def test_processes_are_numbered_by_the_communicator_that_all_are_in(tmp_path: Path) -> None:
    trace = opened(tmp_path, in_nccl(5, 3), in_nccl(6, 1))
    assert [(rank.number, rank.pid) for rank in trace.ranks] == [(1, 6), (3, 5)]


def test_all_ranks_of_a_communicator_have_their_efficiency(tmp_path: Path) -> None:
    trace = opened(tmp_path, in_nccl(5, 1, size=2), in_nccl(6, 0, size=2))
    assert [(rank.number, rank.pid) for rank in trace.ranks] == [(0, 6), (1, 5)]
    document = analysis(trace, Options())
    assert document["devices"]["efficiency"]["bsc"]["load_balance"]["value"] == 1
    assert "device_ranks" not in {row["id"] for row in document["quality"]}


def test_one_process_that_drives_all_devices_misses_nobody(tmp_path: Path) -> None:
    tables = in_nccl(5, 0, 1, 2, 3)
    tables[KERNELS] = [(*row[:2], gpu, *row[3:]) for row in tables[KERNELS] for gpu in range(4)]
    trace = opened(tmp_path, tables)
    assert (trace.world_size, trace.missing_ranks) == (1, [])
    assert load_balance(trace)["value"] == 1


def test_ranks_of_different_communicators_are_no_ranks_of_the_job(tmp_path: Path) -> None:
    """Two groups of a larger job, in each of which somebody is rank 0."""
    one, other = in_nccl(5, 0), in_nccl(6)
    other[RANGES].append(init(6, 4, 0, communicator=98))
    trace = opened(tmp_path, one, other)
    assert [(rank.number, rank.pid) for rank in trace.ranks] == [(0, 5), (1, 6)]
    assert trace.world_size == 4


UNKNOWN = "no file tells how many ranks the job had"


def test_where_nothing_tells_how_many_there_are_no_balance_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not in the document, not on the terminal, not among the numbers that studies look at."""
    document, printed = analyzed(tmp_path / "two", 5, 6, capsys=capsys)
    assert f"Verdict: The devices communicated, and {UNKNOWN}." in printed
    for tree in document["devices"]["efficiency"].values():
        assert {found["value"] for found in tree.values()} == {None}
        assert all(UNKNOWN in found["reason"] for found in tree.values())
    assert document["verdict"]["efficiency"]["value"] is None


def test_where_nothing_tells_how_many_there_are_nothing_is_priced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither a saving, nor how long kernels waited for the last of nobody knows how many."""
    document, printed = analyzed(tmp_path / "two", 5, 6, capsys=capsys)
    named = {found["id"]: found for found in document["findings"] if found["status"] == "fail"}
    assert {"idle_devices", "exposed_device_communication"} <= named.keys()
    assert all(found["gain_s"] is None for found in document["findings"])
    assert "waiting for the last rank" not in printed
    assert "aving: up to" not in printed
    told = document["devices"]["communication"]
    assert UNKNOWN in told["reason"]
    assert not broken(document)
    assert "at least 2 ranks" in printed
    page = (tmp_path / "two" / "report.html").read_text()
    assert document["losses"]["entries"]
    assert "Others waited" not in page


def test_a_job_of_unknown_size_is_no_point_of_a_scaling_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files of one rank and of two may be of jobs of eight."""
    places = [tmp_path / name for name in ("one", "two")]
    analyzed(places[0], 5, capsys=capsys)
    analyzed(places[1], 5, 6, capsys=capsys)
    assert main(["scaling", *map(str, places), "-o", str(tmp_path / "study")]) != 0
    assert "how large it was is not known" in capsys.readouterr().err
    main(["compare", *map(str, places), "-o", str(tmp_path / "compared")])
    printed = " ".join(capsys.readouterr().out.split())
    assert "one: at least 1 two: at least 2" in printed
    assert "differ in their ranks" not in printed
    main(["history", *map(str, places), "-o", str(tmp_path / "history")])
    history = json.loads((tmp_path / "history" / "study.json").read_text())
    labels = sorted(group["label"] for group in history["history"]["groups"])
    assert ["at least 1 rank)" in labels[0], "at least 2 ranks)" in labels[1]] == [True, True]


def analyzed(
    place: Path, *processes: int, capsys: pytest.CaptureFixture[str]
) -> tuple[dict[str, Any], str]:
    """The document of these processes, and what is printed of it."""
    place.mkdir()
    paths = [write_export(place / f"{pid}.sqlite", nccl(pid)) for pid in processes]
    main(["analyze", *map(str, paths), "-o", str(place), "--no-strict"])
    document = json.loads((place / "analysis.json").read_text())
    return document, " ".join(capsys.readouterr().out.split())


def test_why_devices_have_no_efficiency_stands_on_the_first_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, printed = analyzed(tmp_path / "one", 5, capsys=capsys)
    why = "The devices in the files communicated with others, which are not in them"
    assert f"Verdict: {why}. Give perfscope analyze the files of all ranks together." in printed


@pytest.mark.parametrize("target", ["chrome", "perfetto", "otf2", "csv", "parquet"])
def test_an_export_does_not_know_more(target: str, tmp_path: Path) -> None:
    trace = opened(tmp_path, nccl(5), nccl(6))
    (tmp_path / "out").mkdir()
    module = importlib.import_module(f"perfscope.export.{target}")
    module.write(Source(trace), tmp_path / "out" / target)
    document = analysis(open_traces([tmp_path / "out" / target]), Options())
    balance = document["devices"]["efficiency"]["bsc"]["load_balance"]
    assert balance["value"] is None
    assert UNKNOWN in balance["reason"]


@pytest.mark.parametrize(
    "blob",
    [b"", b"\0" * 31, "text", init(5, 4, 1)[7][:40], init(5, -4, 9)[7], init(5, 1 << 30, 1)[7]],
)
def test_payloads_that_make_no_sense_show_nothing(blob: object, tmp_path: Path) -> None:
    tables = in_nccl(5)
    tables[RANGES].append((*init(5, 4, 1)[:7], blob))
    assert opened(tmp_path, tables, nccl(6)).world_size == 2
