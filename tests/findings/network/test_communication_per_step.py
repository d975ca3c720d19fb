"""A batch that is too small for what a step exchanges, and what stands in the way of saying so."""

from dataclasses import replace

import pytest

from perfscope.findings.core.catalog import run_all
from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.schema.enums import Basis, Status
from perfscope.trace.model import Frame, Trace
from tests.findings.analyzed import analyze_trace
from tests.findings.exchange_runs import exchanges, fired

MIB = 1 << 20


def judged(trace: Trace) -> dict[str, Finding]:
    return analyze_trace(trace).findings


def test_twice_the_batch_halves_what_is_moved() -> None:
    """64 MiB in 40 ms (1.7 GB/s) after 100 ms of work: half of 50 x 40 ms is given back."""
    findings = judged(exchanges(size=64 * MIB, count=1, each_s=0.04, samples=32))
    assert fired(findings) == ["communication_per_step"]
    finding = findings["communication_per_step"]
    assert finding.status is Status.FAIL
    assert finding.gain_s == pytest.approx(50 * 0.02, rel=1e-6)
    assert finding.gain_basis is Basis.REPLAY
    assert finding.title == "Each step moves data for 40.0 ms and computes 100 ms"
    assert "64 instead of 32" in finding.actions[0]


def test_the_function_that_exchanges_is_told_of_a_small_batch() -> None:
    stacks = [[("exchange", "/job/train.py", 88)]] * 3
    trace = exchanges(size=64 * MIB, count=1, each_s=0.04, samples=32, stacks=stacks)
    finding = judged(trace)["communication_per_step"]
    assert finding.where == (Frame("exchange", "/job/train.py", 88),)


@pytest.mark.parametrize(
    ("samples", "each_s", "found", "status"),
    [
        (0, 0.04, "network_bound", Status.NOT_MEASURED),  # nobody tells the samples
        (32, 0.4, "network_bound", Status.PASS),  # 160 MiB/s: it is the network that is slow
        (32, 0.004, None, Status.PASS),
    ],
)
def test_what_is_no_matter_of_the_batch(
    samples: int, each_s: float, found: str | None, status: Status
) -> None:
    findings = judged(exchanges(size=64 * MIB, count=1, each_s=each_s, samples=samples))
    assert fired(findings) == ([found] if found else [])
    assert findings["communication_per_step"].status is status


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("marker", "Nothing tells the samples of a step"),
        ("collectives", "The steps are inferred, and nothing tells their samples"),
        (None, "No framework or mark tells the steps of the run"),
    ],
)
def test_what_is_missing_of_the_steps_is_told(source: str | None, missing: str) -> None:
    analyzed = analyze_trace(exchanges(size=64 * MIB, count=1, each_s=0.04))
    known = replace(analyzed.results.steps, source=source, count=50 if source else 0)
    facts = Facts(replace(analyzed.results, steps=known), analyzed.replay)
    found = {finding.id: finding for finding in run_all(facts)}
    assert found["communication_per_step"].summary.startswith(missing)
