"""Published values of traces made by others, from the tables that `perfscope.open_trace` gives."""

from __future__ import annotations

import csv
import gzip
import json

import numpy as np
import pandas as pd
import pytest

import perfscope
from perfscope.readers.kineto.file import ANNOTATION, read_kineto
from perfscope.readers.registry import open_trace
from perfscope.trace.devices import LAUNCH_UNKNOWN, DeviceKind
from tests.readers.kineto.test_reference import MTIA, expected, sums
from tests.support.kineto_peers import length, union
from tests.support.requirements import require_reference

NS_RESOLUTION = "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz"
MI300 = "tracelens/mi300/resnet_act_checkpoint.json.gz"


def tables(name: str) -> perfscope.OpenedTrace:
    return perfscope.open_trace(require_reference(f"kineto/{name}"))


def queue_of(kernels: pd.DataFrame, stream: int) -> pd.Series:
    """By moment, how much of what was launched on a stream has not begun."""
    mine = kernels[(kernels["stream"] == stream) & kernels["launch_ns"].notna()]
    moments = pd.concat([pd.Series(1, index=mine["launch_ns"]), pd.Series(-1, index=mine["t0_ns"])])
    return moments.sort_index(kind="stable").cumsum()


def test_how_much_waits_in_a_stream() -> None:
    told = expected(MTIA)["hta_asserted"]
    queue = queue_of(tables(MTIA).kernels(), 102)
    published = told["queue_length_stream102"]
    assert len(queue) == published["count"]
    assert queue.mean() == published["mean"]
    assert queue.std() == pytest.approx(published["std"], abs=5e-7)
    assert queue.max() == published["max"]
    moments = queue.index.to_numpy(np.int64)
    full_ns = np.diff(moments)[queue.to_numpy()[:-1] >= 1].sum()
    # of times rounded to microseconds, starts up and ends down; exactly it is 1,059.557
    assert full_ns == 1_059_557
    blocked = told["time_blocked_full_queue_us(max_queue_length=1)"]
    assert blocked == pytest.approx(full_ns / 1e3, abs=len(queue) / 2 * 0.5)


def test_the_parts_of_each_streams_idle_time_make_up_the_whole() -> None:
    """The published sum is that of two streams, each 1; rows without a stream are not counted."""
    kernels = tables(MTIA).kernels()
    kernels = kernels[kernels["stream"].isin([1, 102])]
    shares = 0.0
    for _, mine in kernels.groupby("stream"):
        rows = mine.sort_values("t0_ns")
        before = rows["t1_ns"].to_numpy(np.int64)[:-1]
        gaps = np.maximum(rows["t0_ns"].to_numpy(np.int64)[1:] - before, 0)
        late = rows["launch_ns"].fillna(0).to_numpy(np.int64)[1:] > before
        short = ~late & (gaps < 30_000)
        parts = [gaps[late].sum(), gaps[short].sum(), gaps[~late & ~short].sum()]
        shares += sum(part / gaps.sum() for part in parts)
    assert shares == pytest.approx(expected(MTIA)["hta_asserted"]["idle_ratio_sum"])


def test_a_launch_its_call_and_its_delay() -> None:
    told = expected(MTIA)["hta_asserted"]["launch_stats_correlation_423"]
    kernels = tables(MTIA).kernels()
    (row,) = kernels[kernels["correlation"] == 423].to_dict("records")
    assert row["duration_ns"] / 1e3 == told["gpu"]
    # how long a call of the runtime took is in no table; the trace keeps those of the main thread
    devices = open_trace(require_reference(f"kineto/{MTIA}")).ranks[0].devices
    assert devices is not None
    (call,) = devices.runtime[devices.runtime["t0"] == row["launch_ns"]]
    assert (call["t1"] - call["t0"]) / 1e3 == told["cpu"]
    assert max(0, row["t0_ns"] - call["t1"]) == told["launch_delay"]


def test_kernels_by_the_annotation_that_launched_them() -> None:
    """HolisticTraceAnalysis leaves out the last step, and what was launched in it."""
    told = expected(NS_RESOLUTION)["hta_asserted"]
    opened = tables(NS_RESOLUTION)
    last = opened.steps()["t0_ns"].max()
    kernels = opened.kernels()
    kept = kernels[kernels["launch_ns"] < last]
    assert len(kept) == told["gpu_kernels_with_user_annotations"]
    intervals = opened.intervals()

    def launched_in(phase: str, rows: pd.DataFrame) -> pd.DataFrame:
        parts = intervals[(intervals["kind"] == "phase") & (intervals["name"] == phase)]
        covered = union(parts["t0_ns"].to_numpy(), parts["t1_ns"].to_numpy())
        inside = [any(a <= at <= b for a, b in covered) for at in rows["launch_ns"].tolist()]
        found = rows[np.array(inside, np.bool_)]
        assert isinstance(found, pd.DataFrame)
        return found

    # it goes by annotations on the device's own tracks, and keeps those that begin before the
    # last step: of the optimizer three, as the device is a step behind the host
    optimizer = launched_in("optimizer", kept)
    assert len(optimizer) == 4 * 9
    early = optimizer[optimizer["t0_ns"] < last]
    assert len(early) == told["Optimizer.step#SGD.step kernels"]
    (copy,) = launched_in("forward", kept[kept["correlation"] == 135139])["name"]
    annotation, name = told["correlation 135139"].split(" / ")
    assert copy.startswith(name)
    contents = read_kineto(require_reference(f"kineto/{NS_RESOLUTION}"))
    (row,) = contents.device[contents.device["correlation"] == 135139]
    around = contents.host[
        (contents.host["kind"] == ANNOTATION)
        & (contents.host["t0"] <= row["launch"])
        & (row["launch"] <= contents.host["t1"])
    ]
    assert contents.names[around[np.argmax(around["t0"])]["name"]] == annotation


def test_annotations_of_the_host_by_name() -> None:
    """Without the last step; phases have the ids of their kinds in the tables."""
    contents = read_kineto(require_reference(f"kineto/{NS_RESOLUTION}"))
    rows = contents.host[contents.host["kind"] == ANNOTATION]
    names = {contents.names[name] for name in rows["name"].tolist()}
    told = expected(NS_RESOLUTION)["hta_asserted"]
    assert len(names - {"ProfilerStep#105"}) == told["cpu_user_annotation_rows"]


def test_collectives_by_call_and_size() -> None:
    """TraceLens counts what has a launch in the file; only that has arguments here."""
    kernels = tables(MI300).kernels()
    talks = kernels[(kernels["kind"] == "communication") & kernels["operation"].notna()]
    summed = (talks.groupby(["operation", "bytes"])["duration_ns"].agg(["size", "sum"])).to_dict(
        "index"
    )
    assert summed == {
        ("allreduce", 2 * 8_816_192): {"size": 3, "sum": 26_798_240},
        ("allreduce", 2 * 2_873_320): {"size": 3, "sum": 20_338_798},
        ("broadcast", 2 * 9_600): {"size": 3, "sum": 43_675},
        ("broadcast", 8 * 20): {"size": 3, "sum": 19_597},
    }
    assert expected(MI300)["why"].count(" x3 ") == len(summed)


def test_tracelens_counts_recomputed_kernels_apart_and_no_fills() -> None:
    """Activation checkpointing computes some a second time, inside a function of PyTorch.

    Its times are doubles in microseconds since 1970, a quarter of a microsecond apart.
    """
    path = require_reference(f"kineto/{MI300}")
    contents, published = read_kineto(path), expected(MI300)["tracelens_ref_ms"]
    text = json.loads(gzip.decompress(path.read_bytes()))
    base = int(text["baseTimeNanoseconds"])
    again = [
        (round(event["ts"] * 1e3) + base, round((event["ts"] + event["dur"]) * 1e3) + base)
        for event in text["traceEvents"]
        if "recompute_fn" in event.get("name", "")
    ]
    assert len(again) == 12
    device = contents.device[contents.device["launch"] != LAUNCH_UNKNOWN]
    device = device[device["kind"] != DeviceKind.MEMSET]
    launch = device["launch"]
    recomputed = np.any([(a <= launch) & (launch <= b) for a, b in again], axis=0)
    found = sums(device[~recomputed])
    assert found.keys() == published.keys()
    for key, value in published.items():
        assert found[key] == pytest.approx(value, abs=5e-5), key
    rows = device[recomputed]
    whole = (rows["t1"].max() - rows["t0"].min()) / 1e6
    compute = length(union(rows["t0"], rows["t1"])) / 1e6
    with (path.parent / "resnet_act_checkpoint_recompute_perf_report_csvs/gpu_timeline.csv").open(
        encoding="utf-8"
    ) as lines:
        told = {
            row["type"]: float(row["time ms"])
            for row in csv.DictReader(lines)
            if row["is_recompute"] == "True"
        }
    assert compute == pytest.approx(told["computation_time"], abs=5e-5)
    assert compute == pytest.approx(told["busy_time"], abs=5e-5)
    assert whole == pytest.approx(told["total_time"], abs=5e-5)
