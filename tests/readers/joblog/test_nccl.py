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


def test_processes_that_wait_for_one_that_never_comes_are_told(tmp_path: Path) -> None:
    """As NCCL 2.21.5 wrote it where one of four ranks never came."""
    path = tmp_path / "nccl.log"
    lines = [
        line
        for number in (20803, 20804, 20805)
        for line in (
            f"vm:{number}:{number} [0] NCCL INFO NCCL version 2.21.5+cuda12.8",
            f"vm:{number}:{number} [0] NCCL INFO Bootstrap : Using lo:127.0.0.1<0>",
            f"vm:{number}:{number} [0] NCCL INFO Using network Socket",
        )
    ]
    path.write_text("\n".join(lines))
    (found,) = open_trace(path).tool_reports
    assert found.tool == "NCCL 2.21.5+cuda12.8"
    assert found.says[0].startswith("3 of 3 processes opened NCCL and told of no communicator")
    assert found.says[0].endswith("The last line of vm:20803: Using network Socket.")
    (table,) = found.tables
    assert [row[0] for row in table.rows] == ["vm:20803", "vm:20804", "vm:20805"]


def test_one_process_that_told_of_no_communicator_is_told_beside_those_that_did(
    tmp_path: Path,
) -> None:
    text = (Path(__file__).with_name("written") / "nccl.log").read_text()
    path = tmp_path / "nccl.log"
    path.write_text(text + "\nvm:9:9 [0] NCCL INFO Bootstrap : Using lo:127.0.0.1<0>\n")
    (found,) = open_trace(path).tool_reports
    assert found.says[0].startswith("1 of 5 processes opened NCCL and told of no communicator")


def test_a_log_of_calls_alone_does_not_say_who_made_no_communicator(tmp_path: Path) -> None:
    path = tmp_path / "nccl.log"
    path.write_text(
        "vm:1:1 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x2 count 16 datatype 7 "
        "op 0 root 0 comm 0x5 [nranks=2] stream 0x0\n"
    )
    (found,) = open_trace(path).tool_reports
    assert not any("no communicator" in said for said in found.says)
