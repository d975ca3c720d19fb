"""Every table has the columns that it declares, and their values are those of the trace."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings

import perfscope
import perfscope.errors
from perfscope.dataframes.catalog import reference, tables
from perfscope.dataframes.columns import Kind
from perfscope.dataframes.opened import OpenedTrace
from perfscope.schema.enums import PhaseKind
from perfscope.trace.devices import DeviceActivity, DeviceKind
from perfscope.trace.model import Trace
from tests.support.environments import REPOSITORY
from tests.support.random_traces import device_rows, traces
from tests.support.trace_builder import TraceBuilder

SAMPLE = REPOSITORY / "sample_traces" / "rank_zero_evaluation"


def frame(opened: OpenedTrace, name: str) -> pd.DataFrame:
    if name == "ranks":
        return opened.ranks
    made = getattr(opened, name)()
    assert isinstance(made, pd.DataFrame)
    return made


def check_columns(opened: OpenedTrace) -> None:
    for name, table in tables().items():
        made = frame(opened, name)
        assert list(made.columns) == [column.name for column in table.columns]
        for column in table.columns:
            assert str(made[column.name].dtype) == column.kind.value, (name, column.name)
            if column.kind in (Kind.INTEGER, Kind.FLAG):
                assert not made[column.name].isna().any()
        assert ("reason" in made.attrs) == (len(made) == 0), name
        for column, unit in made.attrs["units"].items():
            assert column in made.columns
            assert unit


@settings(deadline=None, max_examples=40)
@given(traces())
def test_every_table_of_any_trace_has_its_columns(trace: Trace) -> None:
    check_columns(OpenedTrace(trace))


def test_every_table_of_the_sample_has_its_columns() -> None:
    check_columns(perfscope.open_trace(SAMPLE))


def two_ranks() -> TraceBuilder:
    """Rank 1 comes 1 s late to an allreduce and gets a message 0.5 s after it asked for it."""
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(0.5).finalize(9.0)
        rank.op("MPI_Allreduce", 2.0 + number, 3.25, sent=8, received=16)
        rank.step(4, 1.0, 4.0, epoch=2, samples=32)
        rank.process_sample(1.0, rss_bytes=1000 * (1 + number), threads=3)
    builder.rank(0).op("MPI_Send", 5.0, 5.125, peer=1, tag=9, sent=100)
    builder.rank(1).op("MPI_Recv", 4.5, 5.25, peer=0, tag=9, received=100)
    builder.rank(1).phase(PhaseKind.EVALUATE, 6.0, 8.0, epoch=2)
    return builder


def test_collectives_tell_who_waited_for_whom() -> None:
    rows = OpenedTrace(two_ranks().build()).collectives()
    assert rows["rank"].tolist() == [0, 1]
    assert rows["wait_ns"].tolist() == [1_000_000_000, 0]
    assert rows["transfer_ns"].tolist() == [250_000_000, 250_000_000]
    assert rows["last_rank"].tolist() == [1, 1]
    assert rows["waited_for"].isna().tolist() == [False, True]
    assert rows["waited_for"][0] == 1
    assert rows["sent_bytes"].tolist() == [8, 8]


def test_messages_join_the_send_and_the_receive() -> None:
    rows = OpenedTrace(two_ranks().build()).messages()
    assert len(rows) == 1
    row = rows.iloc[0]
    assert (row["source"], row["target"], row["tag"], row["bytes"]) == (0, 1, 9, 100)
    assert (row["wait_ns"], row["arrival_ns"]) == (500_000_000, 5_250_000_000)


def test_steps_know_their_communication() -> None:
    rows = OpenedTrace(two_ranks().build()).steps()
    assert rows["communication_ns"].tolist() == [1_250_000_000, 250_000_000]
    assert rows["epoch"].tolist() == [2, 2]
    assert set(rows["source"]) == {"marker"}


def test_the_ledger_of_a_rank_adds_up_to_its_life() -> None:
    rows = OpenedTrace(two_ranks().build()).ledger()
    assert rows.groupby("rank")["time_ns"].sum().tolist() == [10_000_000_000] * 2


def test_profile_has_operations_and_phases() -> None:
    rows = OpenedTrace(two_ranks().build()).profile().set_index(["rank", "name"])
    assert rows.loc[(0, "MPI_Allreduce"), "inclusive_ns"] == 1_250_000_000
    assert rows.loc[(1, "evaluate"), "exclusive_ns"] == 2_000_000_000


def test_intervals_can_be_chosen() -> None:
    opened = OpenedTrace(two_ranks().build())
    assert opened.intervals(kind="phase")["name"].tolist() == ["evaluate"]
    assert len(opened.intervals(rank=0, name="MPI_Send")) == 1
    assert opened.intervals(window_s=(6.0, 7.0))["kind"].tolist() == ["phase"]
    with pytest.raises(ValueError, match="no kind 'phases'"):
        opened.intervals(kind="phases")


def test_completions_tell_when_a_posted_message_had_arrived() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    builder.rank(0).op("MPI_Send", 2.0, 2.5, peer=1, tag=1, sent=4)
    builder.rank(1).op("MPI_Irecv", 1.0, 1.1, peer=0, tag=1, received=4, request=3)
    builder.rank(1).op("MPI_Wait", 1.5, 3.0, request=1).completion("MPI_Irecv", 2.75, 3)
    row = OpenedTrace(builder.build()).messages().iloc[0]
    assert row["arrival_ns"] == 2_750_000_000
    assert row["receive_t1_ns"] == 1_100_000_000


def test_kernels_are_those_of_the_devices() -> None:
    builder = two_ranks()
    name = builder.name("ncclDevKernel_AllReduce")
    rows = device_rows(1, name=name)
    rows["t0"], rows["t1"], rows["device"], rows["stream"], rows["members"] = 5, 9, 1, 13, 2
    rows["kind"] = DeviceKind.COMMUNICATION
    builder.rank(0).set(devices=DeviceActivity(rows=rows))
    row = OpenedTrace(builder.build()).kernels().iloc[0]
    assert (row["device"], row["stream"], row["duration_ns"], row["members"]) == (1, 13, 4, 2)
    assert (row["kind"], row["name"]) == ("communication", "ncclDevKernel_AllReduce")
    assert row[["launch_ns", "bytes"]].isna().all()


def test_an_empty_table_says_why() -> None:
    trace = two_ranks().build()
    trace.not_recorded = {"devices": "no profiler of a GPU was on"}
    assert OpenedTrace(trace).kernels().attrs["reason"] == "no profiler of a GPU was on"


def test_docstrings_and_the_page_list_every_column() -> None:
    for table in tables().values():
        text = getattr(OpenedTrace, table.name).__doc__ or ""
        for column in table.columns:
            assert f"{column.name} ({column.kind.value}" in text
    assert reference() in (REPOSITORY / "docs" / "python.md").read_text(encoding="utf-8")


def test_pandas_is_loaded_when_a_table_is_asked_for() -> None:
    code = (
        "import sys, perfscope; assert 'numpy' not in sys.modules\n"
        f"trace = perfscope.open_trace({str(SAMPLE)!r})\n"
        "assert 'pandas' not in sys.modules; trace.steps(); assert 'pandas' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(sys.prefix))


def test_what_is_not_there_is_an_error_for_people() -> None:
    with pytest.raises(perfscope.errors.UnreadableInputError):
        perfscope.open_trace("no such trace")


def test_losses_are_those_of_the_analysis() -> None:
    opened = perfscope.open_trace(SAMPLE)
    losses = opened.losses()
    analysis = REPOSITORY / "reports" / SAMPLE.name / "analysis.json"
    kept = json.loads(analysis.read_text(encoding="utf-8"))["losses"]
    assert losses["time_ns"].tolist() == [row["ns"] for row in kept["entries"]]
    assert losses["loss"].tolist() == [row["label"] for row in kept["entries"]]
    assert opened.ledger()["time_ns"].sum() - losses["time_ns"].sum() == kept["training_ns"]
