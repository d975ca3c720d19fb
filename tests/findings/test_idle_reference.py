"""Idle time on profiles made by others: the published sums, each with its cause."""

import json

import numpy as np
import pytest

from perfscope.metrics.devices.device_gaps import LAUNCH_GAP_NS
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace
from perfscope.schema.enums import IdleCause, Status
from perfscope.trace.devices import LAUNCH_UNKNOWN
from perfscope.trace.model import Table, Trace
from tests.findings.analyzed import Analyzed, analyze_trace
from tests.support.requirements import require_reference

HTA = "hta/"
SUMS = {
    "hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz": IdleCause.HOST,
    "hta/critical_path/cuda_event_sync/event_sync_trace.json.gz": IdleCause.LAUNCH,
    "hta/critical_path/simple_add/benchmark_result_493459_1694039959_trace.json.gz": IdleCause.HOST,
    "hta/nccl_parser_config/nccl_data.json.gz": IdleCause.HOST,
    "hta/trace_filter/sampled_rank-0.json.gz": IdleCause.HOST,
    "hta/trace_filter/sampled_rank-1.json.gz": IdleCause.DEVICE,
    "tracelens/h100/Falconsai_nsfw_image_detection__1016002.json.gz": IdleCause.LAUNCH,
    "tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz": IdleCause.LAUNCH,
}
"""Profiles with a published idle time of more than a tenth, and what most of it waits for."""
IN_TIME = {IdleCause.KERNEL, IdleCause.DEVICE}


def rows_of(trace: Trace) -> Table:
    (rank,) = trace.ranks
    assert rank.devices is not None
    return rank.devices.rows


def calls_of(trace: Trace) -> Table:
    (rank,) = trace.ranks
    assert rank.devices is not None
    return rank.devices.runtime


def over_the_devices_work(name: str) -> tuple[Analyzed, Table]:
    """The analysis from the first to the last event of the device, as the sums are published."""
    path = require_reference(f"kineto/{name}")
    rows = rows_of(open_trace(path))
    window = f"{rows['t0'].min() / 1e9:.9f}:{rows['t1'].max() / 1e9:.9f}"
    return analyze_trace(open_trace(path), Options(focus=window)), rows


def plain_causes(rows: Table, calls: Table) -> dict[str, int]:
    """Idle ns by HolisticTraceAnalysis's rule, event by event: launched late, in time, unknown.

    Of what was launched late, the wait after its launch was over is as good as in time: the host
    had done its part. HolisticTraceAnalysis counts it as the host's.
    """
    totals = {"host": 0, "in time": 0, "unknown": 0}
    returned = {int(call["t0"]): int(call["t1"]) for call in calls}
    reach = int(rows["t0"].min())
    for row in rows[rows["t1"] > rows["t0"]]:
        begin, launch = int(row["t0"]), int(row["launch"])
        if begin > reach:
            kind = "host" if launch >= reach else "in time"
            queued = begin - max(returned.get(launch, begin), reach)
            if kind == "host" and queued >= LAUNCH_GAP_NS:
                totals["in time"] += queued
                begin -= queued
            totals["unknown" if launch == LAUNCH_UNKNOWN else kind] += begin - reach
        reach = max(reach, int(row["t1"]))
    return totals


@pytest.mark.parametrize("name", SUMS)
def test_idle_time_is_the_published_one_and_has_its_cause(name: str) -> None:
    published = json.loads(require_reference("expected.json").read_text())["kineto"][name]["own_ms"]
    analyzed, rows = over_the_devices_work(name)
    assert analyzed.results.devices is not None
    (device,) = analyzed.results.devices.devices
    idle_ms = sum(device.causes_s.values()) * 1e3
    resolution_ms = float(np.spacing(1.7e15)) / 1e3 * len(rows)
    assert idle_ms == pytest.approx(published["idle_time"], abs=resolution_ms + 1e-6)
    assert idle_ms == pytest.approx(device.use.idle_ns / 1e6, abs=1e-6)
    plain = plain_causes(rows, calls_of(open_trace(require_reference(f"kineto/{name}"))))
    in_time = sum(s for cause, s in device.causes_s.items() if cause in IN_TIME)
    unknown = device.causes_s.get(IdleCause.UNKNOWN, 0.0)
    assert in_time * 1e9 == pytest.approx(plain["in time"], abs=1)
    assert idle_ms * 1e6 - (in_time + unknown) * 1e9 == pytest.approx(
        plain["host"] + plain["unknown"] - unknown * 1e9, abs=1
    )
    finding = analyzed.findings["idle_devices"]
    assert finding.status is Status.FAIL
    assert max(device.causes_s, key=lambda cause: device.causes_s[cause]) is SUMS[name]
    alone = bool(analyzed.results.damage)  # what a job of many ranks saves is not known from one
    assert finding.gain_s == (None if alone else device.causes_s[SUMS[name]])
    told = {row.label: row.value for row in finding.evidence}
    share = published["idle_time"] / published["total_time"]
    assert told["Idle"] == pytest.approx(share, rel=1e-4)


def test_a_busy_device_passes_with_the_published_host_wait() -> None:
    """Stream 7: 1709 us host wait and 8404 us kernel wait, both of whole microseconds."""
    name = "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz"
    published = json.loads(require_reference("expected.json").read_text())["kineto"][name]
    stream = published["hta_061_run"]["idle_stream7_us"]
    analyzed, rows = over_the_devices_work(name)
    assert analyzed.findings["idle_devices"].status is Status.PASS
    assert analyzed.results.devices is not None
    (device,) = analyzed.results.devices.devices
    kernel = device.causes_s[IdleCause.KERNEL]
    gaps = np.count_nonzero(rows["stream"] == 7)
    # Rounding each begin up and each end down to a microsecond makes each gap longer by about one.
    assert kernel * 1e6 < stream["kernel_wait"] < kernel * 1e6 + gaps
    host = sum(s for cause, s in device.causes_s.items() if cause not in IN_TIME)
    assert host * 1e6 == pytest.approx(stream["host_wait"], abs=500)
