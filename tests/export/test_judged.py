"""An export is judged over the time, and by the flags, of the recording that it was made of."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfscope.dataframes.source import Source
from perfscope.export import chrome, csv, otf2, parquet, perfetto
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Results
from perfscope.readers.registry import open_trace
from perfscope.schema.common import Metric
from perfscope.schema.enums import EndKind, PhaseKind
from perfscope.trace.damage import SPOILS_COMPARISON, Damage
from perfscope.trace.hardware import ComputeTotals
from perfscope.trace.model import Ending, Format, RowFlag, Trace
from tests.support.environments import REPOSITORY
from tests.support.trace_builder import TraceBuilder

SAMPLES = REPOSITORY / "sample_traces"
FORMS: dict[str, Callable[[Source, Path], list[str]]] = {
    "a.json": chrome.write,
    "a.pftrace": perfetto.write,
    "archive": otf2.write,
    "csv": csv.write,
    "parquet": parquet.write,
}
each_form = pytest.mark.parametrize("place", FORMS)


def exported(trace: Trace, place: str, directory: Path) -> Trace:
    """The trace as read from its export."""
    FORMS[place](Source(trace), directory / place)
    return open_trace(directory / place)


def figures(results: Results) -> dict[str, tuple[float | None, str | None]]:
    """The whole efficiency tree: values, and whether there is a reason."""
    return {
        name: (metric.value and round(metric.value, 9), metric.reason)
        for name, metric in vars(results.efficiency).items()
        if isinstance(metric, Metric)
    }


def summed(trace: Trace) -> dict[str, list[int]]:
    """How many rows of each table have which flags, and of how many calls they tell."""
    found: dict[str, Any] = {}
    for rank in trace.ranks:
        for table in ("operations", "phases"):
            flags = getattr(rank, table)["flags"]
            found[f"{rank.number} {table}"] = np.bincount(flags, minlength=8).tolist()
        joined = rank.operations[rank.operations["flags"] & RowFlag.COALESCED > 0]
        found[f"{rank.number} calls"] = joined["request"].tolist()
    return found


@each_form
@pytest.mark.parametrize(
    "name",
    [
        "rank_zero_evaluation",
        "ddp_slow_rank",
        "daal4py_imbalance",
        "horovod_straggler",
        "sgan_evaluation",
    ],
)
def test_a_sample_is_judged_as_the_recording(name: str, place: str, tmp_path: Path) -> None:
    """Without `--foa`: nothing has to be known of the recording."""
    trace = open_trace(SAMPLES / name)
    results, again = compute(trace), compute(exported(trace, place, tmp_path))
    assert figures(again) == figures(results)
    assert (again.focus.kind, again.focus.reason) == (results.focus.kind, results.focus.reason)
    assert again.focus.length_ns == results.focus.length_ns
    assert again.trace.wall_ns == trace.wall_ns
    assert (again.trace.command, again.trace.exit_code) == (trace.command, trace.exit_code)
    for rank, back in zip(trace.ranks, again.trace.ranks, strict=True):
        assert (back.ending.kind, back.ending.code) == (rank.ending.kind, rank.ending.code)
        assert back.ending.is_natural == rank.ending.is_natural
        columns = ["number", "epoch", "samples", "global_batch"]
        assert back.steps[columns].tolist() == rank.steps[columns].tolist()


def unusual() -> Trace:
    """Rank 1 is killed inside a call and a phase; polls are joined; a phase is only sampled."""
    builder = TraceBuilder(2, end_s=4.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0)
        rank.op("MPI_Iprobe", 1.1, 1.2, flags=RowFlag.COALESCED, request=7)
        rank.op("MPI_Allreduce", 1.5 + number / 4, 2.0)
        rank.phase(PhaseKind.EVALUATE, 2.1, 2.4, flags=RowFlag.SAMPLED)
        rank.phase(PhaseKind.CHECKPOINT, 2.5, 2.6, step=3, epoch=1)
        rank.phase(PhaseKind.USER, 2.7, 4.0, name="last", flags=RowFlag.OPEN)
        rank.op("MPI_Recv", 3.0, 4.0, flags=RowFlag.OPEN)
    for number, kind in ((0, EndKind.ABORTED), (1, EndKind.KILLED)):
        builder.rank(number).set(ending=Ending(kind, 9, "made by hand"))
    return builder.set(command=("python", "train.py"), exit_code=9).build()


@each_form
def test_flags_of_rows_and_how_ranks_ended_come_back(place: str, tmp_path: Path) -> None:
    trace = unusual()
    back = exported(trace, place, tmp_path)
    assert summed(back) == summed(trace)
    endings = [(rank.ending.kind, rank.ending.code) for rank in back.ranks]
    assert endings == [(EndKind.ABORTED, 9), (EndKind.KILLED, 9)]
    assert figures(compute(back)) == figures(compute(trace))


@each_form
def test_what_spoiled_a_recording_spoils_its_export(place: str, tmp_path: Path) -> None:
    trace = unusual()
    trace.damage = [Damage("two_files", "Two files say that they are rank 1.", SPOILS_COMPARISON)]
    results, again = compute(trace), compute(exported(trace, place, tmp_path))
    assert results.efficiency.parallel_efficiency.value is None
    assert figures(again) == figures(results)
    assert [one.id for one in again.damage] == [one.id for one in results.damage]


def test_numbers_of_steps_come_back_from_otf2(tmp_path: Path) -> None:
    builder = TraceBuilder(1, end_s=4.0)
    rank = builder.rank(0).op("MPI_Barrier", 0.1, 0.2)
    for place, number in enumerate((40, 41, 44)):
        rank.step(number, 1.0 + place, 1.5 + place, epoch=2, samples=8, global_batch=16)
    back = exported(builder.build(), "archive", tmp_path).ranks[0]
    assert back.steps[["number", "epoch", "samples", "global_batch"]].tolist() == [
        (number, 2, 8, 16) for number in (40, 41, 44)
    ]
    assert not len(back.phases)


@each_form
def test_what_threads_computed_comes_back(place: str, tmp_path: Path) -> None:
    """Two ranks of two threads, of which the second ones compute a fifth of the time."""
    builder = TraceBuilder(2, end_s=1.0)
    whole, fifth = ComputeTotals(10**9, 10**9), ComputeTotals(2 * 10**8, 10**9, 7, 9)
    for number in (0, 1):
        builder.rank(number).op("MPI_Barrier", 0.0, 1e-6).op("MPI_Barrier", 0.5, 0.5 + 1e-6)
        builder.rank(number).set(compute=whole, team=(whole, fifth))
    trace = builder.set(format=Format.PARAVER).build()
    results, again = compute(trace), compute(exported(trace, place, tmp_path))
    assert results.efficiency.parallel_efficiency.value == pytest.approx(0.6)
    assert figures(again) == figures(results)
    assert [rank.team for rank in again.trace.ranks] == [(whole, fifth)] * 2


@each_form
def test_threads_of_which_nobody_knows_what_they_computed_stay_unknown(
    place: str, tmp_path: Path
) -> None:
    builder = TraceBuilder(2, end_s=1.0)
    for number in (0, 1):
        builder.rank(number).op("MPI_Barrier", 0.2, 0.4).set(team=(None,))
    trace = builder.set(format=Format.OTF2).build()
    results, again = compute(trace), compute(exported(trace, place, tmp_path))
    assert results.efficiency.parallel_efficiency.value is None
    assert figures(again) == figures(results)


@pytest.mark.parametrize(
    "change",
    [
        {"focus": None},
        {"focus": [10**9, 0, "whole_trace", "backwards"]},
        {"focus": [-(10**18), 10**18, "whole_trace", "longer than the run"]},
        {"focus": [0.5, "x", 1, None]},
        {"focus": [True, 10**9, "whole_trace", "no number"]},
        {"lives": [[7, 0, 1, 1]]},
        {"damage": [["a", "b", ["nothing"]], ["a", "b"], 3, [1, 2, []], ["a", "b", [[]]]]},
        {"endings": [[0, "flew away", 1, False], [0, [], 1, False], [[], "killed", 1, 1], 9]},
        {"endings": [[0, "killed", 1 << 70, False]], "command": [1], "exit_code": "x"},
        {"command": "x", "exit_code": 1 << 80, "wall_ns": -5},
        {
            "threads": [
                [0, [1], [[-1, 2, 3, 4], 7, [5, 1, None, None]]],
                [1, None, 8],
                [[], 1, 2],
                3,
            ]
        },
        {"steps": [[0, [[1 << 60, 1, 1, 1]]], [0, [[-1, 2, 2, 2]]], [0, 3], [[], []], 7]},
    ],
)
def test_facts_that_make_no_sense_are_passed_over(change: dict[str, Any], tmp_path: Path) -> None:
    """A file that somebody changed by hand is judged as one of another tool."""
    trace = open_trace(SAMPLES / "rank_zero_evaluation")
    chrome.write(Source(trace), tmp_path / "a.json")
    document = json.loads((tmp_path / "a.json").read_text(encoding="ascii"))
    document["otherData"]["perfscope"] |= change
    (tmp_path / "b.json").write_text(json.dumps(document), encoding="ascii")
    back = open_trace(tmp_path / "b.json")
    is_judged = back.judged is not None
    assert is_judged == ("focus" not in change and "lives" not in change)
    assert not is_judged or not back.judged or not back.judged.damage
    assert all(rank.ending.kind is not EndKind.KILLED for rank in back.ranks)
    assert (compute(back).efficiency.parallel_efficiency.value is None) == ("threads" in change)
