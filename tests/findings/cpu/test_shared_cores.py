"""What ranks that take turns on a CPU lose by it, in closed form."""

from dataclasses import replace

import numpy as np
import pytest

from perfscope.document.others import NOT_COUNTED, beside_others, host_first, why_so_much
from perfscope.document.quality import quality
from perfscope.document.verdict import verdict
from perfscope.findings.core.finding import Finding, Gain
from perfscope.findings.core.gain import saved
from perfscope.findings.facts.facts import Facts
from perfscope.judging import MAJOR
from perfscope.losses.account import loss_account
from perfscope.metrics.results import Options
from perfscope.savings import Wholes
from perfscope.schema.enums import Basis, Status
from perfscope.trace.model import Trace
from perfscope.units import format_seconds, format_share
from tests.findings.analyzed import Analyzed, analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 40


def judged(
    mask: tuple[str, str], *, delay: float, cpus: int = 2, throttled: float = 0.0, runnable: int = 1
) -> dict[str, Finding]:
    trace = built(mask, delay=delay, throttled=throttled, runnable=runnable)
    trace.environment = {"topology": {"node0": {"cpus": cpus}}}
    return analyze_trace(trace).findings


def built(
    mask: tuple[str, str], *, delay: float, throttled: float = 0.0, runnable: int = 1
) -> Trace:
    """Two ranks that work for 0.4 s and exchange for 0.1 s, and wait for a CPU meanwhile."""
    builder = TraceBuilder(2, end_s=1.0 + 0.5 * STEPS + 1.0)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.5 * STEPS)
        rank.set(cpus_allowed=mask[number], cpu_count_allowed=1)
        for step, begin in rank.steps(STEPS, 0.5):
            rank.op("MPI_Allreduce", begin + 0.4, begin + 0.5, comm=0, seq=step)
        for tick in range(5 * STEPS + 20):
            at = tick / 10
            cpu_s, queue_delay_s = at * (1 - delay), at * delay
            rank.process_sample(at, cpu_s=cpu_s, queue_delay_s=queue_delay_s, runnable=runnable)
            rank.main_sample(
                at, cpu_s=cpu_s, queue_delay_s=queue_delay_s, throttled_s=at * throttled
            )
    return builder.set(environment={"topology": {"node0": {"cpus": 2}}}).build()


def test_the_gain_is_the_run_without_the_waiting() -> None:
    finding = judged(("0", "0"), delay=0.5)["shared_cores"]
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(0.5 * 0.5 * STEPS, rel=0.02)
    assert finding.gain_basis is Basis.REPLAY
    assert finding.ranks == (0, 1)


@pytest.mark.parametrize(("runnable", "status"), [(1, Status.INFO), (3, Status.FAIL)])
def test_one_cause_is_worth_its_seconds_once(runnable: int, status: Status) -> None:
    """Where each rank wants to run one thread, the binding alone crowds the CPU."""
    found = judged(("0", "0"), delay=0.5, runnable=runnable)
    assert found["threads_over_cores"].gain_s is None
    assert found["threads_over_cores"].status is status
    assert "threads_over_cores" in found["shared_cores"].overlaps


def test_more_ranks_than_cpus_are_told_with_the_same_seconds() -> None:
    found = judged(("0", "0"), delay=0.5, cpus=1)
    assert found["shared_cores"].status is Status.PASS
    assert found["threads_over_cores"].gain_s == pytest.approx(0.25 * STEPS, rel=0.02)


def test_what_others_take_is_told() -> None:
    found = judged(("0", "1"), delay=0.5)
    assert found["shared_cores"].status is Status.PASS
    assert found["threads_over_cores"].status is Status.PASS  # they are told of once
    assert found["busy_host"].status is Status.INFO
    assert "less." in found["busy_host"].summary
    assert found["threads_over_cores"].gain_s is None


def on_a_busy_host(options: Options | None = None) -> Analyzed:
    """Each rank has a CPU of its own, and half of it."""
    trace = built(("0", "1"), delay=0.5)
    for rank in trace.ranks:
        rows = np.zeros(len(rank.main_samples), rank.cpu_samples.dtype)
        rows["t"], rows["cpus"] = rank.main_samples["t"], 1
        rows["used_ns"] = rank.main_samples["cpu_ns"]
        rows["busy_ns"] = rows["used_ns"] + rank.main_samples["queue_delay_ns"]
        rank.cpu_samples = rows
    return analyze_trace(trace, options)


def test_a_check_and_the_verdict_tell_how_much_others_used() -> None:
    found = on_a_busy_host()
    (row,) = (one for one in quality(found.results, found.replay) if one.id == "other_work")
    assert (row.status, row.title) == (
        Status.WARN,
        "Processes outside the job used 1.0 of the 2 CPUs",
    )
    facts = Facts(found.results, found.replay)
    told = verdict(facts, tuple(found.findings.values()), ())
    used = "Processes outside the job used 1.0 of the 2 CPUs and made this "
    assert told.sentence.startswith(used)
    assert told.sentence.startswith(f"{told.host} Apart from the busy host, ")
    assert " longer, as a rank without a CPU " in told.host
    assert NOT_COUNTED not in told.host  # no saving is told
    assert told.action.startswith("Record again while nothing else uses the host's CPUs")
    losses = loss_account(found.results, found.replay)
    fine = Finding(id="fine", status=Status.PASS, title="Fine", summary="")
    of_job = verdict(facts, [fine], (), losses).sentence.split("from the busy host, ")[1]
    assert of_job.startswith(
        "no problem was found in the program; the host was too busy to rule one out."
    )
    assert "Efficiency is low" not in of_job
    ends = found.results.run_s - found.results.window_s
    beside = f" Apart from {format_seconds(ends)} of start-up and end, 1 kind of problem was "
    assert (beside in of_job) is (ends >= MAJOR * found.results.run_s)
    assert "1 kind of problem was checked for." in of_job
    assert "used outside the job" not in of_job
    assert "used 50.0 % of the one CPU" in found.findings["busy_host"].summary


def test_of_a_window_that_was_chosen_nobody_knows_what_the_run_is_without_others() -> None:
    found = on_a_busy_host(Options(focus="step:2-9"))
    facts = Facts(found.results, found.replay)
    told = verdict(facts, tuple(found.findings.values()), ())
    assert (told.host, told.others_s) == ("", None)
    assert "the host was too busy to rule one out" in told.sentence
    gain = replace(saved(found.results, 2.0, basis=Basis.REPLAY), under_load_s=3.0)
    own = Finding(id="own", status=Status.FAIL, title="Its own", summary="", gain=gain)
    sentence = verdict(facts, (*found.findings.values(), own), ()).sentence
    share = format_share(3.0 / found.results.run_s)
    run = format_seconds(found.results.run_s)
    assert f"about 3.00 s of the {run} run ({share}), likely between 2.70 s and 5.40 s." in sentence


def test_what_others_cost_comes_last_also_where_a_fix_saves_more() -> None:
    found = on_a_busy_host()
    facts = Facts(found.results, found.replay)
    assert facts.other_processes_gain is not None
    gain_of_others = facts.other_processes_gain.seconds
    for seconds in (2.0 * gain_of_others, 0.5 * gain_of_others):
        gain = saved(found.results, seconds, basis=Basis.REPLAY)
        own = Finding(id="own", status=Status.FAIL, title="Its own", summary="", gain=gain)
        told = verdict(facts, (*found.findings.values(), own), ())
        assert told.sentence.count("outside the job") == 1
        assert told.sentence.startswith("Its own. ")
        assert told.sentence.endswith(told.host)
        run = format_seconds(found.results.run_s)
        used = f"Processes outside the job used 1.0 of the 2 CPUs and made this {run} run "
        assert told.host.startswith(used)
        assert NOT_COUNTED not in told.host  # the saving is of this run
        assert told.others_s == gain_of_others
        assert "shorter" not in told.sentence
        assert "Apart from" not in told.sentence


def test_what_others_cost_is_told_where_nobody_knows_how_many_cpus_they_used() -> None:
    host = host_first((), Gain(6.0, 0.3), Wholes(20.0, 20.0))
    assert beside_others("Nothing.", (), host) == (
        "Processes outside the job used its CPUs and made this 20.0 s run about 6.00 s longer. "
        "Apart from the busy host, nothing."
    )
    assert beside_others("Nothing.", (), "") == "Nothing."


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ((12.0, 15.0), "5.00 s to 8.00 s"),
        ((14.0, 14.001), "about 6.00 s"),
        ((15.0, 16.0), "about 6.00 s"),
        ((12.0, 20.0), "about 6.00 s"),
        (None, "about 6.00 s"),
    ],
)
def test_between_which_ends_the_cost_of_other_load_lies_is_told(
    ends: tuple[float, float] | None, told: str
) -> None:
    host = host_first((), Gain(6.0, 0.3), Wholes(20.0, 20.0), ends=ends)
    assert host.endswith(f" made this 20.0 s run {told} longer.")


@pytest.mark.parametrize(
    ("gain", "calls", "is_told"),
    [
        (Gain(6.0, 0.3, own_s=2.0), 40, True),
        (Gain(6.0, 0.3, own_s=6.0), 40, False),
        (Gain(6.0, 0.3), 40, False),
        (Gain(6.0, 0.3, own_s=2.0), 1, False),
    ],
)
def test_why_others_cost_so_much_is_told_where_ranks_wait_for_each_other(
    gain: Gain, calls: int, *, is_told: bool
) -> None:
    """2.00 s that a rank had no CPU cost three times as much, as the other one waits as well."""
    builder = TraceBuilder(2, end_s=20.0)
    for number in (0, 1):
        rank = builder.rank(number).init(0.5).finalize(19.5)
        for call in range(calls):
            rank.op("MPI_Allreduce", 1.0 + call / 10, 1.05 + call / 10)
            rank.op("MPI_Send", 1.06 + call / 10, 1.08 + call / 10, peer=1 - number)
    results = analyze_trace(builder.build()).results
    for one in results.trace.ranks:  # of a long run nobody knows by then what each row stands for
        one.operations = one.operations[["t0", "t1", "op", "tid", "flags"]]
    told = why_so_much(results, gain)
    assert told == (", as a rank without a CPU holds up the others" if is_told else "")
    host = host_first((), gain, Wholes(20.0, 20.0), why=told)
    assert host.endswith(f"made this 20.0 s run about 6.00 s longer{told}.")


def test_cpus_that_a_limit_withholds_are_told() -> None:
    found = judged(("0", "1"), delay=0.5, throttled=0.4)["threads_over_cores"]
    assert found.title.startswith(
        "The CPU limit of their control group withholds CPUs on host node0"
    )


def test_ranks_that_hardly_wait_are_silent() -> None:
    found = judged(("0", "1"), delay=0.001)
    names = ("shared_cores", "threads_over_cores", "no_free_core")
    assert not [name for name in names if found[name].status.is_fault]
