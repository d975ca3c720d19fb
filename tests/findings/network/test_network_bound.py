"""Transfer on the critical path: priced by the ideal network, small collectives told apart."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.network_facts import Cause
from perfscope.readers.paraver.reader import open_paraver
from perfscope.replay.edit_parser import parse_edit
from perfscope.schema.enums import Basis, PhaseKind, Status
from perfscope.trace.model import OPERATION_DTYPE, Trace
from perfscope.units import format_seconds
from tests.findings.analyzed import analyze, analyze_trace, without_replay
from tests.findings.exchange_runs import exchanges, fired
from tests.findings.training_runs import Plan, training_run
from tests.replay.test_network_edits import SIZES, recorded
from tests.replay.test_network_edits import Plan as Exchange
from tests.support.trace_builder import TraceBuilder


def judged(size: int, count: int, each_s: float, **environment: str) -> dict[str, Finding]:
    trace = exchanges(size=size, count=count, each_s=each_s, environment=environment)
    return analyze_trace(trace).findings


MAIN = ("main", "/job/train.py", 5)
MPI = ("Allreduce", "/usr/lib/python3/site-packages/mpi4py/comm.py", 9)
EXCHANGE = (MAIN, ("exchange", "/job/train.py", 88), MPI)
REPORT = (MAIN, ("report", "/job/train.py", 30), MPI)


@pytest.mark.parametrize(
    ("identity", "size", "count", "each_s"),
    [("network_bound", 1 << 24, 1, 0.1), ("small_allreduces", 2048, 100, 0.001)],
)
def test_the_function_that_communicates_is_named(
    identity: str, size: int, count: int, each_s: float
) -> None:
    stacks = (*[EXCHANGE] * 4, *[REPORT] * 3, (MPI,))
    trace = exchanges(size=size, count=count, each_s=each_s, stacks=stacks)
    finding = analyze_trace(trace).findings[identity]
    assert finding.status is Status.FAIL
    assert finding.title.endswith(" in exchange() (train.py:88)")
    assert [frame.function for frame in finding.where] == ["exchange", "report"]
    told = {row.label: row.value for row in finding.evidence}
    assert told["Seen in exchange() (train.py:88)"] == "4 of 8 samples"


@pytest.mark.parametrize(
    ("stacks", "where"),
    [
        ((EXCHANGE, EXCHANGE), []),  # too few
        (((MPI,),) * 5, []),  # of a library
        ((*[EXCHANGE] * 4, *[REPORT] * 3, *[(MPI,)] * 2), ["exchange", "report"]),  # not half
    ],
)
def test_a_function_that_hardly_communicates_is_not_named(
    stacks: tuple[tuple[tuple[str, str, int], ...], ...], where: list[str]
) -> None:
    trace = exchanges(size=1 << 24, count=1, each_s=0.1, stacks=stacks)
    finding = analyze_trace(trace).findings["network_bound"]
    assert finding.title.endswith("mainly MPI_Allreduce")
    assert [frame.function for frame in finding.where] == where


def test_transfer_that_is_no_fault_has_no_place() -> None:
    trace = exchanges(size=1 << 20, count=1, each_s=0.002, stacks=[EXCHANGE] * 9)
    finding = analyze_trace(trace).findings["network_bound"]
    assert (finding.status, finding.where) == (Status.PASS, ())


def test_the_published_case_of_a_slow_allreduce() -> None:
    """200 ms of each of 200 steps: an ideal network saves 41.0 s (docs/metrics.md, section 7)."""
    finding = analyze(Plan(allreduce_s=0.2)).findings["network_bound"]
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(40.0, rel=0.03)
    assert finding.gain_basis is Basis.UPPER_BOUND


def test_healthy_is_silent() -> None:
    finding = analyze(Plan()).findings["network_bound"]
    assert finding.status is Status.PASS
    assert not finding.actions


def test_waiting_is_not_transfer() -> None:
    plan = Plan(slow_rank=1, slow_forward_s=0.2)
    assert analyze(plan).findings["network_bound"].status is Status.PASS


def test_many_small_collectives_are_to_be_fused() -> None:
    findings = judged(2048, 100, 0.001)
    finding = findings["small_allreduces"]
    assert finding.status is Status.FAIL
    assert findings["network_bound"].status is Status.INFO
    assert findings["network_bound"].gain_s is None
    # one in each step is left, and the bytes of the others take some time in it
    assert finding.gain_basis is Basis.REPLAY
    assert finding.gain_s == pytest.approx(50 * 99 * 0.001, rel=5e-3)
    assert "Bucket small collectives: 5,000 calls of about 2.00 KiB" in finding.actions[0]
    assert finding.ranks == (0, 1)


def test_one_small_collective_a_step_cannot_be_fused() -> None:
    findings = judged(8, 1, 0.02)
    finding = findings["network_bound"]
    assert findings["small_allreduces"].status is Status.PASS
    assert finding.status is Status.FAIL
    assert not any("small" in action for action in finding.actions)
    assert finding.actions[0].startswith("Make half as many calls: put what several ")


def test_half_as_many_small_collectives_save_half_of_them() -> None:
    """Of 40 ms each, whatever they carry: half the bytes would save next to nothing."""
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * 60)
    for rank, step, begin in builder.steps(60, 0.1):
        size = 8 if step % 2 else 1024
        rank.op("MPI_Allreduce", begin + 0.05, begin + 0.09, seq=step, sent=size, received=size)
    finding = analyze_trace(builder.build()).findings["network_bound"]
    assert finding.actions[0].startswith("Make half as many calls: put what several ")
    assert finding.first is not None
    assert finding.first.seconds == pytest.approx(0.5 * 0.04 * 60, rel=0.05)


@pytest.mark.parametrize(
    ("dtypes", "versions", "narrower"),
    [
        (("float64",), {}, "float32 instead of float64"),
        (("float64",), {"torch": "2.4"}, "bfloat16 instead of float32"),
        (("float32",), {}, ""),
        (("float32", "float64"), {}, "float32 instead of float64"),
    ],
)
def test_a_narrower_type_is_advised_where_the_buffer_may_have_a_wide_one(
    dtypes: tuple[str, ...], versions: dict[str, str], narrower: str
) -> None:
    trace = exchanges(size=1 << 24, count=1, each_s=0.1, stacks=(EXCHANGE,) * 4)
    seen = [{"name": "buffer", "looks": 3, "dtype": one, "elements": [9, 9]} for one in dtypes]
    site = {"place": "\x1f".join(map(str, EXCHANGE[1])), "looks": 3, "operands": seen}
    for rank in trace.ranks:
        rank.metadata = {"operands": {"sites": [site]}, "versions": versions}
    action = analyze_trace(trace).findings["network_bound"].actions[0]
    assert "end half as many values" in action
    assert narrower in action
    assert bool(narrower) is ("half the bytes" in action)


def test_large_ones_are_not() -> None:
    findings = judged(1 << 24, 1, 0.1)
    finding = findings["network_bound"]
    assert findings["small_allreduces"].status is Status.PASS
    assert finding.status is Status.FAIL
    assert not any("small" in action for action in finding.actions)


def test_one_rank_moves_nothing() -> None:
    finding = analyze_trace(training_run(Plan(ranks=1, steps=20))).findings["network_bound"]
    assert finding.status is Status.NOT_APPLICABLE


def test_actions_are_priced_by_their_own_replay() -> None:
    """Small allreduces behind a backward pass: fused, halved and overlapped each by its edit."""
    plan = Exchange(sizes=(*SIZES[:3], *[1 << 10] * 40), backward_s=0.005)
    case = analyze_trace(recorded(plan))
    findings = case.findings["network_bound"], case.findings["small_allreduces"]
    actions = [action for finding in findings for action in finding.actions]
    for text, start in (
        ("bytes:0.5", "Send half as many values"),
        ("overlap", "Exchange gradients"),
    ):
        edit = parse_edit(text, ranks=range(4), phases=()).edit
        prediction = case.replay.predict([edit])
        assert prediction is not None
        action = next(action for action in actions if action.startswith(start))
        assert f"{format_seconds(prediction.gain_s)} of the " in action
    fused = case.replay.predict([parse_edit("fuse:64M", ranks=range(4), phases=()).edit])
    assert fused is not None
    assert findings[1].gain_s == pytest.approx(fused.gain_s)


def messages(*, message_s: float, small: int, steps: int = 50) -> Trace:
    """Four ranks train for 100 ms, send 64 MiB to their neighbor, and then reduce numbers."""
    builder, at = TraceBuilder(4, end_s=1e6), 1.0
    for step in range(steps):
        end = at + 0.1
        for number in range(4):
            rank, is_sender = builder.rank(number), number % 2 == 0
            rank.phase(PhaseKind.TRAIN, at, end, step=step)
            until = end + message_s
            if is_sender:
                rank.op("MPI_Send", end, until, peer=number + 1, tag=0, sent=64 << 20)
            else:
                rank.op("MPI_Recv", end, until, peer=number - 1, tag=0, received=64 << 20)
            for call in range(small):
                begin = end + message_s + call * 1e-4
                rank.op("MPI_Allreduce", begin, begin + 1e-4, sent=8, received=8)
        end += message_s + small * 1e-4
        for number in range(4):
            builder.rank(number).step(step, at, end)
        at = end
    return builder.ended(at, init_s=1.0, after_s=0.1)


def test_large_messages_beside_small_collectives() -> None:
    """All collectives are small, and yet nearly all of the transfer is messages."""
    findings = analyze_trace(messages(message_s=0.04, small=4)).findings
    assert findings["small_allreduces"].status is Status.PASS
    finding = findings["network_bound"]
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(50 * 0.0404, rel=0.01)


def test_collectives_of_parts_of_the_ranks_are_counted_for_each_rank() -> None:
    """One allreduce a step on each of four communicators is one for each rank."""
    builder, at = TraceBuilder(8, end_s=1e6), 1.0
    comms = [builder.communicator((first, first + 1)) for first in range(0, 8, 2)]
    for step in range(50):
        for number in range(8):
            rank = builder.rank(number).phase(PhaseKind.TRAIN, at, at + 0.1, step=step)
            comm = comms[number // 2]
            rank.op("MPI_Allreduce", at + 0.1, at + 0.12, comm=comm, sent=2048, received=2048)
            rank.step(step, at, at + 0.12)
        at += 0.12
        if step % 10 == 9:
            for number in range(8):
                builder.rank(number).op("MPI_Barrier", at, at + 1e-5)
            at += 1e-5
    case = analyze_trace(builder.ended(at, init_s=1.0, after_s=0.0))
    facts = Facts(case.results, case.replay).network
    assert facts.small.calls == 50
    assert facts.small.seconds == pytest.approx(50 * 0.02, rel=1e-3)
    assert facts.cause is Cause.BANDWIDTH


def test_an_allreduce_for_each_parameter_is_to_be_one_for_all() -> None:
    trace = exchanges(size=2048, count=39, each_s=0.001, operation="torch.distributed.all_reduce")
    findings = analyze_trace(trace).findings
    assert fired(findings) == ["small_allreduces"]
    finding = findings["small_allreduces"]
    assert finding.title.startswith("1,950 small collectives take 100.0 % of all transfer time")
    assert finding.actions[0].endswith("into one buffer and send that.")


HOROVOD = "export HOROVOD_AUTOTUNE=1"
DDP = "DistributedDataParallel does that"


@pytest.mark.parametrize(
    ("library", "told", "untold"),
    [("torch", DDP, HOROVOD), ("horovod", HOROVOD, DDP), ("mpi4py", "", "does that")],
)
def test_only_the_framework_of_the_job_is_said_to_bucket(
    library: str, told: str, untold: str
) -> None:
    trace = exchanges(size=2048, count=39, each_s=0.001)
    for rank in trace.ranks:
        rank.metadata = {**rank.metadata, "versions": {library: "1.0"}}
        if library == "horovod":
            row = np.zeros(1, OPERATION_DTYPE)
            row["tid"], row["comm"] = 77, -1
            rank.background = row
    (action, _) = analyze_trace(trace).findings["small_allreduces"].actions
    assert told in action
    assert untold not in action


def test_calls_in_which_a_rank_was_held_up_do_not_hide_small_collectives() -> None:
    """One call in twenty takes as long as all others twice: others have not become larger."""
    builder, at = TraceBuilder(2, end_s=1e6), 1.0
    for step in range(50):
        begin, end = at, at + 0.1
        for call in range(20):
            seconds = 0.04 if call == step % 20 else 0.001
            for number in (0, 1):
                builder.rank(number).op("MPI_Allreduce", end, end + seconds, sent=64, received=64)
            end += seconds
        for number in (0, 1):
            builder.rank(number).phase(PhaseKind.TRAIN, begin, begin + 0.1, step=step)
            builder.rank(number).step(step, begin, end)
        at = end
    case = analyze_trace(builder.ended(at, init_s=1.0, after_s=0.1))
    assert fired(case.findings) == ["small_allreduces"]
    small = Facts(case.results, case.replay).network.small
    assert small.share == pytest.approx(1.0)
    assert small.seconds == pytest.approx(50 * 0.059, rel=0.01)


def test_a_bound_of_small_collectives_has_no_change_and_no_interval() -> None:
    """Calls of one size on several hosts do not tell what a larger one would take."""
    trace = exchanges(size=2048, count=100, each_s=0.001)
    ranks = [replace(rank, host=f"node{rank.number}") for rank in trace.ranks]
    finding = analyze_trace(replace(trace, ranks=ranks)).findings["small_allreduces"]
    assert (finding.gain_basis, finding.edits) == (Basis.UPPER_BOUND, ())
    assert finding.gain_interval_s is None


def test_without_a_replay_waiting_is_no_transfer() -> None:
    found = {f.id: f for f in without_replay(Plan(slow_rank=1, slow_forward_s=0.2))}
    assert found["network_bound"].status is Status.PASS
    found = {f.id: f for f in without_replay(Plan(allreduce_s=0.2))}
    finding = found["network_bound"]
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(40.0, rel=0.03)
    assert finding.recommended is not None
    assert finding.recommended.is_bound
    assert "would take about" in finding.summary


def test_beginning_and_ending_move_no_data() -> None:
    builder = TraceBuilder(2, end_s=20.0)
    for number in (0, 1):
        enter_s = 1.0 if number == 0 else 14.0
        builder.rank(number).init(15.0, enter_s=enter_s).finalize(15.0)
    assert analyze_trace(builder.build()).findings["network_bound"].status is Status.PASS


def test_calls_that_move_no_data_are_not_asked_to_send_less(tmp_path: Path) -> None:
    """Two ranks that spend half of their time in a barrier which both enter at once."""
    lines = ["#Paraver (01/02/2024 at 10:00):1000000000_ns:1(4):1:2(1:1,1:1),1", "c:1:1:2:1:2"]
    for begin in range(0, 1_000_000_000, 20_000_000):
        for task in (1, 2):
            where = f"2:1:1:{task}:1"
            lines.append(f"{where}:{begin + 10_000_000}:50000002:8:50100004:1")
            lines.append(f"{where}:{begin + 20_000_000}:50000002:0")
    path = tmp_path / "barriers.prv"
    path.write_text("\n".join([*lines, ""]))
    finding = analyze_trace(open_paraver(path)).findings["network_bound"]
    assert finding.status is Status.FAIL
    assert "Calls that move no data are slowing the run, mainly MPI_Barrier" in finding.title
    assert finding.actions[0].startswith("Call MPI_Barrier only where")
    assert not any("bytes" in action for action in finding.actions)


@pytest.mark.parametrize("of_type", ["mpi4py.MPI.Comm", ""])
@pytest.mark.parametrize(("call", "is_pickled"), [("allgather", True), ("Allgatherv", False)])
def test_collectives_of_pickled_objects_are_told_as_such(
    call: str, of_type: str, *, is_pickled: bool
) -> None:
    """Two ranks gather 3 MiB each in 40 ms of each 140 ms."""
    builder, leaf = TraceBuilder(2, end_s=1e6), (f"{of_type}.{call}", "<built-in>", 0)
    for number in range(2):
        rank, at = builder.rank(number), 1.0
        for step in range(40):
            begin, end = at + 0.1, at + 0.14
            rank.step(step, at, end).stack(at + 0.05, [("sweep", "/job/glass.py", 5)])
            rank.op("MPI_Allgatherv", begin, end, comm=0, seq=step, sent=3 << 20, received=6 << 20)
            rank.stack(begin + 0.02, [("exchange", "/job/glass.py", 50), leaf])
            at = end
    finding = analyze_trace(builder.ended(at, init_s=1.0, after_s=0.1)).findings["network_bound"]
    assert finding.status.is_fault
    assert ("pickled objects" in finding.actions[0]) is is_pickled
    # before anything is said of fewer bytes, of which nobody knows what they save then
    halving = [place for place, action in enumerate(finding.actions) if "half" in action]
    assert halving[:1] == [int(is_pickled)]
    assert (finding.first is None) is is_pickled


def test_what_makes_bytes_of_objects_is_a_part_of_what_sending_arrays_saves() -> None:
    """Of each 140 ms, 40 ms are transfer and 50 ms in the same line's unpickling of arrays."""
    builder, line = TraceBuilder(2, end_s=1e6), ("exchange", "/job/glass.py", 50)
    numeric = "/usr/lib/python3/site-packages/numpy/_core/numeric.py"
    leaves = {
        "sent": ("mpi4py.MPI.Comm.allgather", "<built-in>", 0),
        "taken": ("_frombuffer", numeric, 9),
    }
    for number in range(2):
        rank, at = builder.rank(number), 1.0
        for step in range(60):
            begin, end = at + 0.05, at + 0.09
            rank.step(step, at, end + 0.05).stack(at + 0.025, [("sweep", "/job/glass.py", 5)])
            rank.op("MPI_Allgatherv", begin, end, comm=0, seq=step, sent=3 << 20, received=6 << 20)
            rank.stack(begin + 0.02, [line, leaves["sent"]])
            rank.stack(end + 0.025, [line, leaves["taken"]])
            at = end + 0.05
    findings = analyze_trace(builder.ended(at, init_s=1.0, after_s=0.1)).findings
    assert fired(findings) == ["network_bound"]
    gain = findings["network_bound"].gain
    assert gain is not None
    assert gain.seconds == pytest.approx(60 * 0.09, rel=0.1)
    assert gain.counts.endswith("of serializing what is sent")
