"""A log that NCCL itself wrote, without a device."""

from pathlib import Path

from perfscope.readers.registry import open_trace


def test_a_log_that_nccl_itself_wrote_has_every_call_and_byte() -> None:
    """NCCL 2.21.5's own host code ran, with a stand-in for CUDA: four ranks, one communicator of
    all and two halves of it, and on each rank the calls below, of which no kernel ever moved data.
    """
    trace = open_trace(Path(__file__).with_name("written") / "nccl.log")
    (found,) = trace.tool_reports
    assert trace.world_size == 4
    assert found.tool == "NCCL 2.21.5+cuda12.8"
    assert found.says[0] == "The network is Socket."
    assert not any("never made" in said for said in found.says)
    tables = {table.title: table.rows for table in found.tables}
    sizes = sorted(tuple(row[1:]) for row in tables["Communicators"])
    assert sizes == [(2, 2), (2, 2), (4, 4)]
    ranks, single, double, half = 4, 4, 8, 2
    reduced = sum(1024 * more * single for more in (1, 2, 3, 4, 5)) + 7 * 100 * double
    assert tables["Calls, of the ranks that are in the log"] == (
        ("AllReduce", ranks * (5 + 7), ranks * reduced),
        ("Broadcast", ranks * 3, ranks * 3 * 2048 * half),
        ("AllGather", ranks, ranks * 512 * double),
        ("ReduceScatter", ranks, ranks * 256 * double),
    )
