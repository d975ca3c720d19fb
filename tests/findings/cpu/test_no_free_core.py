"""No core for the system: a hint where every CPU is busy and all ranks are interrupted alike."""

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder


def judged(
    *,
    busy: float = 0.98,
    delays: tuple[float, ...] = (0.03, 0.03, 0.04, 0.03),
    switches: int = 40,
    cpus: int = 4,
    length_s: int = 30,
    runnable: int = 1,
) -> Finding:
    """Four ranks on CPUs 0-3 of a node, each with its own delay and switches a second."""
    builder = TraceBuilder(4, end_s=length_s + 2.0)
    for number, delay in enumerate(delays):
        rank = builder.rank(number).init(1.0).finalize(length_s + 1.0)
        rank.set(cpus_allowed="0-3", cpu_count_allowed=4)
        for tick in range(10, 10 * length_s + 10):
            at = tick / 10
            rank.process_sample(
                at, cpu_s=at * busy, queue_delay_s=at * busy * delay, runnable=runnable
            )
            rank.system_sample(at, involuntary_switches=int(at * switches))
    topology = {"node0": {"cpus": cpus}}
    trace = builder.set(environment={"topology": topology}).build()
    return analyze_trace(trace).findings["no_free_core"]


def test_is_told_and_never_a_fault() -> None:
    finding = judged()
    assert finding.status is Status.INFO
    assert finding.title == "Host node0 has no spare core for the OS: ranks keep every CPU busy"
    assert finding.gain_s is None
    assert "Try 3 instead of 4 CPUs" in finding.actions[0]


@pytest.mark.parametrize(
    "plan",
    [
        {"busy": 0.8},  # the system finds its time
        {"delays": (0.001,) * 4},  # and takes next to nothing
        {"delays": (0.15, 0.02, 0.02, 0.02)},  # one rank alone: something else runs there
        {"delays": (0.5,) * 4},  # other programs, not the system
        {"switches": 1},  # the ranks wait, but nobody takes the CPU from them
        {"cpus": 8},  # the node has CPUs that the ranks leave alone
        {"runnable": 3},  # the ranks crowd each other
    ],
)
def test_other_reasons_are_not_taken_for_it(plan: dict[str, object]) -> None:
    assert judged(**plan).status is Status.PASS  # type: ignore[arg-type]


def test_a_short_run_does_not_tell() -> None:
    assert judged(length_s=5).status is Status.NOT_APPLICABLE
