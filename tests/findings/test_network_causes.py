"""Transfer has one cause: a small batch, exchanges that cannot hide, Horovod itself."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from perfscope.attribution.exposed import with_exposed_communication
from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.network_facts import Cause, is_worth
from perfscope.schema.enums import Basis, PhaseKind, Status
from perfscope.trace.model import PEER_PROC_NULL, PHASE_DTYPE, STACK_DTYPE, Frame, Trace
from perfscope.trace.operations import HOROVOD_EXPOSED, code_of
from tests.attribution.test_exposed import STEPS, job
from tests.findings.analyzed import analyze, analyze_trace
from tests.findings.exchange_runs import CAUSES, exchanges, fired
from tests.findings.network.test_network_bound import messages
from tests.findings.training_runs import Plan
from tests.support.trace_builder import TraceBuilder, to_ns

MIB = 1 << 20
ALLREDUCE = code_of("MPI_Allreduce")


def judged(trace: Trace) -> dict[str, Finding]:
    return analyze_trace(trace).findings


@pytest.mark.parametrize("for_nobody", [0, 20])
def test_many_small_messages_are_to_be_one_and_not_half_as_large(for_nobody: int) -> None:
    """Two ranks exchange 20 strips of 32 KiB a step, as mpi4py does with objects.

    Ranks at a border send as many to MPI_PROC_NULL, which are no messages.
    """
    builder, at = TraceBuilder(2, end_s=1e6), 1.0
    for step in range(50):
        end = at + 0.2
        for number in range(2):
            rank = builder.rank(number).set(metadata={"frameworks": {"mpi4py": {}}})
            for strip in range(20):
                begin = at + 0.1 + 0.005 * strip
                rank.stack(begin + 0.002, [("swap", "/job/train.py", 9)])
                rank.op("MPI_Isend", begin, begin + 1e-4, peer=1 - number, tag=strip, sent=32768)
                rank.op("MPI_Mprobe", begin + 1e-4, begin + 2e-4, peer=1 - number, tag=strip)
                rank.op(
                    "MPI_Mrecv", begin + 2e-4, begin + 0.005, peer=1 - number, tag=strip,
                    received=32768,
                )  # fmt: skip
            for strip in range(for_nobody):
                begin = at + 0.05 + 1e-4 * strip
                rank.op("MPI_Isend", begin, begin + 1e-6, peer=PEER_PROC_NULL, tag=strip, sent=8)
            rank.step(step, at, end)
        at = end
    finding = judged(builder.ended(at, init_s=1.0, after_s=0.1))["network_bound"]
    assert finding.status.is_fault
    assert finding.first is None
    assert finding.title == (
        "2,000 messages of about 32.0 KiB are slowing the run, mainly in swap() (train.py:9)"
    )
    assert "goes to the same rank" in finding.actions[0]
    assert "capital letter" in finding.actions[0]


def test_small_messages_that_wait_for_an_answer_may_need_it() -> None:
    """As sums of two numbers in a solver, each of which needs the one before."""
    builder, at = TraceBuilder(2, end_s=1e6), 1.0
    for step in range(50):
        for number in range(2):
            rank = builder.rank(number).step(step, at, at + 0.2)
            for turn in range(20):
                begin, other = at + 0.1 + 0.005 * turn, 1 - number
                rank.stack(begin + 0.002, [("dot", "/job/heat.py", 9)])
                rank.op(
                    "MPI_Sendrecv", begin, begin + 0.004, peer=other, tag=3, seq=other, request=4,
                    sent=8, received=8,
                )  # fmt: skip
        at += 0.2
    finding = judged(builder.ended(at, init_s=1.0, after_s=0.1))["network_bound"]
    assert finding.status.is_fault
    assert "none of them needs what another one brings" in finding.actions[0]
    assert "one after the other as one buffer" not in finding.actions[0]


def test_horovod_that_agrees_longer_than_it_reduces() -> None:
    """When the slowest rank is ready it takes 70 ms to begin, and 30 ms to reduce."""
    findings = judged(moved(job(), 0.02))
    assert fired(findings) == ["horovod_control"]
    finding = findings["horovod_control"]
    assert finding.gain_s == pytest.approx(STEPS * 0.07, rel=0.01)
    assert finding.gain_basis is Basis.UPPER_BOUND
    told = {row.label: row.value for row in finding.evidence}
    assert told["Of it in calls that carry tensors"] == pytest.approx(STEPS * 0.03, rel=1e-6)
    assert "HOROVOD_CYCLE_TIME" in finding.actions[0]
    assert finding.edits == ()  # no change of the replay gives as much


def test_a_cycle_that_the_program_sets_is_named_from_the_end_of_the_backward_pass() -> None:
    """Horovod begins 70 ms after the last backward pass ended, and 10 after it saw the tensors.

    A cycle of 2 ms is not what they wait for.
    """
    ranks = []
    for rank in (run := moved(job(), 0.02)).ranks:
        ready = rank.readiness["t0"][rank.readiness["arrived"] > 0]
        rows = np.zeros(len(ready), PHASE_DTYPE)
        rows["t1"], rows["tid"], rows["kind"] = ready, rank.main_tid, PhaseKind.BACKWARD
        rows["t0"], rows["name"] = rows["t1"] - to_ns(0.04), len(run.names)
        told = {"frameworks": {"horovod": {"settings": {"HOROVOD_CYCLE_TIME": "40"}}}}
        later = rank.readiness.copy()
        for name in ("t0", "t1"):
            later[name] += to_ns(0.06)
        phases = np.concatenate([rank.phases, rows])
        ranks.append(replace(rank, phases=phases, readiness=later, metadata=told))
    run = replace(run, ranks=ranks, names=[*run.names, "backward"])
    untold = judged(run)["horovod_control"].gain_s or 0.0
    waits = [Frame("main", "/job/train.py", 8), Frame("horovod.torch.wait", "<built-in>", 0)]
    stacks = np.array([(int(ready[0]) + to_ns(0.03), rank.main_tid, 0)], STACK_DTYPE)
    ranks = [replace(rank, stacks=stacks) for rank in ranks]
    finding = judged(replace(run, ranks=ranks, frames=waits, stacks=[(0, 1)]))["horovod_control"]
    assert finding.gain_s == pytest.approx(0.07 * STEPS, rel=1e-6)
    assert untold < 0.07 * STEPS
    assert "HOROVOD_CYCLE_TIME is 40 ms" in finding.title
    assert finding.actions[0].startswith("Set HOROVOD_CYCLE_TIME=1, ")
    assert "the program sets it" in finding.actions[0]
    short = {"frameworks": {"horovod": {"settings": {"HOROVOD_CYCLE_TIME": "2"}}}}
    ranks = [replace(rank, metadata=short) for rank in ranks]
    other = judged(replace(run, ranks=ranks, frames=waits, stacks=[(0, 1)]))["horovod_control"]
    assert other.title.startswith("Horovod spends ")
    assert other.actions[0].startswith("Try other cycle times (it is 2)")


def test_a_step_that_waits_for_horovod_again_and_again_is_to_wait_less_often() -> None:
    """The last 4 ms of the wait in each step are four more, as of calls of the program."""
    run, each_ns = with_exposed_communication(moved(job(), 0.02)), to_ns(0.001)
    ranks = []
    for rank in run.ranks:
        whole = rank.operations["op"] == HOROVOD_EXPOSED
        parts = np.repeat(rank.operations[whole], 5)
        left = np.tile(np.arange(4, -1, -1), np.count_nonzero(whole))  # behind each part
        ends = parts["t1"].copy()
        parts["t0"] = np.where(left == 4, parts["t0"], ends - (left + 1) * each_ns)
        parts["t1"] = ends - left * each_ns
        parts["seq"] = np.arange(len(parts))
        rows = np.concatenate([rank.operations[~whole], parts])
        ranks.append(replace(rank, operations=rows[np.argsort(rows["t0"], kind="stable")]))
    finding = judged(replace(run, ranks=ranks))["horovod_control"]
    assert finding.title.startswith("Each step waits 5 times for Horovod, ")
    assert "hvd.grouped_allreduce" in finding.actions[0]
    assert all("FUSION" not in action for action in finding.actions)


def test_a_cause_that_is_worth_little_names_not_the_whole() -> None:
    """Agreeing takes 0.15 s in all: more is lost in moving, and that is to be warned of."""
    found = analyze_trace(moved(job(), 0.02))
    facts = Facts(found.results, found.replay).network
    assert is_worth(facts, Cause.CONTROL)
    assert facts.status() is Status.WARN
    assert not is_worth(replace(facts, control_s=0.15), Cause.CONTROL)


def moved(trace: Trace, later_s: float) -> Trace:
    """The same run with reductions that begin so much later; they end when they did."""
    ranks = []
    for rank in trace.ranks:
        rows = rank.background.copy()
        rows["t0"][rows["op"] == ALLREDUCE] += to_ns(later_s)
        ranks.append(replace(rank, background=np.sort(rows, order="t0")))
    return replace(trace, ranks=ranks)


def test_horovod_that_cannot_hide_its_reductions() -> None:
    """It reduces as soon as the slowest rank is ready, for 100 ms."""
    findings = judged(moved(job(), -0.05))
    assert fired(findings) == ["exposed_exchange"]
    finding = findings["exposed_exchange"]
    assert finding.gain_s == pytest.approx(STEPS * 0.1, rel=0.01)
    assert "Horovod cannot hide" in finding.title
    assert "Halve the bytes" in finding.actions[0]
    assert "HOROVOD_FUSION_THRESHOLD" in finding.actions[1]
    assert findings["horovod_control"].status is Status.PASS


def seen(trace: Trace, *times_s: float) -> Trace:
    """The run with stack samples of the main threads."""
    frames = [Frame("train_step", "/job/train.py", 81), Frame("step", "/site-packages/h.py", 7)]
    ranks = []
    for rank in trace.ranks:
        rows = np.array([(to_ns(at_s), rank.main_tid, 0) for at_s in times_s], STACK_DTYPE)
        ranks.append(replace(rank, stacks=rows))
    return replace(trace, ranks=ranks, frames=frames, stacks=[(0, 1)])


@pytest.mark.parametrize(
    ("later_s", "identity"), [(0.02, "horovod_control"), (-0.05, "exposed_exchange")]
)
def test_where_the_program_waits_for_horovod_is_told(later_s: float, identity: str) -> None:
    """Both ranks are ready 0.5 s after each second and go on at 0.6 s."""
    findings = judged(seen(moved(job(), later_s), 1.55, 2.55))
    finding = findings[identity]
    assert "waits for it in train_step() (train.py:81)." in finding.summary
    assert [frame.function for frame in finding.where] == ["train_step"]
    assert "train_step" not in findings["network_bound"].title  # Horovod moves the data
    assert findings["network_bound"].where == finding.where


def test_an_exchange_beside_accelerators_is_not_called_exposed() -> None:
    """There the finding about it does not apply: what it is called must be told all the same."""
    case = analyze_trace(moved(job(), -0.05))
    assert Facts(case.results, case.replay).network.cause is Cause.EXCHANGE
    measured = replace(case.results, devices=cast(Any, object()))
    assert Facts(measured, case.replay).network.cause is Cause.BANDWIDTH


def test_little_agreeing_beside_much_transfer_is_not_the_cause() -> None:
    """Horovod's agreeing is most of what it exposes, and 70 ms of 470 in each step."""
    case = analyze_trace(moved(job(), 0.02))
    assert Facts(case.results, case.replay).network.cause is Cause.CONTROL
    found = case.results.communication
    more = tuple(seconds + STEPS * 0.4 for seconds in found.transfer_s_by_rank)
    rows = tuple(
        replace(row, transfer_s=(row.transfer_s or 0.0) + STEPS * 0.8) for row in found.operations
    )
    busy = replace(found, transfer_s_by_rank=more, operations=rows)
    facts = Facts(replace(case.results, communication=busy), case.replay).network
    assert facts.cause is not Cause.CONTROL


def test_an_exchange_that_ddp_cannot_hide() -> None:
    """100 ms of work and 20 ms of exchange that is left when the last gradient is ready."""
    exchange = "torch.distributed.gradient_exchange"
    findings = judged(exchanges(size=0, count=1, each_s=0.02, operation=exchange))
    assert fired(findings) == ["exposed_exchange"]
    finding = findings["exposed_exchange"]
    assert finding.gain_s == pytest.approx(50 * 0.02, rel=1e-6)
    assert "DistributedDataParallel cannot hide" in finding.title
    assert "Halve the bytes" in finding.actions[0]
    assert finding.recommended is not None
    assert finding.recommended.is_bound
    assert finding.recommended.seconds == pytest.approx(50 * 0.01, rel=0.01)
    assert finding.where == ()  # no stack was sampled
    told = {row.label: row.value for row in finding.evidence}
    assert told["Exposed in each exchange, mean"] == pytest.approx(0.02)
    assert "horovod_control" not in findings


def test_without_readiness_neither_is_known() -> None:
    findings = judged(job(has_bits=False))
    for name in ("horovod_control", "exposed_exchange"):
        assert findings[name].status is Status.NOT_MEASURED
        assert "response cache" in findings[name].summary


def test_a_cache_that_is_off_is_named() -> None:
    trace = job(has_bits=False)
    off = {"environment": {"HOROVOD_CACHE_CAPACITY": "0"}}
    trace = replace(trace, ranks=[replace(rank, metadata=off) for rank in trace.ranks])
    finding = judged(trace)["horovod_control"]
    assert finding.actions == ("Start with `unset HOROVOD_CACHE_CAPACITY`.",)


def test_frameworks_that_were_not_used_are_not_listed() -> None:
    findings = analyze(Plan(steps=20)).findings
    assert "horovod_control" not in findings
    assert "exposed_exchange" not in findings


@pytest.mark.parametrize(
    "plan",
    [
        Plan(steps=60),
        Plan(steps=60, ranks=2, jitter=0.1),
        Plan(steps=3),
        Plan(steps=60, slow_rank=1, slow_forward_s=0.1),
        Plan(steps=60, unlucky_s=0.1),
        Plan(steps=60, allreduce_s=1e-5),
    ],
    ids=str,
)
def test_silent_where_transfer_does_not_matter(plan: Plan) -> None:
    assert fired(analyze(plan).findings) == []


def test_one_rank() -> None:
    findings = analyze(Plan(ranks=1, steps=20)).findings
    present = [findings[name].status for name in CAUSES if name in findings]
    assert set(present) == {Status.NOT_APPLICABLE}


@pytest.mark.parametrize("each_s", [0.003, 0.01, 0.04, 0.2])
@pytest.mark.parametrize(("size", "count"), [(8, 1), (2048, 10), (MIB, 1), (64 * MIB, 1)])
@pytest.mark.parametrize("samples", [0, 32])
def test_never_two_for_the_same_time(size: int, count: int, each_s: float, samples: int) -> None:
    findings = judged(exchanges(size=size, count=count, each_s=each_s, samples=samples, steps=20))
    assert len(fired(findings)) <= 1


def crowded(trace: Trace, *, outliers: int, queued: float = 0.2, runnable: int = 4) -> Trace:
    """The run on CPUs that others use, too; some allreduces take 20 times as long for it.

    Each rank waits for CPUs for the given share of 8 s and has so many runnable threads on 2 CPUs.
    """
    ranks = []
    for rank in trace.ranks:
        rows = rank.operations.copy()
        places = np.flatnonzero(rows["op"] == ALLREDUCE)[:outliers]
        for place in places.tolist():
            more = 19 * (int(rows["t1"][place]) - int(rows["t0"][place]))
            rows["t1"][place] += more
            rows["t0"][place + 1 :] += more
            rows["t1"][place + 1 :] += more
        samples = np.zeros(40, rank.process_samples.dtype)
        samples["t"] = np.arange(40) * to_ns(0.2) + to_ns(1.0)
        samples["cpu_ns"] = samples["t"]
        samples["queue_delay_ns"] = samples["t"] * queued
        samples["threads"], samples["runnable"] = 4, runnable
        ranks.append(
            replace(
                rank,
                operations=rows,
                process_samples=samples,
                cpus_allowed="0-1",
                cpu_count_allowed=2,
                finalize_enter_ns=int(rows["t0"][-1]),
                end_ns=int(rows["t1"][-1]),
            )
        )
    return replace(trace, ranks=ranks)


def test_a_call_in_which_a_rank_loses_its_cpu_is_no_matter_of_the_network() -> None:
    """20 allreduces of 50 take 40 ms in place of 2: 14 % of the run; the usual ones take 2 %."""
    few = exchanges(size=MIB, count=1, each_s=0.002)
    assert judged(few)["network_bound"].status is Status.PASS
    assert judged(crowded(few, outliers=20))["network_bound"].status is Status.PASS
    for queued, status in ((0.1, Status.PASS), (0.01, Status.FAIL)):
        run = crowded(few, outliers=20, queued=queued, runnable=1)
        assert judged(run)["network_bound"].status is status


def test_messages_count_as_they_were_where_ranks_wait_for_cpus() -> None:
    """The usual call of each kind is known of collectives only."""
    run = messages(message_s=0.04, small=4)
    for queued, status in ((0.0, Status.FAIL), (0.1, Status.WARN)):
        findings = judged(crowded(run, outliers=0, queued=queued, runnable=1))
        assert findings["network_bound"].status is status


def test_what_usual_calls_take_is_the_network_also_on_crowded_cpus() -> None:
    """2.5 s of 7.5 s are transfer; the ranks wait for CPUs for 1.6 s, or for 8 s.

    Where one call in 25 takes 1 ms, the others may be long for want of CPUs.
    """
    trace = exchanges(size=MIB, count=1, each_s=0.05)
    for queued in (0.2, 1.0):
        finding = judged(crowded(trace, outliers=0, queued=queued))["network_bound"]
        assert finding.status is Status.WARN
        assert "wait for CPUs" in finding.summary
    for rank in trace.ranks:
        calls = np.flatnonzero(rank.operations["op"] == ALLREDUCE)[::25]
        rank.operations["t1"][calls] = rank.operations["t0"][calls] + to_ns(0.001)
    finding = judged(crowded(trace, outliers=0, queued=1.0))["network_bound"]
    assert (finding.status, finding.gain_s, finding.edits) == (Status.INFO, None, ())


@pytest.mark.parametrize("kind", ["half its own", "all of others", "fewer CPUs than ranks"])
def test_what_is_most_of_the_run_without_its_waiting_for_cpus_is_told_however_crowded(
    kind: str,
) -> None:
    """Half of all time ranks wait for CPUs: half of it for threads of the job, or none of it.

    Of what processes outside the job explain, nothing is known that fewer bytes would save; nor
    where two ranks share one CPU, as the one that runs waits for the other one.
    """
    is_own, is_told = kind != "all of others", kind == "half its own"
    trace = crowded(exchanges(size=MIB, count=1, each_s=0.2), outliers=0, queued=1.5)
    for rank in trace.ranks if is_own else ():
        rank.process_samples["cpu_ns"] += rank.process_samples["cpu_ns"] // 2
    for rank in trace.ranks:  # so that the others may take long for want of CPUs
        calls = np.flatnonzero(rank.operations["op"] == ALLREDUCE)[::25]
        rank.operations["t1"][calls] = rank.operations["t0"][calls] + to_ns(0.001)
    assert judged(trace)["network_bound"].status is Status.INFO
    for rank in trace.ranks:
        samples = np.zeros(300, rank.main_samples.dtype)
        samples["t"] = np.arange(300) * to_ns(0.1)
        samples["queue_delay_ns"] = samples["cpu_ns"] = samples["t"] // 2
        rank.main_samples = samples
    for rank in trace.ranks if kind == "fewer CPUs than ranks" else ():
        rank.cpus_allowed, rank.cpu_count_allowed = "0", 1
    found = judged(trace)["network_bound"]
    assert found.status is (Status.WARN if is_told else Status.INFO)
    assert (found.gain is None) is not is_told
