"""Page faults and busy CPUs that come of starting processes in each step are told with that."""

import pytest

from perfscope.attribution.stack_rules import BUILT_IN
from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 80
STARTING_S, WORK_S = 0.05, 0.1
STEP_S = STARTING_S + WORK_S
KERNEL, FAULTS_PER_S = 0.3, 20_000
MAIN = ("main", "/job/train.py", 40)
FEATURIZE = ("featurize", "/job/train.py", 12)


def found(*, forks: int, rss_bytes: int = 1 << 28, queued: float = 0.0) -> dict[str, Finding]:
    """Two ranks that start a process in each step and work then; each has one CPU, and waits."""
    builder = TraceBuilder(2, end_s=2.0 + STEP_S * STEPS)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0)
        rank.set(metadata={"forks": forks, "children_cpu_s": 6.0})
        rank.set(cpus_allowed=str(number), cpu_count_allowed=1)
        for step, begin in rank.steps(STEPS, STEP_S):
            for part in range(15):
                inside = [MAIN, FEATURIZE, ("os.fork", BUILT_IN, 0)]
                stack = inside if part < 5 else [MAIN, ("numpy.dot", BUILT_IN, 0)]
                rank.stack(begin + 0.01 * part + 0.005, stack)
            rank.op("MPI_Allreduce", begin + STEP_S - 0.002, begin + STEP_S, seq=step)
        for tick in range(round(10 * (STEP_S * STEPS + 2.0))):
            at = tick / 10
            faults = round(FAULTS_PER_S * at)
            queued_s = at * queued
            rank.main_sample(
                at,
                cpu_s=at - queued_s,
                queue_delay_s=queued_s,
                kernel_s=KERNEL * at,
                minor_faults=faults,
            )
            rank.process_sample(at, rss_bytes=rss_bytes, cpu_s=at, runnable=1, queue_delay_s=at / 3)
            rank.system_sample(at, read_bytes=0)
        rank.finalize(1.0 + STEP_S * STEPS)
    return analyze_trace(builder.build()).findings


def test_the_saving_of_starting_processes_includes_the_page_faults_that_forks_cause() -> None:
    """What starting takes goes, and of the work that is left the 30 % for page faults."""
    findings = found(forks=2 * STEPS)
    starting, faults = findings["lost_to_subprocess"], findings["page_faults"]
    assert starting.status is Status.FAIL
    whole_s = STEPS * (STARTING_S + KERNEL * WORK_S)
    assert starting.gain_s == pytest.approx(whole_s, rel=0.05)
    assert "memory shared with the processes is copied" in starting.summary
    assert faults.status is Status.INFO
    assert faults.gain is None
    assert not any("MALLOC_" in action for action in faults.actions)


@pytest.mark.parametrize(
    ("forks", "rss_bytes"),
    [(0, 1 << 28), (2, 1 << 28), (STEPS // 2, 1 << 33), (2 * STEPS, 1 << 20)],
)
def test_page_faults_that_forks_do_not_explain_keep_their_own_cure(
    forks: int, rss_bytes: int
) -> None:
    """Each fork has each page copied once: few forks, or of a small process, explain little."""
    findings = found(forks=forks, rss_bytes=rss_bytes)
    starting, faults = findings["lost_to_subprocess"], findings["page_faults"]
    assert starting.gain_s == pytest.approx(STEPS * STARTING_S, rel=0.05)
    assert faults.status is Status.FAIL
    assert "MALLOC_" in faults.actions[0]


def test_processes_that_live_for_a_step_ask_for_no_more_cpus() -> None:
    told = found(forks=2 * STEPS, queued=0.1)["worker_cores"]
    assert (told.status, told.overlaps[-1]) == (Status.INFO, "lost_to_subprocess")
    assert found(forks=2, queued=0.1)["worker_cores"].status is Status.FAIL
