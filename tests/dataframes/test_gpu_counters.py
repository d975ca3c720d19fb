"""Samples of GPUs among the counters of a trace."""

from perfscope.dataframes.frames import frame_of
from perfscope.dataframes.source import Source
from perfscope.dataframes.tables import counters
from perfscope.trace.devices import Gpu
from tests.support.trace_builder import TraceBuilder


def test_gpus_are_counters_by_uuid_and_unknown_values_are_left_out() -> None:
    builder = TraceBuilder(1, end_s=5.0).set(gpus=[Gpu("node0", "GPU-a"), Gpu("node0", "GPU-b")])
    builder.rank(0).gpu_sample(1.0, 1, busy=0.5, power_w=250.0)
    rows = frame_of(counters.TABLE, Source(builder.build()))
    told = rows[rows["source"] == "gpu"]
    values = dict(zip(told["name"], told["value"], strict=True))
    assert values == {"busy GPU-b": 0.5, "power_w GPU-b": 250.0, "throttling GPU-b": 0.0}
