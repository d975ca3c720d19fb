"""Few instructions per cycle: bound by memory only where the misses say so."""

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import PhaseKind, Status
from perfscope.trace.hardware import ComputeTotals
from perfscope.trace.model import COUNTER_DTYPE
from tests.findings.analyzed import Analyzed, analyze_trace
from tests.support.trace_builder import TraceBuilder


def counted(
    ipc: dict[PhaseKind, float], *, misses: dict[PhaseKind, float] | None = None
) -> Analyzed:
    """Two ranks, 10 s in each phase at 1e9 cycles a second, counters read every 0.5 s."""
    builder = TraceBuilder(2, end_s=10.0 * len(ipc) + 2.0)
    names = ["PAPI_TOT_INS", "PAPI_TOT_CYC", *(["PAPI_L3_TCM"] if misses else [])]
    for number in (0, 1):
        rank = builder.rank(number).init(1.0)
        sums = dict.fromkeys(names, 0.0)
        rows = [(10**9, 1000 + number, builder.name(name), 0.0) for name in names]
        for place, kind in enumerate(ipc):
            rank.phase(kind, 1.0 + 10 * place, 11.0 + 10 * place)
            for half in range(1, 21):
                at = 1.0 + 10 * place + half / 2
                sums["PAPI_TOT_CYC"] += 5e8
                sums["PAPI_TOT_INS"] += 5e8 * ipc[kind]
                if misses:
                    sums["PAPI_L3_TCM"] += 5e8 * ipc[kind] * misses[kind] / 1000
                ns = round(at * 1e9)
                rows += [(ns, 1000 + number, builder.name(name), sums[name]) for name in names]
        rank.finalize(1.0 + 10 * len(ipc)).set(counters=np.array(rows, COUNTER_DTYPE))
    return analyze_trace(builder.build())


def finding_of(analyzed: Analyzed) -> Finding:
    return analyzed.findings["memory_bound"]


FORWARD, INPUT = PhaseKind.FORWARD, PhaseKind.INPUT


def test_the_phase_is_named_with_both_numbers() -> None:
    finding = finding_of(counted({FORWARD: 0.4, INPUT: 2.0}, misses={FORWARD: 25.0, INPUT: 0.1}))
    assert finding.status is Status.WARN
    assert finding.title == "The CPUs wait for memory in forward"
    assert (
        "0.40 instructions in each, with 25.0 misses of the last cache in 1,000" in finding.summary
    )
    assert "50.0 %" in finding.summary
    assert finding.gain_s is None


def test_without_misses_the_reason_stays_open() -> None:
    finding = finding_of(counted({FORWARD: 0.4}))
    assert finding.status is Status.INFO
    assert "was not counted" in finding.summary or "were not counted" in finding.summary
    assert "PAPI_L3_TCM" in finding.actions[0]


def test_few_misses_are_another_reason() -> None:
    assert finding_of(counted({FORWARD: 0.4}, misses={FORWARD: 0.5})).status is Status.INFO


def test_ordinary_work_is_silent() -> None:
    finding = finding_of(counted({FORWARD: 1.8}, misses={FORWARD: 20.0}))
    assert finding.status is Status.PASS
    assert "1.800 instructions per cycle" in finding.summary


def test_sums_by_rank_are_used_where_there_are_no_samples() -> None:
    builder = TraceBuilder(2, end_s=20.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).finalize(19.0)
        totals = ComputeTotals(10**10, 10**10, instructions=10**9, cycles=4 * 10**9)
        rank.set(compute=totals)
    finding = finding_of(analyze_trace(builder.build()))
    assert finding.status is Status.INFO
    assert finding.title == "Few instructions per cycle in rank 0"


@pytest.mark.parametrize("values", [(0.0, 5.0, 3.0), (0.0, float("nan"), 9.0)])
def test_counters_that_do_not_only_grow_say_nothing(values: tuple[float, ...]) -> None:
    builder = TraceBuilder(1, end_s=20.0)
    rank = builder.rank(0).init(1.0).finalize(19.0)
    names = [builder.name(name) for name in ("PAPI_TOT_INS", "PAPI_TOT_CYC")]
    rows = [(10**9 * (2 + i), 1000, name, v) for i, v in enumerate(values) for name in names]
    rank.set(counters=np.array(rows, COUNTER_DTYPE))
    finding = finding_of(analyze_trace(builder.build()))
    assert finding.status is Status.NOT_MEASURED
    assert "SCOREP_METRIC_PAPI" in finding.summary


def test_a_rank_with_one_unusable_counter_is_left_out_of_all() -> None:
    """One reset of the instructions of rank 1 must not halve those of all cycles."""
    builder = TraceBuilder(2, end_s=12.0)
    names = [builder.name(name) for name in ("PAPI_TOT_INS", "PAPI_TOT_CYC")]
    for number in (0, 1):
        rows = []
        for k in range(20):
            reset = number == 1 and k == 19
            at = 10**9 * (2 + k) // 2
            rows += [
                (at, 1000 + number, names[0], 5.0 if reset else k * 1e9),
                (at, 1000 + number, names[1], k * 1e9),
            ]
        builder.rank(number).init(1.0).finalize(11.0).set(counters=np.array(rows, COUNTER_DTYPE))
    finding = finding_of(analyze_trace(builder.build()))
    assert finding.status is Status.PASS
    assert finding.summary == "1.000 instructions per cycle."
