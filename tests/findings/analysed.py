"""Shorthand: from a trace to its results, replay and findings."""

from __future__ import annotations

from dataclasses import dataclass

from perfscope.findings.catalogue import run_all
from perfscope.findings.finding import Finding
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options, Results
from perfscope.replay.segments import SegmentReplay
from perfscope.result.document import build
from perfscope.trace.model import Trace
from tests.findings.training_runs import Plan, training_run


@dataclass
class Analysed:
    """What the analysis made of one run."""

    results: Results
    replay: SegmentReplay
    findings: dict[str, Finding]

    def document(self) -> dict[str, object]:
        return build(self.results, self.replay, tuple(self.findings.values()))


def analyse_trace(trace: Trace, options: Options | None = None) -> Analysed:
    results = compute(trace, options or Options())
    replay = SegmentReplay(results)
    return Analysed(results, replay, {f.id: f for f in run_all(results, replay)})


def analyse(plan: Plan) -> Analysed:
    return analyse_trace(training_run(plan))
