"""An exported OTF2 archive, read by perfscope again, gives the numbers of the recording."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from perfscope.attribution.exposed import with_exposed_communication
from perfscope.cli.main import main
from perfscope.dataframes.opened import OpenedTrace
from perfscope.dataframes.source import Source
from perfscope.document.analysis import analysis
from perfscope.errors import ExitCode
from perfscope.export import chrome, csv, otf2, parquet, perfetto
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options, Results
from perfscope.readers.registry import open_trace
from perfscope.schema.common import Metric
from perfscope.schema.enums import EndKind
from perfscope.trace.devices import DeviceActivity, DeviceInfo, DeviceKind
from perfscope.trace.model import PEER_PROC_NULL, PEER_UNKNOWN, Ending, Trace
from perfscope.trace.operations import HOROVOD_CONTROL, name_of
from tests.export.expected import intervals
from tests.export.test_chrome import exported, readable_spans
from tests.export.test_csv_and_parquet import check_equal, expected, from_csv, from_parquet
from tests.support.environments import REPOSITORY, Mpi
from tests.support.random_traces import device_rows
from tests.support.recording import Recorder
from tests.support.requirements import require_reference
from tests.support.trace_builder import TraceBuilder
from tests.support.trace_invariants import check_trace

SAMPLES = REPOSITORY / "sample_traces"
SAMPLE = SAMPLES / "rank_zero_evaluation"
FACTORS = ("parallel_efficiency", "load_balance", "communication_efficiency")
PARTS = ("serialization_efficiency", "transfer_efficiency")
PROGRAM = REPOSITORY / "tests" / "programs" / "exchanging.py"


def through_otf2(trace: Trace, directory: Path) -> tuple[Trace, int]:
    """The trace as read from its export, and by how much its clock is ahead."""
    notes = otf2.write(Source(trace), directory)
    assert notes == []
    back = open_trace(directory)
    return back, back.origin_unix_ns - trace.origin_unix_ns


def check_numbers(trace: Trace, back: Trace, shift_ns: int) -> None:
    """Sums by rank and operation, and efficiencies over the same time, are equal."""
    for rank, again in zip(trace.ranks, back.ranks, strict=True):
        mine = {name_of(code): total for code, total in rank.totals.items()}
        assert {name_of(code): total for code, total in again.totals.items()} == mine
    check_efficiencies(trace, back, shift_ns)


def check_efficiencies(trace: Trace, back: Trace, shift_ns: int) -> None:
    """Ranks lived as long, and their efficiencies over the same time are equal."""
    for rank, again in zip(trace.ranks, back.ranks, strict=True):
        assert (again.start_ns, again.end_ns) == (rank.start_ns - shift_ns, rank.end_ns - shift_ns)
    results = compute(trace)
    focus = results.focus
    start, end = (moment - shift_ns for moment in (focus.start_ns, focus.end_ns))
    window = Options(focus=f"{start / 1e9:.9f}:{end / 1e9:.9f}")
    others = compute(back, window).efficiency
    for name in (*FACTORS, *PARTS):
        value, again_value = (getattr(tree, name).value for tree in (results.efficiency, others))
        if value is None and name in PARTS:
            assert again_value is None, name
        else:
            assert again_value == pytest.approx(value, rel=1e-8), name


@pytest.mark.parametrize("name", ["rank_zero_evaluation", "ddp_slow_rank", "daal4py_imbalance"])
def test_a_sample_has_the_same_efficiency(name: str, tmp_path: Path) -> None:
    trace = open_trace(SAMPLES / name)
    back, shift_ns = through_otf2(trace, tmp_path / "out")
    check_numbers(trace, back, shift_ns)
    assert back.command == trace.command


@pytest.mark.parametrize("name", ["horovod_straggler", "sgan_evaluation"])
def test_what_horovod_did_comes_back(name: str, tmp_path: Path) -> None:
    trace = open_trace(SAMPLES / name)
    back, shift_ns = through_otf2(trace, tmp_path / "out")
    check_efficiencies(trace, back, shift_ns)
    exposed = with_exposed_communication(trace)
    for rank, again in zip(exposed.ranks, back.ranks, strict=True):
        for mine, table in (
            (rank.operations, again.operations),
            (rank.background, again.background),
        ):
            assert len(mine)
            assert table["op"].tolist() == mine["op"].tolist()
            assert (table["t0"] + shift_ns).tolist() == mine["t0"].tolist()
            is_carried = mine["op"] != HOROVOD_CONTROL  # of these it is no number of bytes
            assert table["received"][is_carried].tolist() == mine["received"][is_carried].tolist()
        assert np.all(again.operations["tid"] == again.main_tid)
        assert np.all(again.background["tid"] != again.main_tid)


REFERENCE = (
    *("kineto/hta/critical_path/cuda_event_sync/event_sync_trace.json.gz", "torch_gloo4"),
    *("kineto/hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz", "otf2/ping_pong"),
    *("kineto/tf2_2020_08_05.trace.json.gz", "paraver_epoch/epoch_2proc.prv.gz"),
    *("nsys/power_iteration__baseline.sqlite", "samples/mprof_leak_5MiB_per_call.dat"),
    *("otf2/mi300_hpl", "xplane/tf221_keras_5steps_20ms_sleep.xplane.pb"),
)
LARGE = (
    *("kineto/hta/mtia_trace_single_rank/mtia_rank_0.json.gz", "kineto/hta/trace_filter"),
    *("kineto/hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",),
    *("kineto/hta/cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",),
    *("kineto/hta/nccl_parser_config/nccl_data.json.gz", "paraver_epoch/epoch_4proc.prv.gz"),
    *("kineto/hta/triton_example/triton_example.json.gz", "paraver_epoch/epoch_1proc.prv.gz"),
    *("kineto/tracelens/h100/Falconsai_nsfw_image_detection__1016002.json.gz",),
    *("kineto/tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz",),
)
TIMELINES: dict[str, Callable[[Source, Path], list[str]]] = {
    "a.json": chrome.write,
    "a.pftrace": perfetto.write,
    "archive": otf2.write,
}


def told(results: Results) -> dict[str, float]:
    """All efficiencies, of ranks and of devices, that are not missing."""
    trees: dict[str, Any] = {"": results.efficiency}
    trees |= results.devices.efficiency if results.devices is not None else {}
    return {
        f"{formula} {name}": metric.value
        for formula, tree in trees.items()
        for name, metric in vars(tree).items()
        if isinstance(metric, Metric)
        and metric.value is not None
        and (formula or name in (*FACTORS, *PARTS))
    }


@pytest.mark.parametrize(
    "name", [*REFERENCE, *(pytest.param(name, marks=pytest.mark.long) for name in LARGE)]
)
def test_other_tools_traces_have_the_same_efficiencies_from_every_timeline(
    name: str, tmp_path: Path
) -> None:
    """Null where they were null: an export tells no more than what it was made of."""
    trace = open_trace(require_reference(name))
    results = compute(trace)
    for place, write in TIMELINES.items():
        write(Source(trace), tmp_path / place)
        back = open_trace(tmp_path / place)
        assert told(compute(back)) == pytest.approx(told(results), rel=1e-7), place
        for rank, again in zip(trace.ranks, back.ranks, strict=True):
            assert again.operations["flags"].tolist() == rank.operations["flags"].tolist()


@pytest.mark.parametrize("place", TIMELINES)
def test_serialization_and_transfer_come_back_where_calls_name_nobody(
    place: str, tmp_path: Path
) -> None:
    """EPOCH's ranks at the edge send to `MPI_PROC_NULL`: the replay must know that it is nobody."""
    trace = open_trace(require_reference("paraver_epoch/epoch_2proc.prv.gz"))
    TIMELINES[place](Source(trace), tmp_path / place)
    mine, back = (
        analysis(one, Options())["metrics"] for one in (trace, open_trace(tmp_path / place))
    )
    for factor in (*FACTORS, *PARTS):
        assert mine[factor]["value"] is not None
        assert back[factor]["value"] == pytest.approx(mine[factor]["value"], rel=1e-8), factor


@pytest.mark.parametrize("name", ["horovod_straggler", "sgan_evaluation"])
@pytest.mark.parametrize("place", ["a.json", "a.pftrace"])
def test_what_ranks_waited_for_horovod_is_in_every_timeline(
    name: str, place: str, tmp_path: Path
) -> None:
    trace = open_trace(SAMPLES / name)
    TIMELINES[place](Source(trace), tmp_path / place)
    back = open_trace(tmp_path / place)
    check_efficiencies(trace, back, back.origin_unix_ns - trace.origin_unix_ns)


@pytest.mark.parametrize("target", ["chrome", "perfetto"])
def test_a_timeline_without_events_is_not_written(target: str, tmp_path: Path) -> None:
    stacks = str(require_reference("samples/pyspy_spin.raw.txt"))
    out = tmp_path / "out"
    assert main(["export", stacks, "--to", target, "-o", str(out)]) == ExitCode.USAGE
    assert not out.exists()


@pytest.mark.parametrize(
    "facts",
    [
        None,
        7,
        {"lives": 7, "not_recorded": [1]},
        {"origin_ns": 1 << 70, "lives": [[0, 0, 5, 1]]},
        {
            "origin_ns": 0,
            "lives": [[0, -5, 1 << 60, "x"], [0, 9, 1, 1], 3],
            "not_recorded": {"x": 1},
        },
    ],
)
def test_facts_of_an_export_that_make_no_sense_change_nothing(
    facts: object, tmp_path: Path
) -> None:
    trace = open_trace(SAMPLE)
    chrome.write(Source(trace), tmp_path / "a.json")
    document = json.loads((tmp_path / "a.json").read_text(encoding="ascii"))
    document["otherData"]["perfscope"] = facts
    (tmp_path / "b.json").write_text(json.dumps(document), encoding="ascii")
    back = open_trace(tmp_path / "b.json")
    check_trace(back)
    assert "x" not in back.not_recorded


@pytest.mark.parametrize("code", [0, 3])
def test_how_a_rank_ended_comes_back(code: int, tmp_path: Path) -> None:
    builder = TraceBuilder(1, end_s=2.0)
    builder.rank(0).op("MPI_Barrier", 1.0, 1.1).set(ending=Ending(EndKind.EXITED, code))
    back, _ = through_otf2(builder.set(command=(), exit_code=code).build(), tmp_path / "archive")
    assert (back.ranks[0].ending.kind, back.ranks[0].ending.code) == (EndKind.EXITED, code)
    assert (back.exit_code, back.command) == (code, ())


def test_two_gpus_of_a_rank_stay_two(tmp_path: Path) -> None:
    """Two ranks with two GPUs each, whose kernels run at the same time."""
    builder = TraceBuilder(2, end_s=1.0)
    name, named = builder.name("gemm"), builder.name("ncclDevKernel_AllReduce")
    for number in (0, 1):
        rows = device_rows(4, name=name)
        rows["device"], rows["stream"] = (0, 1, 0, 1), (7, 7, 9, 7)
        rows["t0"] = np.array([0.1, 0.1, 0.2, 0.4]) * 1e9
        rows["t1"] = rows["t0"] + np.array([0.1, 0.2 + number * 0.2, 0.2, 0.2]) * 1e9
        rows["name"][3], rows["kind"] = named, (*[DeviceKind.COMPUTE] * 3, DeviceKind.COMMUNICATION)
        told = DeviceActivity(
            rows=rows, devices=(DeviceInfo(0, "H100"), DeviceInfo(1, "H100")), stream_names={}
        )
        builder.rank(number).set(devices=told)
    trace = builder.build()
    back, shift_ns = through_otf2(trace, tmp_path / "out")
    for rank, again in zip(trace.ranks, back.ranks, strict=True):
        assert rank.devices is not None
        assert again.devices is not None
        assert again.devices.devices == rank.devices.devices
        for column in ("device", "kind"):
            assert again.devices.rows[column].tolist() == rank.devices.rows[column].tolist()
        assert (again.devices.rows["t1"] + shift_ns).tolist() == rank.devices.rows["t1"].tolist()
    window = Options(focus=f"{-shift_ns / 1e9:.9f}:{1 - shift_ns / 1e9:.9f}")
    mine, others = compute(trace, Options(focus="0:1")).devices, compute(back, window).devices
    assert mine is not None
    assert others is not None
    for formula, tree in mine.efficiency.items():
        for factor, metric in vars(tree).items():
            assert getattr(others.efficiency[formula], factor).value == metric.value, factor
    # compute kernels of 0.3, 0.2, 0.3 and 0.4 s on four devices, over a second
    assert mine.efficiency["bsc"].parallel_efficiency.value == pytest.approx(0.3)


def test_a_real_run_comes_back_from_every_format(
    tmp_path: Path, record: Recorder, mpich: Mpi
) -> None:
    recorded = record(mpich.python_command(2, PROGRAM))
    assert recorded.exit_code == 0, recorded.stderr
    trace = open_trace(recorded.directory)
    for place, write in TIMELINES.items():
        assert write(Source(trace), tmp_path / place) == []
        back = open_trace(tmp_path / place)
        shift_ns = back.origin_unix_ns - trace.origin_unix_ns
        check_numbers(trace, back, shift_ns)
        check_messages(trace, back, shift_ns)
        assert told(compute(back)) == pytest.approx(told(compute(trace)), rel=1e-7), place
    assert readable_spans(exported(trace)) == intervals(trace, steps_by_number=True)
    source = Source(trace)
    csv.write(source, tmp_path / "csv")
    check_equal(from_csv(tmp_path / "csv"), expected(source))
    parquet.write(source, tmp_path / "parquet")
    check_equal(from_parquet(tmp_path / "parquet"), expected(source))
    steps = OpenedTrace(trace).steps()
    assert steps.groupby(["rank", "epoch"]).size().tolist() == [5, 5, 5, 5]


@pytest.mark.parametrize("place", TIMELINES)
def test_partners_of_all_kinds_come_back(place: str, tmp_path: Path) -> None:
    """Nobody, unknown ones, both of a combined call, and requests that are over.

    An archive numbers requests anew, and holds no tag and communicator of a call to nobody.
    """
    builder = TraceBuilder(3, end_s=2.0)
    one = builder.rank(0)
    one.op("MPI_Isend", 0.1, 0.2, peer=1, tag=7, sent=64, comm=0, request=5)
    one.op("MPI_Recv", 0.3, 0.4, peer=PEER_UNKNOWN, comm=0)
    one.op("MPI_Send", 0.5, 0.6, peer=PEER_PROC_NULL, comm=0)
    one.op("MPI_Sendrecv", 0.7, 0.8, peer=2, seq=1, tag=3, request=10, comm=0)
    one.op("MPI_Sendrecv", 0.9, 1.0, peer=2, seq=PEER_PROC_NULL, tag=3, comm=0)
    one.op("MPI_Sendrecv", 1.0, 1.05, peer=PEER_PROC_NULL, seq=2, request=4, comm=0)
    one.op("MPI_Sendrecv", 1.05, 1.1, peer=PEER_PROC_NULL, seq=PEER_PROC_NULL, comm=0)
    one.op("MPI_Bcast", 1.1, 1.2, peer=2, seq=0, comm=0)
    one.op("MPI_Waitall", 1.3, 1.4, request=2)
    trace = builder.build()
    done = trace.ranks[0].operations[:1].copy()
    done["t0"] = done["t1"] = 1_390_000_000
    trace.ranks[0].completions = done
    TIMELINES[place](Source(trace), tmp_path / place)
    back = open_trace(tmp_path / place)
    shift_ns = back.origin_unix_ns - trace.origin_unix_ns
    for table in ("operations", "completions"):
        mine, again = getattr(trace.ranks[0], table), getattr(back.ranks[0], table)
        assert (again["t0"] + shift_ns).tolist() == mine["t0"].tolist()
        for column in ("op", "peer", "seq"):
            assert again[column].tolist() == mine[column].tolist(), (table, column)
        for column in ("tag", "comm", "sent", "request", "tid") if place != "archive" else ():
            assert again[column].tolist() == mine[column].tolist(), (table, column)


def check_messages(trace: Trace, back: Trace, shift_ns: int) -> None:
    """The same messages, with the same times."""
    mine, again = OpenedTrace(trace).messages(), OpenedTrace(back).messages()
    assert len(mine) == 2 * 10 + 10 + 2 * 10
    moments = [column for column in mine if column.endswith(("t0_ns", "t1_ns"))]
    again[moments] += shift_ns
    columns = ["source", "target", "tag", "bytes", *moments]
    order = ["send_t0_ns", "source", "receive_t0_ns"]
    left, right = (
        frame.sort_values(order)[columns].reset_index(drop=True) for frame in (mine, again)
    )
    pd.testing.assert_frame_equal(left, right)


def test_chrome_of_a_real_trace_is_json(tmp_path: Path) -> None:
    chrome.write(Source(open_trace(SAMPLE)), tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text(encoding="ascii"))["traceEvents"]


@pytest.mark.parametrize("name", ["rank_zero_evaluation", "daal4py_imbalance", "ddp_slow_rank"])
@pytest.mark.parametrize(
    ("write", "read"),
    [(csv.write, from_csv), (parquet.write, from_parquet)],
    ids=["csv", "parquet"],
)
def test_tables_alone_give_the_efficiencies(
    name: str,
    write: Callable[[Source, Path], list[str]],
    read: Callable[[Path], Any],
    tmp_path: Path,
) -> None:
    """By the definitions, from the operations of the ranks' own threads over the same window."""
    trace = open_trace(SAMPLES / name)
    write(Source(trace), tmp_path / "out")
    tables = read(tmp_path / "out")
    results = compute(trace)
    start, end = results.focus.start_ns, results.focus.end_ns
    calls = pd.DataFrame(tables["operations"])
    calls = calls[~calls["background"].astype(bool)]
    useful = [
        (end - start) - union_ns(mine["t0_ns"].clip(start, end), mine["t1_ns"].clip(start, end))
        for _, mine in calls.groupby("rank")
    ]
    mean, most = sum(useful) / len(useful), max(useful)
    expected_ratios = {
        "parallel_efficiency": mean / (end - start),
        "load_balance": mean / most,
        "communication_efficiency": most / (end - start),
    }
    for factor, ratio in expected_ratios.items():
        assert getattr(results.efficiency, factor).value == pytest.approx(ratio, rel=1e-9), factor


def union_ns(starts: pd.Series, ends: pd.Series) -> int:
    """How long at least one interval was open."""
    covered, reached = 0, -1
    for begin, end in sorted(zip(starts.tolist(), ends.tolist(), strict=True)):
        covered += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return covered
