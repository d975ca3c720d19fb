"""Turns a trace into its result document; `analyze` and every study go through here."""

from typing import Any

from perfscope.document.build import build
from perfscope.findings.core.catalog import run_all
from perfscope.findings.facts.facts import Facts
from perfscope.matching.waits import Waits
from perfscope.metrics.compute import compute
from perfscope.metrics.forgetting import (
    forget_causes,
    forget_completions,
    forget_partners,
    hold_narrower,
    put_away,
)
from perfscope.metrics.results import Options
from perfscope.progress import stage
from perfscope.replay.segments import SegmentReplay
from perfscope.trace.model import Trace


def analysis(trace: Trace, options: Options) -> dict[str, Any]:
    """The result document of a trace, which is used up: a long one forgets calls on the way.

    Raises:
        UsageError: the options ask for what is not in the run.
    """

    def matched(digested: Trace, waits: Waits | None) -> None:
        if waits is not None:
            hold_narrower(digested, waits)
            return
        for one in (trace, digested):  # where samples inside calls are told apart, ranks are others
            forget_completions(one)

    results = compute(trace, options, when_matched=matched, is_shown=True)
    forget_causes(results)
    stage("replaying the run")
    replay = SegmentReplay(results, when_chosen=forget_partners)
    forget_partners(results)  # also of a run that cannot be replayed
    put_away(results)
    run = Facts(results, replay)
    findings = run_all(run)
    stage("writing down what was found")
    return build(run, findings)
