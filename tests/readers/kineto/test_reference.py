"""Kineto traces made by others: every published value, and why where ours differs."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfscope.metrics.devices.occupancy import Occupancy, occupancy
from perfscope.readers.kineto.file import KinetoContents, read_kineto
from perfscope.readers.kineto.host import host_tables
from perfscope.readers.registry import open_trace
from perfscope.trace.devices import LAUNCH_UNKNOWN, DeviceKind
from perfscope.trace.model import Table
from tests.support.kineto_peers import as_hta, common, in_floating_point, length, union
from tests.support.requirements import require_reference
from tests.support.trace_invariants import check_trace

Reference = Callable[[str], Path]
FILES = (
    "hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    "hta/critical_path/cuda_event_sync/event_sync_trace.json.gz",
    "hta/critical_path/simple_add/benchmark_result_493459_1694039959_trace.json.gz",
    "hta/nccl_parser_config/nccl_data.json.gz",
    "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    "hta/trace_filter/sampled_rank-0.json.gz",
    "hta/trace_filter/sampled_rank-1.json.gz",
    "hta/triton_example/triton_example.json.gz",
    "tracelens/h100/Falconsai_nsfw_image_detection__1016002.json.gz",
    "tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz",
    "tracelens/mi300/resnet_act_checkpoint.json.gz",
)
MTIA = "hta/mtia_trace_single_rank/mtia_rank_0.json.gz"
WITHOUT_DEVICES = (
    "hta/cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
    "hta/distributed_info_unavailable/distributed_info_not_found.json.gz",
)
FILL = 1 << DeviceKind.MEMSET
"""The published sums count fills as kernels; so do these tests."""


def expected(name: str) -> dict[str, Any]:
    values = json.loads(require_reference("expected.json").read_text())
    found: dict[str, Any] = values["kineto"][name]
    return found


def opened(name: str) -> tuple[KinetoContents, int]:
    """The tables of a file, and its baseTimeNanoseconds."""
    path = require_reference(f"kineto/{name}")
    found = re.search(rb'"baseTimeNanoseconds":\s*(\d+)', gzip.open(path).read())
    return read_kineto(path), int(found[1]) if found else 0


def sums(rows: Table) -> dict[str, float]:
    """Sums of the whole file in ms, with fills counted as kernels."""
    window = (int(rows["t0"].min()), int(rows["t1"].max()))
    (use,) = (found[0] for found in occupancy(rows, [window]).values())
    kernels = 1 << DeviceKind.COMPUTE | FILL
    talks, copies = 1 << DeviceKind.COMMUNICATION, 1 << DeviceKind.MEMCPY
    ns = {
        "computation_time": use.any_of(kernels),
        "total_comm_time": use.communication_ns,
        "exposed_comm_time": use.without(talks, kernels),
        "total_memcpy_time": use.memcpy_ns,
        "exposed_memcpy_time": use.without(copies, kernels | talks),
        "busy_time": use.busy_ns,
        "total_time": use.window_ns,
        "idle_time": use.idle_ns,
    }
    return {name: value / 1e6 for name, value in ns.items()}


def sums_in_floating_point(rows: Table, base_ns: int) -> dict[str, float]:
    """The same from times in floating point, as they were published."""
    starts, ends = in_floating_point(rows, base_ns)
    kind = rows["kind"]

    def covered(*kinds: DeviceKind) -> list[list[float]]:
        chosen = np.isin(kind, kinds)
        return union(starts[chosen], ends[chosen])

    compute = covered(DeviceKind.COMPUTE, DeviceKind.MEMSET)
    talks, copies = covered(DeviceKind.COMMUNICATION), covered(DeviceKind.MEMCPY)
    kernels = covered(DeviceKind.COMPUTE, DeviceKind.MEMSET, DeviceKind.COMMUNICATION)
    busy = union(starts, ends)
    total = busy[-1][1] - busy[0][0]
    us = {
        "computation_time": length(compute),
        "total_comm_time": length(talks),
        "exposed_comm_time": length(talks) - common(talks, compute),
        "total_memcpy_time": length(copies),
        "exposed_memcpy_time": length(copies) - common(copies, kernels),
        "busy_time": length(busy),
        "total_time": total,
        "idle_time": total - length(busy),
    }
    return {name: value / 1e3 for name, value in us.items()}


@pytest.mark.parametrize("name", FILES)
def test_sums_are_the_published_ones(name: str) -> None:
    """To the last digit with times in floating point; exactly, they differ by its resolution."""
    contents, base = opened(name)
    published = expected(name)["own_ms"]
    found = sums_in_floating_point(contents.device, base)
    for key, value in published.items():
        assert found[key] == pytest.approx(value, abs=5.5e-7), key
    resolution_ms = np.spacing(float(contents.device["t1"].max() - base) / 1e3) / 1e3
    exact = sums(contents.device)
    for key, value in published.items():
        assert abs(exact[key] - value) <= len(contents.device) * resolution_ms + 5.5e-7, key


@pytest.mark.parametrize("name", FILES)
def test_rows_are_of_the_published_kinds(name: str) -> None:
    kinds = np.bincount(opened(name)[0].device["kind"], minlength=4)
    counted = [kinds[DeviceKind.COMPUTE] + kinds[DeviceKind.MEMSET], kinds[1], kinds[2]]
    assert counted == expected(name)["n_compute_comm_memcpy"]


@pytest.mark.parametrize(
    "name", [name for name in FILES if "trace_filter" in name or "nccl_parser" in name]
)
def test_hta_is_reproduced_by_rounding_to_microseconds(name: str) -> None:
    contents, base = opened(name)
    published = expected(name)["hta_061_run"]
    values = published.get("temporal_us_and_overlap", published.get("temporal_us"))
    found = as_hta(contents, base)
    assert found.temporal() == {key: values[key] for key in found.temporal()}
    assert found.overlap_pct() == values.get("overlap_pct", published.get("overlap_pct"))


def test_overlap_is_exact_where_hta_rounds() -> None:
    """Whole file: HTA's rounding gives 15.14 %, the nanoseconds of the file 15.61 %."""
    contents, base = opened("hta/nccl_parser_config/nccl_data.json.gz")
    steps = host_tables(contents).steps
    window = (int(steps["t0"].min()), int(contents.device["t1"].max()))
    use: Occupancy = occupancy(contents.device, [window])[0][0]
    assert use.overlap == pytest.approx(0.1561, abs=5e-5)
    starts, ends = in_floating_point(contents.device, base)
    kind = contents.device["kind"]
    talks, works = kind == DeviceKind.COMMUNICATION, kind == DeviceKind.COMPUTE
    floor, ceil = np.floor(ends), np.ceil(starts)
    rounded = union(ceil[talks], floor[talks])
    share = common(rounded, union(ceil[works], floor[works])) / length(rounded)
    assert share == pytest.approx(0.1514, abs=5e-5)


def test_idle_time_of_a_stream_is_that_of_hta() -> None:
    """The threshold that its documentation gives in ns is compared with microseconds."""
    contents, base = opened(FILES[4])
    published = expected(FILES[4])["hta_061_run"]
    found = as_hta(contents, base)
    assert found.temporal() == published["temporal_us"]
    assert found.idle_of_stream(7, threshold_us=30.0) == published["idle_stream7_us"]
    assert found.idle_of_stream(7, threshold_us=0.030)["kernel_wait"] == 0.0


def test_mtia_has_device_rows_of_a_category_of_its_own() -> None:
    contents, base = opened(MTIA)
    asserted = expected(MTIA)["hta_asserted"]
    found = as_hta(contents, base, no_stream=801)
    compute = (found.ends - found.starts)[found.is_compute].sum()
    assert compute == asserted["kernel_breakdown"]["COMPUTATION sum us"]
    assert found.idle_of_stream(1)["host_wait"] == asserted["idle_breakdown_stream1_host_wait_us"]
    shares, published = found.temporal(), asserted["temporal_us"]
    for key in ("idle", "compute", "non_compute"):
        mine, theirs = shares[key] / shares["total"], published[key] / published["total"]
        assert 100 * abs(mine - theirs) <= published["tolerance_pct_points"]
    launch = contents.device[contents.device["correlation"] == 423]
    told = asserted["launch_stats_correlation_423"]
    assert (launch["t1"] - launch["t0"]).tolist() == [round(1000 * told["gpu"])]


def test_tracelens_leaves_out_what_has_no_launch_in_the_file() -> None:
    name = "tracelens/mi300/resnet_act_checkpoint.json.gz"
    contents, _ = opened(name)
    rows, published = contents.device, expected(name)["tracelens_ref_ms"]
    linked = rows[rows["launch"] != LAUNCH_UNKNOWN]
    assert len(rows) - len(linked) == 968
    found = sums(linked)
    assert found["total_comm_time"] == pytest.approx(published["total_comm_time"], abs=1e-6)
    assert found["total_time"] == pytest.approx(published["total_time"], abs=1e-6)
    assert sums(rows)["total_comm_time"] == pytest.approx(71.516523, abs=1e-5)


@pytest.mark.parametrize("name", [name for name in FILES if "h100" in name])
def test_tracelens_agrees_where_every_launch_is_in_the_file(name: str) -> None:
    found, published = sums(opened(name)[0].device), expected(name)["tracelens_ref_ms"]
    for key, value in published.items():
        assert found[key] == pytest.approx(value, abs=2e-6), key


@pytest.mark.parametrize("name", WITHOUT_DEVICES)
def test_a_profile_of_the_host_alone_says_so(name: str) -> None:
    trace = open_trace(require_reference(f"kineto/{name}"))
    check_trace(trace)
    assert trace.ranks[0].devices is None
    assert "no device events" in trace.not_recorded["devices"]


def test_nccl_arguments_name_the_group_and_the_size() -> None:
    contents, _ = opened("hta/nccl_parser_config/nccl_data.json.gz")
    asserted = expected("hta/nccl_parser_config/nccl_data.json.gz")["hta_asserted"]
    rows = contents.device[contents.device["kind"] == DeviceKind.COMMUNICATION]
    assert len(rows) == asserted["nccl_kernels"]
    reduced = rows[[contents.names[op] == "allreduce" for op in rows["op"].tolist()]]
    assert reduced[0]["bytes"] == 4 * asserted["first"]["in_nelems"]
    group = contents.groups[reduced[0]["comm"]]
    assert (group.name, group.ranks) == (asserted["first"]["pg"], asserted["first"]["ranks"])
    assert set(rows["members"].tolist()) == {2}


def test_a_trace_that_ends_in_an_empty_event(reference: Reference) -> None:
    contents = read_kineto(reference("kineto/tf2_2020_08_05.trace.json.gz"))
    assert contents.counts["empty"] == 1
    assert contents.counts["events"] == 816
    assert len(contents.host) == 798
    check_trace(open_trace(contents.path))


def test_four_gloo_ranks_give_the_recorded_efficiencies(reference: Reference) -> None:
    """With communication as the backend's threads recorded it, inside the ten steps."""
    published = json.loads(reference("expected.json").read_text())["generated"]["gloo4"]
    useful, windows = [], []
    for rank in range(4):
        contents = read_kineto(reference(f"torch_gloo4/rank{rank}.pt.trace.json"))
        host = host_tables(contents)
        steps = host.steps
        spent = sum(
            max(0, min(call.end_ns, int(end)) - max(call.recorded_ns, int(start)))
            for call in host.collectives
            for start, end in zip(steps["t0"], steps["t1"], strict=True)
        )
        window = int(steps["t1"].max() - steps["t0"].min())
        assert round(spent / 1e6, 3) == published["allreduce_ms"][rank]
        assert round(window / 1e6, 3) == published["step_window_ms"][rank]
        assert round((window - spent) / 1e6, 3) == published["useful_ms"][rank]
        useful.append(window - spent)
        windows.append(window)
    balance, spread = sum(useful) / 4 / max(useful), max(useful) / max(windows)
    assert round(balance, 4) == published["load_balance"]
    assert round(spread, 4) == published["comm_efficiency"]
    assert round(balance * spread, 4) == published["parallel_efficiency"]


def test_the_last_rank_of_every_gloo_collective_is_known(reference: Reference) -> None:
    published = json.loads(reference("expected.json").read_text())["generated"]["gloo4"]
    calls = []
    for rank in range(4):
        contents = read_kineto(reference(f"torch_gloo4/rank{rank}.pt.trace.json"))
        calls.append([call.recorded_ns for call in host_tables(contents).collectives])
    entered = np.array(calls)
    assert np.argmax(entered, axis=0).tolist() == published["last_arriving_rank"]
    skew_ms = (entered.max(axis=0) - entered.min(axis=0)) / 1e6
    assert np.round(skew_ms, 2).tolist() == published["skew_ms"]
