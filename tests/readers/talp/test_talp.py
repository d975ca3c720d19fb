"""TALP's JSON of all releases: its efficiencies, those that its times give, and odd files."""

import json
from pathlib import Path
from typing import Any

import pytest

from perfscope.document.analysis import analysis
from perfscope.errors import UnreadableInputError
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace, open_traces
from perfscope.schema.other_tools import Cell, ToolTable
from perfscope.trace.model import Format
from tests.support.trace_invariants import check_trace

NS = 10**9
WRITTEN = Path(__file__).with_name("written")


def of_release_3_6(**changes: Any) -> dict[str, Any]:
    """Two ranks over 10 s: one is 2 s in MPI, the other 4 s; with the fields of DLB 3.6."""
    region = {
        "numCpus": 2,
        "numMpiRanks": 2,
        "elapsedTime": 10 * NS,
        "usefulTime": 14 * NS,
        "mpiTime": 6 * NS,
        "ompLoadImbalanceTime": 0,
        "ompSchedulingTime": 0,
        "ompSerializationTime": 0,
        "gpuRuntimeTime": 0,
        "minMpiNormdProc": 2 * NS,
        "parallelEfficiency": 0.70,
        "mpiCommunicationEfficiency": 0.80,
        "mpiLoadBalance": 0.88,
        "ompParallelEfficiency": 1.00,
    }
    process = [
        {"rank": 0, "pid": 11, "hostname": "n0", "usefulTime": 8 * NS, "mpiTime": 2 * NS},
        {"rank": 1, "pid": 12, "hostname": "n0", "usefulTime": 6 * NS, "mpiTime": 4 * NS},
    ]
    return {
        "dlbVersion": "3.6.0",
        "resources": {"numMpiRanks": 2},
        "Application": {"Global": region | changes},
        "Process": {"Global": process},
    }


def of_release_3_4() -> dict[str, Any]:
    metrics = {"name": "MPI Execution", "elapsedTime": 10 * NS, "parallelEfficiency": 0.70}
    metrics |= {"communicationEfficiency": 0.80, "loadBalance": 0.88, "lbIn": 1, "lbOut": 0.88}
    raw = {"name": "MPI Execution", "numCpus": 2, "numRanks": 2, "elapsedTime": 10 * NS}
    raw |= {"elapsedUseful": 8 * NS, "usefulCpuTotal": 14 * NS}
    return {"popMetrics": [metrics], "popRaw": [raw]}


def write(place: Path, document: dict[str, Any]) -> Path:
    path = place / "talp.json"
    path.write_text(json.dumps(document, indent=2))
    return path


def column(table: ToolTable, title: str) -> list[Cell]:
    (place,) = (n for n, one in enumerate(table.columns) if one.title == title)
    return [row[place] for row in table.rows]


@pytest.mark.parametrize("document", [of_release_3_6(), of_release_3_4()])
def test_its_times_give_the_efficiencies_that_it_prints(
    tmp_path: Path, document: dict[str, Any]
) -> None:
    """Mean and longest useful time are 7 and 8 of 10 s."""
    trace = open_trace(write(tmp_path, document))
    check_trace(trace)
    (told,) = trace.tool_reports
    regions = told.tables[0]
    for title, value in (
        ("Parallel efficiency", 7 / 10),
        ("Communication efficiency", 8 / 10),
        ("Load balance", 7 / 8),
    ):
        assert column(regions, f"{title}, from its times") == [pytest.approx(value)]
        assert column(regions, title) == [pytest.approx(value, abs=0.0051)]
    assert not any("do not follow" in said for said in told.says)
    assert trace.wall_ns == 10 * NS


@pytest.mark.parametrize("release", sorted(WRITTEN.iterdir()), ids=lambda path: path.stem)
def test_what_dlb_wrote_of_a_known_program_is_told(release: Path) -> None:
    """DLB 3.4.1 to 3.7, preloaded into `tests/programs/closed_form.py barriers` on two ranks.

    Of 1.2 s one rank works half, the other all the time.
    """
    (told,) = open_trace(release).tool_reports
    names_release = release.stem != "3.4"
    assert told.tool.startswith(f"TALP {release.stem}" if names_release else "TALP")
    regions = told.tables[0]
    (own,) = column(regions, "Parallel efficiency, from its times")
    assert own == pytest.approx(0.75, abs=0.01)
    assert column(regions, "Parallel efficiency") == [pytest.approx(own, abs=0.0051)]
    assert column(regions, "Load balance, from its times") == [pytest.approx(0.75, abs=0.01)]
    assert not any("do not follow" in said for said in told.says)


def test_processes_and_ranks_are_those_of_the_file(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path, of_release_3_6()))
    assert [rank.number for rank in trace.ranks] == [0, 1]
    assert column(trace.tool_reports[0].tables[1], "Useful") == [8.0, 6.0]


def test_openmp_takes_its_part(tmp_path: Path) -> None:
    """Of 20 CPU seconds 2 are lost to the imbalance of OpenMP, 6 to MPI."""
    document = of_release_3_6(usefulTime=12 * NS, ompLoadImbalanceTime=2 * NS)
    regions = open_trace(write(tmp_path, document)).tool_reports[0].tables[0]
    assert column(regions, "Parallel efficiency, from its times") == [pytest.approx(0.6)]
    assert column(regions, "OpenMP parallel efficiency, from its times") == [pytest.approx(0.9)]


def test_an_efficiency_that_does_not_follow_is_told(tmp_path: Path) -> None:
    told = open_trace(write(tmp_path, of_release_3_6(parallelEfficiency=1))).tool_reports[0]
    (said,) = (said for said in told.says if "contradict" in said)
    assert "printed as 1.000" in said
    assert "0.700" in said


def test_its_efficiencies_are_never_ours(tmp_path: Path) -> None:
    document = analysis(open_trace(write(tmp_path, of_release_3_6())), Options())
    assert document["metrics"]["parallel_efficiency"]["value"] is None
    assert document["verdict"]["sentence"].startswith("The efficiency of this run is not known")
    assert document["other_tools"][0]["tool"] == "TALP 3.6.0"
    assert not document["ledger"] or sum(row["seconds"] for row in document["ledger"]) == 0


def test_beside_a_recording_it_adds_its_report(tmp_path: Path) -> None:
    sample = Path(__file__).parents[3] / "sample_traces" / "horovod_straggler"
    trace = open_traces([sample, write(tmp_path, of_release_3_6())])
    assert trace.format is Format.PERFSCOPE
    assert [told.tool for told in trace.tool_reports] == ["TALP 3.6.0"]


@pytest.mark.parametrize(
    "content",
    [
        '{"dlbVersion": "3.6.0", "Application": {"Global": ',
        '{"dlbVersion": "3.6.0"}',
        '{"popMetrics": 7, "popRaw": [[]], "node": {}}',
        '{"dlbVersion": "3.6.0", "Application": {"a": {"a": 1}, "a": 2}}',
    ],
)
def test_what_tells_nothing_is_an_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "talp.json"
    path.write_text(content)
    with pytest.raises(UnreadableInputError) as raised:
        open_trace(path)
    assert all(raised.value.lines())


@pytest.mark.parametrize("value", [-1, 1e300, True, "7", None, [1], 1 << 70])
def test_amounts_that_cannot_be_are_unknown(tmp_path: Path, value: object) -> None:
    names = ("elapsedTime", "usefulTime", "numCpus", "mpiTime", "parallelEfficiency")
    trace = open_trace(write(tmp_path, of_release_3_6(**dict.fromkeys(names, value))))
    check_trace(trace)
    analysis(trace, Options())


def test_divisions_by_zero_that_printf_wrote_are_unknown(tmp_path: Path) -> None:
    path = write(tmp_path, of_release_3_6())
    path.write_text(path.read_text().replace("0.88", "-nan"))
    assert column(open_trace(path).tool_reports[0].tables[0], "Parallel efficiency") == [0.7]
