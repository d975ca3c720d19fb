"""Files that cannot all be of one run, or whose times cannot be: said first, and nothing from them.

Kineto's profiles, which can be odd in more ways, have tests of their own.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from perfscope.document.analysis import analysis
from perfscope.errors import UnreadableInputError
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_traces
from tests.readers.flight_recorder import test_flight
from tests.readers.nccl_inspector import test_inspector
from tests.readers.nsys import exports
from tests.readers.xplane import profiles
from tests.support import paraver_files
from tests.support.otf2_archives import ArchiveWriter
from tests.support.trace_invariants import check_trace

Make = Callable[[Path, pytest.MonkeyPatch], Sequence[Path]]
UNITS = "in different units"
FAR = "far outside of all others"
DOUBLED = "are of one rank"
HEAD = "Kind,Agent_Id,Queue_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp\n"


def tables(place: Path, *ranks: Mapping[str, Sequence[Sequence[object]]]) -> list[Path]:
    return [
        exports.write_export(place / f"rank{number}.sqlite", told)
        for number, told in enumerate(ranks)
    ]


def steps_of(rank: int, number: int = -1) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = dict(exports.steps_of(500 + rank, steps=8))
    named = rank if number < 0 else number
    found["MPI_RANK"] = [(exports.serialized(500 + rank, 0), named)]
    return found


def nsys_in_microseconds(place: Path, _: pytest.MonkeyPatch) -> Sequence[Path]:
    odd = {
        name: [(row[0] // 1000, row[1] // 1000, *row[2:]) for row in rows]
        for name, rows in steps_of(1).items()
        if name != "MPI_RANK"
    }
    return tables(place, steps_of(0), {**odd, "MPI_RANK": steps_of(1)["MPI_RANK"]})


def nsys_doubled(place: Path, _: pytest.MonkeyPatch) -> Sequence[Path]:
    return tables(place, steps_of(0), steps_of(1, number=0))


def nsys_without_times(place: Path, _: pytest.MonkeyPatch) -> Sequence[Path]:
    odd = steps_of(1)
    odd[exports.KERNELS] = [("x", *row[1:]) for row in odd[exports.KERNELS]]
    return tables(place, steps_of(0), odd)


def xplane_in_picoseconds(place: Path, patched: pytest.MonkeyPatch) -> Sequence[Path]:
    paths = [place / "0.xplane.pb", place / "1.xplane.pb"]
    for path in paths:
        content = profiles.space(profiles.steps(8), profiles.gpu(8), host=path.name)
        path.write_bytes(content)
        patched.setattr(profiles, "MS_PS", profiles.MS_PS * 1000)
    return paths


def rocprof_in_microseconds(place: Path, _: pytest.MonkeyPatch) -> Sequence[Path]:
    for pid, unit in ((7, 1), (8, 1000)):
        rows = [
            f"KERNEL_DISPATCH,4,1,gemm,{at},{at * 10**6 // unit},{(at * 10**6 + 10**5) // unit}\n"
            for at in range(1, 30)
        ]
        (place / f"{pid}_kernel_trace.csv").write_text(HEAD + "".join(rows))
    return sorted(place.iterdir())


def paraver(place: Path, lines: Sequence[str]) -> Sequence[Path]:
    first = f"{paraver_files.header(100, (1, 1), 1)}\n{paraver_files.world(2)}"
    return [paraver_files.write(place / "run.prv", first, lines)]


def paraver_in_microseconds(place: Path, _: pytest.MonkeyPatch) -> Sequence[Path]:
    lines = []
    for line in paraver_files.barrier_run():
        parts = line.split(":")
        if parts[3] == "2":
            for where in (5, 6) if parts[0] == "1" else (5,):
                parts[where] = str(int(parts[where]) // 1000)
        lines.append(":".join(parts))
    return paraver(place, paraver_files.by_time(lines))


def paraver_far(place: Path, _: pytest.MonkeyPatch) -> Sequence[Path]:
    return paraver(place, [*paraver_files.barrier_run(), "2:1:1:1:1:900000000000:40000001:0"])


def otf2_in_milliseconds(place: Path, _: pytest.MonkeyPatch) -> Sequence[Path]:
    writer = ArchiveWriter(place / "archive")
    writer.ranks(2)
    region = writer.region("MPI_Allreduce")
    for location, unit in ((0, 1), (1, 1000)):
        for at in range(40):
            writer.event(location, "Enter" if at % 2 == 0 else "Leave", at * unit, region)
    return [writer.close()]


def flight_doubled(place: Path, _: pytest.MonkeyPatch) -> Sequence[Path]:
    entries = [test_flight.entry(number) for number in range(1, 6)]
    folders = [place / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
        test_flight.dumped(folder, entries, entries)
    return [path for folder in folders for path in sorted(folder.iterdir())]


def flight_of_two_runs(place: Path, _: pytest.MonkeyPatch) -> Sequence[Path]:
    entries = [test_flight.entry(number) for number in range(1, 6)]
    later = [one | {"time_created_ns": one["time_created_ns"] + 10**15} for one in entries]
    return test_flight.dumped(place, entries, later)


def inspector_doubled(place: Path, _: pytest.MonkeyPatch) -> Sequence[Path]:
    first, *rest = test_inspector.logs(place)
    return [first, *rest, Path(shutil.copy(first, place / "copy.log"))]


def inspector_without_a_rank(place: Path, _: pytest.MonkeyPatch) -> Sequence[Path]:
    return test_inspector.logs(place)[:2]


def inspector_of_other_sizes(place: Path, _: pytest.MonkeyPatch) -> Sequence[Path]:
    paths = test_inspector.logs(place)
    paths[1].write_text(paths[1].read_text().replace('"n_ranks": 3', '"n_ranks": 4'))
    return paths


ODD: dict[Make, str] = {
    nsys_in_microseconds: UNITS,
    xplane_in_picoseconds: UNITS,
    rocprof_in_microseconds: UNITS,
    paraver_in_microseconds: UNITS,
    otf2_in_milliseconds: UNITS,
    paraver_far: FAR,
    nsys_doubled: "say at the same time that they are rank 0",
    flight_doubled: DOUBLED,
    inspector_doubled: DOUBLED,
    inspector_without_a_rank: "Rank 2 of 3 ranks is missing",
    inspector_of_other_sizes: "do not agree on how many ranks",
    nsys_without_times: "have no usable time",
}


@pytest.mark.parametrize("make", ODD, ids=lambda make: make.__name__)
def test_what_cannot_be_is_said_first_and_withholds_what_it_spoils(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Make
) -> None:
    trace = open_traces(make(tmp_path, monkeypatch))
    check_trace(trace)
    found = analysis(trace, Options())
    sentence = found["verdict"]["sentence"]
    assert ODD[make] in sentence.partition("Figures that need every rank are withheld.")[0]
    efficiencies = [found["metrics"]["parallel_efficiency"]]
    if found["devices"].get("devices"):
        efficiencies += [found["devices"], found["devices"]["offload_efficiency"]]
    assert [one["value"] for one in efficiencies] == [None] * len(efficiencies)


def test_dumps_of_two_runs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnreadableInputError) as raised:
        open_traces(flight_of_two_runs(tmp_path, monkeypatch))
    assert "several runs" in raised.value.what
    assert "11.6 days" in raised.value.why


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("1:1:1:1:1:90000:80000:1", "1 interval with an end before the begin"),
        ("1:1:1:1:1:-90000:80000:1", "1 record from before its begin, at times below 0"),
    ],
)
def test_single_times_that_cannot_be_are_counted(tmp_path: Path, line: str, note: str) -> None:
    trace = open_traces(paraver(tmp_path, [*paraver_files.barrier_run(), line]))
    assert any(note in told for told in trace.notes)


def test_ranks_that_live_shorter_are_no_other_unit(tmp_path: Path) -> None:
    """A rank that does little and ends early did not count otherwise."""
    few = {name: rows if name == "MPI_RANK" else rows[:1] for name, rows in steps_of(1).items()}
    trace = open_traces(tables(tmp_path, steps_of(0), few))
    assert not any(UNITS in damage.text for damage in trace.damage)
    assert analysis(trace, Options())["metrics"]["parallel_efficiency"]["value"] is not None
