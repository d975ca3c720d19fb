"""Pipelines that Keras builds in every call: their cost, with and without the cure in the run."""

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Basis, PhaseKind, Status
from perfscope.trace.model import Trace
from tests.findings.analyzed import analyze, analyze_trace
from tests.findings.training_runs import Plan
from tests.support.trace_builder import TraceBuilder

PIPELINE = {"name": "Dataset_flat_map_slices", "functions": 100, "traces": 100, "most_traces": 1}


def loop(
    *,
    calls: int = 100,
    predict_s: float = 0.06,
    set_up_s: float = 0.05,
    on_batch_s: float | None = None,
    other_s: float = 0.04,
    measured: bool = True,
) -> Trace:
    """One rank that predicts in a loop, beside other work, and on single batches if so told."""
    builder = TraceBuilder(1, end_s=1e6)
    rank = builder.rank(0).init(1.0)
    rank.set(metadata={"frameworks": {"keras": {}, "tensorflow": {"tracing": [PIPELINE]}}})
    clock = 1.0
    for call in range(1, calls + 1):
        rank.phase(PhaseKind.PREDICT, clock, clock + predict_s, name="predict")
        clock += predict_s
        if measured:
            rank.call_sample("predict", clock, call, set_up_s=call * set_up_s)
        if on_batch_s is not None:
            rank.phase(PhaseKind.PREDICT, clock, clock + on_batch_s, name="predict_on_batch")
            clock += on_batch_s
            rank.call_sample("predict_on_batch", clock, call, set_up_s=call * 1e-5)
        clock += other_s
    return builder.ended(clock)


def judged(trace: Trace) -> Finding:
    return analyze_trace(trace).findings["predict_in_loop"]


def test_the_ratio_is_that_of_the_run() -> None:
    """60 ms against 1 ms: 59 ms of each of 100 calls need not be."""
    finding = judged(loop(on_batch_s=0.001))
    assert finding.status is Status.FAIL
    assert finding.title == (
        "Model.predict is called 100 times and takes 60 times as long as predict_on_batch"
    )
    assert finding.gain_basis is Basis.REPLAY
    assert finding.gain_s == pytest.approx(5.9, rel=0.01)
    assert finding.ranks == (0,)


def test_without_the_cure_in_the_run_the_whole_call_is_the_bound() -> None:
    """Setting up is most of each: of the 60 ms predict_on_batch leaves at least nothing."""
    finding = judged(loop())
    assert finding.status is Status.FAIL
    assert "builds an input pipeline each time: 83.3 % of each call" in finding.title
    assert finding.gain_basis is Basis.UPPER_BOUND
    assert finding.gain_s == pytest.approx(6.0, rel=0.01)
    assert "predict_on_batch" in finding.actions[0]


def test_large_predictions_are_silent() -> None:
    """Half a second of predicting for 2 ms of setting up."""
    assert judged(loop(predict_s=0.5, set_up_s=0.002)).status is Status.PASS


def test_other_methods_on_smaller_batches_are_no_measure() -> None:
    """The difference of half a second is the batch: only 2 ms of each call are set-up."""
    finding = judged(loop(predict_s=0.5, set_up_s=0.002, on_batch_s=0.001))
    assert finding.status is Status.PASS
    assert finding.gain_basis is Basis.UPPER_BOUND
    assert finding.gain_s == pytest.approx(0.2, rel=0.01)


def test_a_few_predictions_are_silent() -> None:
    finding = judged(loop(calls=20))
    assert finding.status is Status.NOT_APPLICABLE
    assert "again and again" in finding.summary


def test_the_pipelines_are_named_once() -> None:
    findings = analyze_trace(loop()).findings
    assert findings["start_up"].status is Status.PASS
    assert findings["predict_in_loop"].status is Status.FAIL


def test_older_recordings_name_the_pipelines() -> None:
    findings = analyze_trace(loop(measured=False)).findings
    told = findings["predict_in_loop"]
    assert told.status is Status.NOT_MEASURED
    assert "Model.predict was called 100 times" in told.summary
    assert "perfscope run" in told.summary
    assert findings["start_up"].status is Status.FAIL
    assert "A tf.data pipeline is built 100 times" in findings["start_up"].title


def test_a_run_without_keras_does_not_list_it() -> None:
    assert "predict_in_loop" not in analyze(Plan(steps=20)).findings
