"""Shorthand: from a trace to its results, replay and findings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfscope.document.build import build
from perfscope.findings.core.catalog import run_all
from perfscope.findings.core.finding import Finding
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options, Results
from perfscope.replay.model import Edit
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.write import Json
from perfscope.trace.model import Trace
from tests.findings.training_runs import Plan, training_run


@dataclass
class Analyzed:
    """What the analysis made of one run."""

    results: Results
    replay: SegmentReplay
    findings: dict[str, Finding]

    def document(self) -> Json:
        return build(Facts(self.results, self.replay), tuple(self.findings.values()))


def analyze_trace(
    trace: Trace, options: Options | None = None, *, is_shown: bool = False
) -> Analyzed:
    results = compute(trace, options or Options(), is_shown=is_shown)
    replay = SegmentReplay(results)
    return Analyzed(results, replay, {f.id: f for f in run_all(Facts(results, replay))})


def analyze(plan: Plan, *, is_shown: bool = False) -> Analyzed:
    return analyze_trace(training_run(plan), is_shown=is_shown)


def faults(findings: Mapping[str, Finding]) -> set[str]:
    """Ids of the findings that fail or warn."""
    return {name for name, one in findings.items() if one.status.is_fault}


class NoReplay:
    """A run that cannot be replayed."""

    available = False
    reason = "made so by a test"
    relative_error = None
    deviation = None
    ideal_runtime_s = None
    causes = None
    charges = None
    program = None

    def predict(self, edits: Sequence[Edit], *, after: Sequence[Edit] = ()) -> None:
        """Nothing is known."""

    def persistence(self, *, after: Sequence[Edit] = ()) -> None:
        """Nothing is known."""


def without_replay(run: Plan | Trace) -> tuple[Finding, ...]:
    """The findings about a run that cannot be replayed."""
    trace = training_run(run) if isinstance(run, Plan) else run
    return run_all(Facts(compute(trace, Options()), NoReplay()))
