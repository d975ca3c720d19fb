"""OTF2 archives as traces: real ones, and ones written with a known answer."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from perfscope._core import Otf2Archive
from perfscope.cli.analyze import analyze
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.readers.detect import ReadOptions
from perfscope.readers.otf2 import reader as otf2
from perfscope.readers.registry import open_trace
from perfscope.schema.enums import EndKind, PhaseKind
from perfscope.trace.devices import DeviceKind
from perfscope.trace.model import Format, Rank, RowFlag, Trace
from perfscope.trace.operations import MPI_OTHER, code_of, name_of
from tests.readers.otf2_kinds import write_kinds
from tests.support.otf2_archives import ArchiveWriter
from tests.support.otf2_swap import swap_archive

MS = 1_000_000
MPI = {"role": 25, "paradigm": 4}


def analysis(path: Path, output: Path, *options: str) -> dict[str, Any]:
    """What `perfscope analyze` says of a path."""
    arguments = [str(path), "--output", str(output), *options]
    result = CliRunner().invoke(analyze, arguments, catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads((output / "analysis.json").read_text())
    return found


def expected(reference: Callable[[str], Path]) -> dict[str, Any]:
    """The values that others found in the reference traces."""
    found: dict[str, Any] = json.loads(reference("expected.json").read_text())
    return found


def test_ping_pong(tmp_path: Path, reference: Callable[[str], Path]) -> None:
    known = expected(reference)["otf2/ping_pong"]
    place = reference("otf2/ping_pong")
    trace = open_trace(place)
    assert trace.format is Format.OTF2
    assert len(trace.ranks) == known["ranks"]
    for rank, other in zip(trace.ranks, reversed(trace.ranks), strict=True):
        names = [name_of(code) for code in rank.operations["op"].tolist()]
        sends = rank.operations[np.array(names) == "MPI_Send"]
        receives = rank.operations[np.array(names) == "MPI_Recv"]
        assert len(sends) == len(receives) == known["messages_each_way"]
        assert sends["sent"].sum() == receives["received"].sum() == known["bytes_each_way"]
        assert set(sends["peer"].tolist()) == set(receives["peer"].tolist()) == {other.number}
        assert rank.ending.kind is EndKind.FINALIZED
    document = analysis(place, tmp_path)
    own = known["own_calc"]
    metrics = document["metrics"]
    assert document["run"]["focus_kind"] == "whole_trace"
    assert metrics["parallel_efficiency"]["value"] == pytest.approx(own["PE"], rel=1e-6)
    assert metrics["load_balance"]["value"] == pytest.approx(own["LB"], rel=1e-6)
    assert metrics["communication_efficiency"]["value"] == pytest.approx(own["CommE"], rel=1e-6)
    assert trace.wall_ns == round(own["T_s"] * 1e9)
    assert (tmp_path / "report.html").is_file()


def test_mi300_hpl(tmp_path: Path, reference: Callable[[str], Path]) -> None:
    known = expected(reference)["otf2/mi300_hpl"]
    anchor = reference("otf2/mi300_hpl/traces.otf2")
    trace = open_trace(anchor)
    (rank,) = trace.ranks
    assert rank.devices is not None
    calls = int(rank.profile["count"].sum()) + len(rank.devices.rows)
    assert calls == known["Enter"] == known["Leave"]
    archive = Otf2Archive(os.fsencode(anchor))
    events = [archive.events(place)["types"] for place in range(len(archive.locations()))]
    assert sum(len(types) for types in events) == known["events_total"]
    assert sum(int(np.sum(types == 31)) for types in events) == known["Metric_own_count"]
    assert len(np.unique(rank.counters["name"])) > 20
    assert np.all(np.diff(rank.counters["t"]) >= 0)
    efficiency = analysis(anchor, tmp_path)["metrics"]["parallel_efficiency"]
    assert efficiency["value"] is None  # no communication was traced
    assert efficiency["reason"]


def epoch(
    directory: Path,
    *,
    efficiency: float = 0.34,
    balance: float = 0.99,
    ranks: int = 4,
    length: int = 10_000 * MS,
) -> Path:
    """Training steps whose ranks are outside MPI for a share `efficiency` of the time.

    One rank works most, as much more than the mean as the load balance says.
    """
    most = efficiency / balance
    shares = [most, *([(ranks * efficiency - most) / (ranks - 1)] * (ranks - 1))]
    writer = ArchiveWriter(directory, length=length)
    world = writer.ranks(ranks)
    step, reduce = writer.region("train_step"), writer.region("MPI_Allreduce", **MPI)
    steps = 10
    for rank, share in enumerate(shares):
        for number in range(steps):
            start = number * length // steps
            work = round(share * length / steps)
            writer.event(rank, "Enter", start, step)
            writer.event(rank, "Enter", start + work, reduce)
            writer.event(rank, "MpiCollectiveBegin", start + work)
            end = (number + 1) * length // steps
            writer.event(rank, "MpiCollectiveEnd", end, 11, world, 0xFFFFFFFF, 1000, 1000)
            writer.event(rank, "Leave", end, reduce)
            writer.event(rank, "Leave", end, step)
    return writer.close()


@pytest.mark.parametrize(
    ("order", "efficiency", "balance"),
    [("little", 0.34, 0.99), ("big", 0.34, 0.99), ("little", 0.99 * 0.33, 0.99)],
)
def test_an_epoch_with_a_known_answer(
    tmp_path: Path, order: str, efficiency: float, balance: float
) -> None:
    anchor = epoch(tmp_path / "archive", efficiency=efficiency, balance=balance)
    if order == "big":
        anchor = swap_archive(anchor, tmp_path / "swapped")
    document = analysis(anchor.parent, tmp_path / "out")
    metrics = document["metrics"]
    assert metrics["parallel_efficiency"]["value"] == pytest.approx(efficiency, abs=1e-7)
    assert metrics["load_balance"]["value"] == pytest.approx(balance, abs=1e-7)
    most = metrics["communication_efficiency"]["value"]
    assert most == pytest.approx(efficiency / balance, abs=1e-7)
    assert document["replay"]["available"]
    assert document["replay"]["relative_error"] < 1e-9
    # all ranks wait in the allreduces for nobody: the transfer is what costs
    assert metrics["transfer_efficiency"]["value"] < 0.4
    assert metrics["serialization_efficiency"]["value"] > 0.9


@pytest.fixture
def kinds(tmp_path: Path) -> Trace:
    """The archive of `write_kinds` as a trace."""
    return open_trace(write_kinds(tmp_path / "kinds"))


def rows(rank: Rank, name: str) -> list[dict[str, int]]:
    """The operations of a name, as dictionaries."""
    table = rank.operations[rank.operations["op"] == code_of(name)]
    fields = table.dtype.names or ()
    return [dict(zip(fields, row, strict=True)) for row in table.tolist()]


def test_nonblocking_messages(kinds: Trace) -> None:
    for rank in kinds.ranks:
        other = 1 - rank.number
        (posted,) = rows(rank, "MPI_Irecv")
        first, silent = rows(rank, "MPI_Isend")
        assert (posted["peer"], posted["tag"], posted["received"]) == (other, 5, 800)
        assert (first["peer"], first["tag"], first["sent"]) == (other, 5, 800)
        assert silent["peer"] == -3  # nobody: the archive says that its records are complete
        done = rank.completions.tolist()
        kinds_done = {row[2]: (row[0], row[-1]) for row in done}
        assert kinds_done[code_of("MPI_Irecv")] == (6 * MS, posted["request"])
        assert kinds_done[code_of("MPI_Isend")] == (6 * MS, first["request"])


def test_combined_call_and_ranks_of_a_communicator(kinds: Trace) -> None:
    for rank in kinds.ranks:
        (both,) = rows(rank, "MPI_Sendrecv")
        # in the communicator (1, 0) rank `other` is this rank, and rank `own` the other one
        assert (both["peer"], both["tag"], both["sent"]) == (rank.number, 1, 10)
        assert (both["seq"], both["request"], both["received"]) == (1 - rank.number, 3, 20)


def test_collectives(kinds: Trace) -> None:
    for rank in kinds.ranks:
        (bcast,) = rows(rank, "MPI_Bcast")
        assert kinds.communicators[bcast["comm"]].members == (1, 0)
        assert (bcast["peer"], bcast["seq"], bcast["sent"], bcast["received"]) == (1, 0, 64, 32)
        (barrier,) = rows(rank, "MPI_Ibarrier")
        assert kinds.communicators[barrier["comm"]].members == (rank.number,)
        assert barrier["seq"] == 0


def test_other_functions_of_mpi_count_as_communication(kinds: Trace) -> None:
    (row,) = rows(kinds.ranks[0], name_of(MPI_OTHER))
    assert (row["t0"], row["t1"]) == (1 * MS, round(1.5 * MS))


def test_phases_and_steps(kinds: Trace) -> None:
    for rank in kinds.ranks:
        assert rank.phases["kind"].tolist() == [PhaseKind.TRAIN, PhaseKind.EVALUATE]
        assert rank.phases["t1"].tolist() == [8 * MS, round(12.5 * MS)]
        assert rank.steps["t0"].tolist() == [2 * MS]


def test_threads_and_profile(kinds: Trace) -> None:
    rank = kinds.ranks[1]
    assert [thread.name for thread in rank.threads] == ["Master thread", "OMP thread 1"]
    profile = {
        (kinds.names[row["name"]], int(row["tid"])): row.tolist()[2:] for row in rank.profile
    }
    thread = rank.threads[1].tid
    assert profile["work", thread] == (2, 4 * MS, 4 * MS)  # recursive: once from 3 to 7
    assert profile["train_step", rank.main_tid][1] == 6 * MS
    inside = 200_000 + 200_000 + 1_500_000 + 500_000
    assert profile["train_step", rank.main_tid][2] == 6 * MS - inside


def test_streams(kinds: Trace) -> None:
    assert kinds.ranks[0].devices is None
    activity = kinds.ranks[1].devices
    assert activity is not None
    found = [
        (DeviceKind(row["kind"]), row["t0"] // MS, row["t1"] / MS, int(row["bytes"]))
        for row in activity.rows
    ]
    assert found == [
        (DeviceKind.COMPUTE, 3, 4, -1),
        (DeviceKind.MEMCPY, 4, 5.5, 4096),
        (DeviceKind.COMMUNICATION, 5, 6, -1),
    ]
    assert activity.devices[0].name == "GPU 0"
    assert activity.stream_names == {(0, 0): "stream 7"}


def test_hosts_and_missing_parts(kinds: Trace) -> None:
    assert {rank.host for rank in kinds.ranks} == {"host0"}
    assert {"memory", "io", "environment"} <= set(kinds.not_recorded)
    assert "devices" not in kinds.not_recorded
    assert kinds.notes == [
        "4 locations hold another number of events than their definition says."
    ] or not any("rank" in note for note in kinds.notes)


def test_rules_of_the_user_go_before_the_defaults(tmp_path: Path) -> None:
    anchor = epoch(tmp_path / "archive")
    options = ReadOptions(phase_rules=(("evaluate", "*step*"),))
    trace = open_trace(anchor, options)
    assert set(trace.ranks[0].phases["kind"].tolist()) == {PhaseKind.EVALUATE}
    own = open_trace(anchor, ReadOptions(phase_rules=(("mine", "TRAIN_*"),)))
    row = own.ranks[0].phases[0]
    assert (row["kind"], own.names[row["name"]]) == (PhaseKind.USER, "mine")


def test_forward_alone_is_no_training(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path / "a")
    writer.ranks(1)
    forward = writer.region("forward")  # a Fourier transform, say
    writer.event(0, "Enter", 0, forward)
    writer.event(0, "Leave", MS, forward)
    assert not len(open_trace(writer.close()).ranks[0].phases)


def test_more_calls_than_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    anchor = epoch(tmp_path / "archive")
    full = analysis(anchor, tmp_path / "full")
    monkeypatch.setattr(otf2, "calls_that_fit", lambda: 5)
    thinned = analysis(anchor, tmp_path / "thinned")
    for name in ("parallel_efficiency", "load_balance", "communication_efficiency"):
        kept = thinned["metrics"][name]["value"]
        assert kept == pytest.approx(full["metrics"][name]["value"], abs=1e-6)
    assert not thinned["replay"]["available"]
    assert "40 MPI calls" in thinned["replay"]["reason"]
    trace = open_trace(anchor)
    flags = {int(flag) for flag in trace.ranks[0].operations["flags"]}
    assert flags == {int(RowFlag.COALESCED)}


def test_an_archive_that_ends_inside_a_call(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path / "a")
    writer.ranks(1)
    main, send = writer.region("main"), writer.region("MPI_Send", **MPI)
    writer.event(0, "Enter", 0, main)
    writer.event(0, "Leave", 5 * MS, send)  # was never entered
    writer.event(0, "Enter", 6 * MS, send)
    writer.event(0, "MeasurementOnOff", 9 * MS, 2)
    trace = open_trace(writer.close())
    (rank,) = trace.ranks
    assert rank.ending.kind is EndKind.UNKNOWN
    (row,) = rank.operations
    assert (row["t0"], row["t1"], row["flags"]) == (6 * MS, 9 * MS, RowFlag.OPEN)
    assert any("Entered and never left: 2 regions" in note for note in trace.notes)
    assert any("had not been entered" in note for note in trace.notes)


@pytest.mark.parametrize("size", [1 << 60, (1 << 63) - 1, (1 << 64) - 1])
def test_a_message_of_impossible_size(tmp_path: Path, size: int) -> None:
    writer = ArchiveWriter(tmp_path / "a")
    world = writer.ranks(2)
    for rank, name in enumerate(("Send", "Recv")):
        region = writer.region(f"MPI_{name}", **MPI)
        writer.event(rank, "Enter", 1 * MS, region)
        writer.event(rank, f"Mpi{name}", 2 * MS, 1 - rank, world, 7, size)
        writer.event(rank, "Leave", 3 * MS, region)
    trace = open_trace(writer.close())
    for one in trace.ranks:
        assert one.operations["sent"].tolist() == [0]
        assert one.operations["received"].tolist() == [0]
    assert "Sizes that cannot be, in 2 calls: 0 bytes are taken." in trace.notes
    compute(trace, Options())


def test_any_name_of_the_anchor(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path / "a", name="my.run v2")
    writer.ranks(1)
    writer.event(0, "Enter", 0, writer.region("main"))
    anchor = writer.close()
    assert anchor.name == "my.run v2.otf2"
    assert len(open_trace(anchor).ranks) == len(open_trace(anchor.parent).ranks) == 1


def test_ranks_whose_archive_holds_no_communication_have_no_efficiency(tmp_path: Path) -> None:
    """Each seems to work all of the time; whether they waited for each other was not recorded."""
    writer = ArchiveWriter(tmp_path / "archive")
    writer.ranks(2)
    region = writer.region("main")
    for location in range(2):
        writer.event(location, "Enter", 1000, region)
        writer.event(location, "Leave", 9000, region)
    found = compute(open_trace(writer.close())).efficiency.parallel_efficiency
    assert found.value is None
    assert "no region of the archive is a call of MPI" in (found.reason or "")
