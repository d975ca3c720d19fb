"""Devices that communicated with others of which no file tells."""

import json
from pathlib import Path

import pytest

from perfscope.document.analysis import analysis
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace

WHY = (
    "not in them",
    "7 of 8 ranks are missing",
    "no file tells how many ranks the job had",
)


@pytest.mark.parametrize(
    ("devices", "members", "is_told"),
    [(1, None, False), (1, 8, False), (1, 1, True), (2, None, False), (2, 8, False), (2, 2, True)],
)
def test_devices_that_communicate_with_others_alone_have_no_efficiency(
    tmp_path: Path, devices: int, members: int | None, is_told: bool
) -> None:
    """A load balance of a part of the ranks would be 1.

    Members of a group are devices: only where a rank has one they tell how many ranks there are.
    """
    group = {} if members is None else {"Group size": members}
    events = [
        {
            "ph": "X",
            "cat": "kernel",
            "name": name,
            "pid": device,
            "tid": 7,
            "ts": at,
            "dur": 10,
            "args": told,
        }
        for device in range(devices)
        for name, at, told in (
            ("gemm", 0, {"device": device, "stream": 7}),
            ("ncclDevKernel_Generic", 20, {"device": device, "stream": 7, **group}),
        )
    ]
    (tmp_path / "a.json").write_text(json.dumps(events))
    trace = open_trace(tmp_path / "a.json")
    assert trace.world_size == (8 if (devices, members) == (1, 8) else 1)
    found = compute(trace).devices
    assert found is not None
    assert len(found.devices) == devices
    for tree in found.efficiency.values():
        assert (tree.load_balance.value is not None) == is_told
        reason = tree.parallel_efficiency.reason or ""
        assert is_told or any(part in reason for part in WHY)
    rows = {row["id"] for row in analysis(trace, Options())["quality"]}
    assert ("device_ranks" in rows) == is_told
