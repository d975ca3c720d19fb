"""Time before the first ordinary step: loading, compiling, tracing."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from perfscope.findings import thresholds
from perfscope.findings.finding import Confidence, Diagnosis, Evidence, Finding, Status
from perfscope.findings.price import NS
from perfscope.findings.tracing import traced_often
from perfscope.metrics.ledger import INDEX, Account
from perfscope.units import format_seconds, format_share

if TYPE_CHECKING:
    from perfscope.metrics.results import Results
    from perfscope.replay.model import Replay

ID = "start_up"
TITLE = "Time before the first ordinary step"
PASSED = "Start-up and first steps take an ordinary share of the run"
DESCRIPTION = (
    "Adds the time before the ranks can communicate (loading libraries, reading data) to what the "
    "first steps take beyond an ordinary one (compiling, tracing, filling caches), and compares it "
    "with the whole run; counts how often TensorFlow traced each function."
)
REFERENCES = (
    "TensorFlow, tf.function and tracing: https://www.tensorflow.org/guide/function#tracing",
)
WARM_UP_STEPS = 5
WARM_UP_FACTOR = 2.0  # a first step that takes longer than so many ordinary ones warms up


def judge(results: Results, replay: Replay) -> Finding:  # noqa: ARG001
    """Whether the run spends much of its time before it trains, and on what."""
    life_s = float(results.ledger.life_ns.sum()) * NS
    if not results.steps.count and all(r.init_exit_ns is None for r in results.trace.ranks):
        text = "Neither steps nor the start of communication were recorded."
        return Finding(ID, Status.NOT_MEASURED, TITLE, text, confidence=Confidence.HIGH)
    before_s = float(results.ledger.ns[INDEX[Account.START_UP]].sum()) * NS
    ranks = len(results.ledger.ranks)
    warm_s = warm_up_s(results)
    mean_s = before_s / max(1, ranks) + warm_s
    share = mean_s * ranks / life_s if life_s else 0.0
    retraced = traced_often(results)
    is_long = share >= thresholds.START_UP_SHARE and mean_s >= thresholds.START_UP_LEAST_S
    status = Status.WARN if retraced else Status.INFO if is_long else Status.PASS
    return Finding(
        id=ID,
        status=status,
        title=_title(retraced, mean_s, share, is_long=is_long),
        summary=(
            f"A rank takes {format_seconds(before_s / max(1, ranks))} until it can communicate; "
            f"its first steps take {format_seconds(warm_s)} more than ordinary ones. Together that "
            f"is {format_share(share)} of its life."
        ),
        confidence=Confidence.HIGH,
        evidence=(
            Evidence("Before communication, mean of the ranks", before_s / max(1, ranks), "s"),
            Evidence("First steps beyond ordinary ones", warm_s, "s"),
            *(
                Evidence(f"{name} was traced", times, "", "once or twice")
                for name, times in retraced
            ),
        ),
        actions=_actions(retraced, is_long=is_long),
        references=REFERENCES,
        overlaps=("memory_growth",),
    )


def warm_up_s(results: Results) -> float:
    """Seconds that the first steps took beyond the median step; 0 where steps are not known."""
    seconds = results.steps.max_seconds
    if len(seconds) <= 2 * WARM_UP_STEPS:
        return 0.0
    usual = median(seconds)
    first = [s - usual for s in seconds[:WARM_UP_STEPS] if s > WARM_UP_FACTOR * usual]
    return sum(first)


def _title(retraced: list[tuple[str, int]], mean_s: float, share: float, *, is_long: bool) -> str:
    if retraced:
        name, times = retraced[0]
        return f"TensorFlow traced {name} {times:,} times: it compiles again and again"
    if is_long:
        return f"{format_seconds(mean_s)} ({format_share(share)}) pass before ordinary steps begin"
    return PASSED


def _actions(retraced: list[tuple[str, int]], *, is_long: bool) -> tuple[str, ...]:
    if retraced:
        return (
            (
                f"Let {retraced[0][0]} always see tensors of the same shapes and types: pass "
                "Python numbers as tensors, drop the last partial batch, give tf.function an "
                "input_signature, and create the function once, outside the loop."
            ),
        )
    if is_long:
        return (
            (
                "Train longer per start, keep compiled code (a compilation cache), and read data "
                "that every start needs from a node-local copy."
            ),
        )
    return ()


DIAGNOSIS = Diagnosis(id=ID, title=TITLE, description=DESCRIPTION, judge=judge)
