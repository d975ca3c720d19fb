"""Logs of jobs: lines of oneDNN, sacct, DeepSpeed and NCCL as they wrote them, errors by source."""

import os
import subprocess
from pathlib import Path

import pytest

from perfscope.cli.main import main
from perfscope.document.analysis import analysis
from perfscope.errors import ExitCode, UnreadableInputError
from perfscope.metrics.results import Options
from perfscope.readers.joblog import reader, records
from perfscope.readers.registry import open_trace, open_traces
from perfscope.schema.other_tools import ToolReport
from tests.support.environments import environment
from tests.support.trace_invariants import check_trace

NCCL = """NCCL version 2.21.5+cuda12.4
n0:7:17 [0] NCCL INFO Using network IB
n0:7:17 [0] NCCL INFO ncclCommInitRank comm 0x8d57 rank 0 nranks 2 cudaDev 0 busId 70 commId 0x49 - Init START
n1:8:18 [0] NCCL INFO ncclCommInitRank comm 0x9d57 rank 1 nranks 2 cudaDev 0 busId 70 commId 0x49 - Init START
n0:7:17 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0
n0:7:17 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[0] via P2P/IPC/read
n0:7:17 [0] NCCL INFO ncclCommInitRank comm 0x8d57 rank 0 nranks 2 cudaDev 0 busId 70 commId 0x49 - Init COMPLETE
n0:7:17 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x7 recvbuff 0x7 count 1024 datatype 7 op 0 root 0 comm 0x8d57 [nranks=2] stream 0x5
n0:7:17 [0] NCCL INFO AllReduce: opCount 1 sendbuff 0x7 recvbuff 0x7 count 1024 datatype 9 op 0 root 0 comm 0x8d57 [nranks=2] stream 0x5

n1:8:18 [0] misc/socket.cc:50 NCCL WARN socketProgress: Connection closed by remote peer n0<4242>
"""  # noqa: E501 - as it is printed
DEEPSPEED = """[2026-11-25 01:39:55,722] [INFO] [logging.py:69:log_dist] [Rank 0] comm op: all_reduce | time (ms): 9.0 | msg size: 2.0 MB | algbw (Gbps): 1.2  | busbw (Gbps): 1.1
[2026-11-25 01:39:55,733] [INFO] [logging.py:69:log_dist] [Rank 0] comm op: all_reduce | time (ms): 11.0 | msg size: 2.0 MB | algbw (Gbps): 1.2  | busbw (Gbps): 1.1
"""  # noqa: E501
SUMMARY = """Comm. Op            Message Size        Count               Total Latency(ms)   Avg Latency(ms)     tput_avg (Gbps)     busbw_avg (Gbps)
broadcast
                    2.0 KB              146                 11.12               0.08                0.43                0.41
                    98.25 MB            1                   8317.12             8317.12             0.20                0.19
reduce_scatter_tensor
                    678.86 MB           40                  602.29              9.69                1468.06             1376.31
"""  # noqa: E501
SACCT = (
    "JobID|State|MaxRSS|ConsumedEnergy\n7|COMPLETED||\n7.0|COMPLETED|2048K|1.5K\n7.1|FAILED|3M|\n"
)
IN_COLUMNS = """JobID             State     MaxRSS ConsumedEnergy
------------ ---------- ---------- --------------
7             COMPLETED
7.0           COMPLETED      2048K           1.5K
7.1              FAILED         3M
"""
"""The same without -P: fields in columns, a line of dashes below their names."""
WRITTEN = Path(__file__).with_name("written")
STRAGGLERS = """_______________________________
Breakdown with straggler effect
-------------------------------
Comm. Op            Message Size        Count               Total comm lat(ms)  Total straggler(ms) Avg comm lat(ms)    Avg straggler(ms)
broadcast
                    2.0 KB              146                 9.12                2.00                0.06                0.01
                    98.25 MB            1                   8310.12             7.00                8310.12             7.00
reduce_scatter_tensor
                    678.86 MB           40                  102.29              500.00              2.55                12.5
"""  # noqa: E501


def told(place: Path, text: str) -> list[ToolReport]:
    path = place / "job.log"
    path.write_text(text)
    trace = open_trace(path)
    check_trace(trace)
    assert analysis(trace, Options())["metrics"]["parallel_efficiency"]["value"] is None
    return trace.tool_reports


def test_primitives_of_a_real_run_add_up(tmp_path: Path) -> None:
    """Two convolutions of torch, three times: what awk would count of its lines."""
    program = "import torch\nfrom torch.nn import Conv2d, Sequential\n"
    program += "m = Sequential(Conv2d(3, 16, 3), Conv2d(16, 8, 3))\nx = torch.randn(4, 3, 32, 32)\n"
    program += "with torch.no_grad():\n  for _ in range(3): m(x)\n"
    done = subprocess.run(
        [str(environment("torch").python), "-c", program],
        env={**os.environ, "ONEDNN_VERBOSE": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    made = [line.split(",") for line in done.stdout.splitlines() if ",exec,cpu," in line]
    (found,) = told(tmp_path, "Epoch 1\n" + done.stdout)
    rows = found.tables[0].rows
    assert sum(row[2] for row in rows if isinstance(row[2], int)) == len(made)
    assert sum(row[3] for row in rows if isinstance(row[3], float)) == pytest.approx(
        sum(float(words[-1]) for words in made) / 1e3
    )
    kinds = {row[0]: row[2] for row in rows}
    assert kinds["convolution"] == 6
    assert any("Reorders" in said for said in found.says)
    assert any("Making primitives took" in said for said in found.says)


def test_the_instruction_set_is_told_whole(tmp_path: Path) -> None:
    """Its name holds commas, and what speeds matrices up stands at its end."""
    isa = "Intel AVX-512 with float16, Intel DL Boost and bfloat16 support and Intel AMX"
    line = "onednn_verbose,v1,primitive,exec,cpu,matmul,brg:amx,undef,src:bf16,,,8x8:8x8,10"
    (found,) = told(tmp_path, f"onednn_verbose,v1,info,cpu,isa:{isa}\n{line}\n")
    assert found.says[0] == f"1 primitive ran for 10.0 ms with {isa}."


@pytest.mark.parametrize(
    "line",
    [
        "dnnl_verbose,exec,cpu,convolution,jit:avx2,forward_training,src_f32::a,,a,mb2,10",
        "onednn_verbose,1795649421449.9,exec,cpu,convolution,ref:any,forward,src_f32::a,,a,mb2,10",
        "[1,0]<stdout>:onednn_verbose,v1,primitive,exec,gpu:0,convolution,ocl:a,,src:f32,,a,mb2,10",
    ],
)
def test_lines_of_every_release_are_taken(tmp_path: Path, line: str) -> None:
    (found,) = told(tmp_path, f"{line}\n{line}\n")
    (row,) = found.tables[0].rows
    assert (row[0], row[2]) == ("convolution", 2)
    assert row[3] == pytest.approx(0.02)
    assert any("reference" in said for said in found.says) == ("ref:any" in line)


def test_the_rank_that_made_no_communicator_is_named(tmp_path: Path) -> None:
    (found,) = told(tmp_path, NCCL)
    assert found.tool == "NCCL 2.21.5+cuda12.4"
    assert "never made by 1 rank that began to, first of them 1" in found.says[0]
    assert any("Connection closed by remote peer" in said for said in found.says)
    assert any("Sockets (TCP) carry 1 channel between ranks" in said for said in found.says)
    tables = {table.title: table.rows for table in found.tables}
    assert tables["Communicators"] == (("0x49", 2, 1),)
    assert tables["Ways between ranks"] == (("NET/Socket", 1), ("P2P/IPC/read", 1))
    assert tables["Calls, of the ranks that are in the log"] == (("AllReduce", 2, 1024 * 6),)


def test_a_job_has_the_ranks_of_its_largest_communicator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MOST_RANKS", 1000)
    (tmp_path / "job.log").write_text(NCCL + NCCL.replace("nranks 2", "nranks 8"))
    assert open_trace(tmp_path / "job.log").world_size == 8
    (tmp_path / "job.log").write_text(NCCL.replace("nranks 2", "nranks 9999999"))
    assert len(open_trace(tmp_path / "job.log").ranks) == 1000


SPLIT = """n0:7:17 [0] NCCL INFO ncclCommSplit comm 0x5e40 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 70 parent 0x8d57 splitCount 1 color {0} key 0- Init START
n1:8:18 [0] NCCL INFO ncclCommSplit comm 0x6e40 rank 1 nranks 2 cudaDev 0 nvmlDev 0 busId 70 parent 0x9d57 splitCount 1 color {0} key 1- Init START
n0:7:17 [0] NCCL INFO ncclCommSplit comm 0x5e40 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 70 parent 0x8d57 splitCount 1 color {0} key 0 - Init COMPLETE
"""  # noqa: E501 - as NCCL 2.27 prints it
SPLIT_ENDS = """n1:8:18 [0] NCCL INFO ncclCommSplit comm 0x6e40 rank 1 nranks 2 cudaDev 0 nvmlDev 0 busId 70 parent 0x9d57 splitCount 1 color 923 key 1 - Init COMPLETE
"""  # noqa: E501 - the same


def test_communicators_that_were_split_are_told_apart(tmp_path: Path) -> None:
    """They have no id: two of two ranks, and of one rank 1 never came."""
    (found,) = told(tmp_path, SPLIT.format(923) + SPLIT_ENDS + SPLIT.format(-144))
    (table,) = (table for table in found.tables if table.title == "Communicators")
    assert sorted(row[1:] for row in table.rows) == [(2, 1), (2, 2)]
    (never,) = found.says
    assert "splitCount 1 color -144 of 2 ranks was never made by 1 rank" in never


def test_a_log_that_several_processes_wrote_over_each_other_accuses_none(tmp_path: Path) -> None:
    torn = NCCL.replace("busId 70 commId 0x49 - Init COMPLETE\n", "bun1:8:18 [1] NCCL INFO P2P\n")
    (found,) = told(tmp_path, torn)
    assert "1 line" in found.says[0]
    assert "torn" in found.says[0]
    assert not any("never made by" in said for said in found.says)


@pytest.mark.parametrize(
    ("line", "way"),
    [
        ("4[d6] -> 0[d6] via NET/AWS Libfabric/2/GDRDMA comm 0x9b nRanks 4096",
         "NET/AWS Libfabric/GDRDMA"),
        ("8[0] -> 0[0] [receive] via NET/IB/0(3)/GDRDMA", "NET/IB/GDRDMA"),
        ("3[3] -> 2[2] via P2P/direct pointer/read", "P2P/direct pointer/read"),
    ],
)  # fmt: skip
def test_the_way_between_ranks_is_told_whole(tmp_path: Path, line: str, way: str) -> None:
    """With the names of plugins that have a space, and without the numbers of devices."""
    (found,) = told(tmp_path, f"n0:7:17 [0] NCCL INFO Channel 00/0 : {line}\n")
    (table,) = found.tables
    assert table.rows == ((way, 1),)


def test_what_a_launcher_puts_before_a_line_is_no_host(tmp_path: Path) -> None:
    """As Open MPI tags lines (`--tag-output`), and the name of a network with a space."""
    line = "[1,0]<stdout>:node-0:21:28 [0] NCCL"
    (found,) = told(tmp_path, f"{line} INFO Using network AWS Libfabric\n{line} WARN No way\n")
    assert found.says[0] == "1 warning, first among them: No way (node-0)."
    assert found.says[1] == "The network is AWS Libfabric."


def test_communication_of_deepspeed_adds_up(tmp_path: Path) -> None:
    (found,) = told(tmp_path, DEEPSPEED)
    (row,) = found.tables[0].rows
    assert row[:3] == ("all_reduce", 2, 4 << 20)
    assert row[3] == pytest.approx(0.02)
    (found,) = told(tmp_path, SUMMARY)
    assert [row[:2] for row in found.tables[0].rows] == [
        ("broadcast", 147),
        ("reduce_scatter_tensor", 40),
    ]
    assert [row[3] for row in found.tables[0].rows] == [
        pytest.approx(8.32824),
        pytest.approx(0.60229),
    ]


def test_a_summary_that_knows_of_more_calls_than_lines_counts(tmp_path: Path) -> None:
    """With the functions that called, as `debug` has it, in both of them."""
    caller = " | [Caller Func: reduce_scatter_fn]"
    lines = DEEPSPEED.replace("comm op: all_reduce", f"comm op: all_reduce{caller}")
    (found,) = told(tmp_path, lines)
    assert [row[:2] for row in found.tables[0].rows] == [(f"all_reduce{caller}", 2)]
    summary = SUMMARY.replace("reduce_scatter_tensor", f"reduce_scatter_tensor{caller}")
    (found,) = told(tmp_path, lines + summary)
    assert [row[:2] for row in found.tables[0].rows] == [
        ("broadcast", 147),
        (f"reduce_scatter_tensor{caller}", 40),
    ]


def test_what_deepspeed_wrote_of_a_known_program_is_told(tmp_path: Path) -> None:
    """DeepSpeed 0.19.8 on two processes with Gloo, `dist.log_summary(show_straggler=True)`.

    They reduced 1 MiB four times, sent 4 KiB to all twice, and met at one barrier.
    """
    (found,) = told(tmp_path, WRITTEN.joinpath("deepspeed.log").read_text())
    took, waited = ({row[0]: row[1:] for row in table.rows} for table in found.tables)
    assert took["all_reduce"] == pytest.approx((4, 4 << 20, 0.45103))
    assert took["broadcast"] == pytest.approx((2, 2 * 4096, 0.00214))
    assert took["barrier"][:2] == (1, 0)
    calls, *seconds = waited["all_reduce"]
    assert calls == 4
    assert seconds == pytest.approx([0.44838, 0.00265])
    assert found.says[0].endswith("the largest part is all_reduce, 451 ms.")


def test_who_waited_for_the_last_rank_stands_beside_the_summary(tmp_path: Path) -> None:
    (found,) = told(tmp_path, SUMMARY + STRAGGLERS)
    took, waited = found.tables
    assert [row[:2] for row in took.rows] == [("broadcast", 147), ("reduce_scatter_tensor", 40)]
    assert [row[:2] for row in waited.rows] == [row[:2] for row in took.rows]
    assert [row[2] for row in waited.rows] == [pytest.approx(8.31924), pytest.approx(0.10229)]
    assert [row[3] for row in waited.rows] == [pytest.approx(0.009), pytest.approx(0.5)]
    assert found.says[1].startswith("For 509 ms the rank that wrote this waited for the last rank")
    assert "reduce_scatter_tensor, 500 ms" in found.says[1]


@pytest.mark.parametrize(
    "text", [SACCT, SACCT.replace("\n", "|\n"), "$ sacct -j 7\n" + IN_COLUMNS + "\n$ "]
)
def test_sacct_is_a_table_in_any_form(tmp_path: Path, text: str) -> None:
    (found,) = told(tmp_path, text)
    (table,) = found.tables
    assert [column.title for column in table.columns] == IN_COLUMNS.split()[:4]
    assert [row[2] for row in table.rows] == [None, 2 << 20, 3 << 20]
    assert [row[3] for row in table.rows] == [None, "1.5K", None]
    assert found.says == (
        "1 of 3 jobs and steps did not complete: 7.1 FAILED.",
        "MaxRSS is 3.00 MiB at most: of 7.1.",
        "ConsumedEnergy is 1.5K J at most: of 7.0.",
    )


def test_what_a_log_tells_stands_before_what_it_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An account of jobs tells of no ranks: a number of them would be made up."""
    path = tmp_path / "sacct.txt"
    path.write_text(SACCT)
    assert main(["analyze", str(path), "--no-report"]) == ExitCode.OK
    printed = " ".join(capsys.readouterr().out.split())
    assert "unknown number of ranks, unknown length, unknown launcher" in printed
    verdict = printed.index("Verdict: The efficiency of this run is not known")
    said = printed.index("Slurm (sacct): 1 of 3 jobs and steps did not complete: 7.1 FAILED.")
    assert verdict < said < printed.index("Not checked")
    assert printed.count("Slurm (sacct): 1 of 3") == 1


@pytest.mark.parametrize("end", ["", "|"])
def test_an_account_without_numbers_of_jobs_counts_how_they_ended(tmp_path: Path, end: str) -> None:
    """Steps cannot be told from their jobs: of processors nothing is said, as both count them."""
    lines = ["Elapsed|TotalCPU|AllocCPUS|MaxRSS|State", *["00:10:00|00:20.5|4||COMPLETED"] * 3]
    lines += ["00:01:00|00:01.5|1|3M|CANCELLED by 1009", "00:01:00|00:01.5|1|2M|FAILED"] * 2
    (found,) = told(tmp_path, "".join(f"{line}{end}\n" for line in lines))
    assert found.says == (
        "4 of 7 jobs and steps did not complete: 2 CANCELLED, 2 FAILED.",
        "MaxRSS is 3.00 MiB at most.",
    )


@pytest.mark.parametrize("name", ["columns", "parsable", "long"])
def test_what_slurm_wrote_of_known_jobs_is_told(tmp_path: Path, name: str) -> None:
    """Slurm 22.05.8 of Debian with slurmdbd and jobacct_gather/linux, on two nodes of one machine.

    Of job 1 one task held 400 MiB and the other 100 MiB, a step exited with 3, one was killed; job
    2 was cancelled and job 3 ran out of its minute. Energy was not measured: Slurm tells 0.
    """
    written = WRITTEN / f"{name}.txt"
    (found,) = told(tmp_path, written.read_text())
    assert found.says[0].startswith(
        "6 of 9 jobs and steps did not complete: 1.1 (fail) FAILED, exit code 3:0; "
        "1.2 (killed) CANCELLED, exit code 0:9; 2 (cancelled) CANCELLED"
    )
    memory = (
        "MaxRSS is 413 MiB at most: of 1.0 (hold), in task 0 on node1; its tasks hold 263 MiB on "
        "average."
    )
    said = [] if name == "columns" else [memory]
    used = "Jobs used 2.69 s of 92.0 s of held processors (2.9 %)."
    assert list(found.says[1:]) == said + ([used] if name == "parsable" else [])
    (table,) = found.tables
    places = {column.title: place for place, column in enumerate(table.columns)}
    rows = {row[places["JobID"]]: row for row in table.rows}
    assert [*rows] == ["1", "1.batch", "1.0", "1.1", "1.2", "2", "2.batch", "3", "3.batch"]
    if said:
        assert rows["1.0"][places["MaxRSS"]] == 422_972 << 10
        assert rows["3"][places["Elapsed"]] == 61


def test_memory_asked_for_a_node_or_a_core_keeps_its_text(tmp_path: Path) -> None:
    """As Slurm wrote it up to 21.08: `n` is for each node, `c` for each core."""
    text = "JobID|State|ReqMem|MaxRSS\n7|COMPLETED|31000Mn|\n7.0|COMPLETED|4Gc|2K\n"
    (found,) = told(tmp_path, text)
    assert [row[2:] for row in found.tables[0].rows] == [("31000Mn", None), ("4Gc", 2048.0)]


def test_other_signs_may_stand_between_the_fields(tmp_path: Path) -> None:
    for sign in ",;\t":
        (found,) = told(tmp_path, SACCT.replace("|", sign))
        assert found.says[1] == "MaxRSS is 3.00 MiB at most: of 7.1."


def test_a_line_of_many_heads_is_read_in_one_pass() -> None:
    line = "JobID " * 200_000 + "!"
    assert records.SIGN.search(line.encode() + b"\n---") is None
    assert not records.Records().take(line)


def test_what_the_autotuner_tried_is_a_table(tmp_path: Path) -> None:
    """Horovod 0.28.1 over MPI, two ranks that reduced 8 tensors of 80 kB a step, 400 steps."""
    text = WRITTEN.joinpath("autotune.csv").read_text()
    (found,) = told(tmp_path, text)
    lines = [line.split(",") for line in text.splitlines()]
    assert [column.title for column in found.tables[0].columns] == lines[0]
    scores = sorted((float(line[-1]) for line in lines[1:]), reverse=True)
    assert [row[-1] for row in found.tables[0].rows] == scores
    assert found.says[0].startswith("Of 14 settings that were tried the best was")
    assert found.says[0].endswith("cycle_time_ms 4.8707, tensor_fusion_threshold 8.67718.")


def test_a_log_of_several_libraries_tells_of_each(tmp_path: Path) -> None:
    found = told(tmp_path, f"start\n{NCCL}loss 3.5\n{DEEPSPEED}")
    assert [one.tool.split()[0] for one in found] == ["NCCL", "DeepSpeed"]


def test_beside_a_recording_it_adds_its_reports(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(NCCL)
    sample = Path(__file__).parents[3] / "sample_traces" / "horovod_straggler"
    assert len(open_traces([sample, tmp_path / "job.log"]).tool_reports) == 1


@pytest.mark.parametrize(
    "text",
    [
        "onednn_verbose,info,oneDNN v3\n",
        "onednn_verbose,exec,cpu,convolution,x,y,z,,a,b,nan\n",
        "onednn_verbose,exec,cpu,convolution,x,y,z,,a,b,-4\n",
        "onednn_verbose,exec," + "," * 60_000 + "\n",
        "a:1:1 [0] NCCL INFO \n",
        "NCCL version 2.21.5\n",
        "Comm. Op Message Size Count\n\x1b[31m\n",
        "JobID|State\n",
        "comm op: all_reduce | time (ms): 1.2.3 | msg size: 1 KB |\n",
        f"comm op: all_reduce | time (ms): 1 | msg size: {'9' * 400} KB |\n",
        f"onednn_verbose,info,cpu,isa:x,nthr:{'9' * 5000}\n",
    ],
)
def test_lines_that_tell_nothing_end_in_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "job.log").write_text(text)
    with pytest.raises(UnreadableInputError) as raised:
        open_trace(tmp_path / "job.log")
    assert all(raised.value.lines())
