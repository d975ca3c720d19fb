"""A file of rocprofv3 itself, and what another program counted in it."""

from perfscope.metrics.compute import compute
from perfscope.readers.registry import open_trace
from perfscope.trace.devices import DeviceKind
from tests.support.requirements import require_reference
from tests.support.trace_invariants import check_trace


def test_a_real_document_has_its_kernels_and_no_efficiency() -> None:
    """Counted by another program; one of eight devices, whose others are in other files."""
    trace = open_trace(require_reference("rocprof/908_results.json.gz"))
    check_trace(trace)
    (rank,) = trace.ranks
    assert rank.devices is not None
    rows = rank.devices.rows
    assert (len(rows), int((rows["t1"] - rows["t0"]).sum())) == (43_915, 4_441_741_378)
    talks = rows[rows["kind"] == DeviceKind.COMMUNICATION]
    assert (len(talks), int((talks["t1"] - talks["t0"]).sum())) == (1_310, 4_158_756_678)
    found = compute(trace).devices
    assert found is not None
    for tree in found.efficiency.values():
        for metric in vars(tree).values():
            assert metric.value is None
            assert "not in them" in (metric.reason or "")
