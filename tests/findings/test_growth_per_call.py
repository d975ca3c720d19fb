"""What calls of a framework keep: its level, its cause, and what is too short to tell."""

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import PhaseKind, Status
from perfscope.trace.model import Frame, Trace
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
PIPELINE = "Dataset_flat_map_slices"


def calling(
    name: str = "predict",
    *,
    calls: int = 3000,
    each_s: float = 0.02,
    kept: float = 0.0,
    between: float = 0.0,
    warm_kept: float = 0.0,
    warm_calls: int = 0,
    tracing: tuple[dict[str, object], ...] = (),
) -> Trace:
    """One rank that calls a function again and again, each keeping so many bytes."""
    random = np.random.default_rng(3)
    length = calls * each_s
    builder = TraceBuilder(1, end_s=length + 2.0)
    rank = builder.rank(0)
    rank.set(metadata={"frameworks": {"keras": {}, "tensorflow": {"tracing": list(tracing)}}})

    def held(call: float) -> float:
        """Bytes kept after so many calls, in them and between them."""
        return call * kept + min(call, warm_calls) * warm_kept

    kind = PhaseKind.PREDICT if name.startswith("predict") else PhaseKind.TRAIN
    for call in range(calls):
        at = 1.0 + call * each_s
        rank.phase(kind, at, at + 0.8 * each_s, name=name)
        if call < 128 or call % (call // 128) == 0 or call == calls - 1:
            noise = int(random.integers(0, 4)) * 4 * KIB
            rank.call_sample(
                name,
                at + 0.8 * each_s,
                call + 1,
                kept_bytes=round(held(call + 1)),
                private_bytes=round(300 * MIB + held(call + 1) + between * call) + noise,
                set_up_s=0.5 * each_s * (call + 1),
            )
    for tick in range(10, int(10 * length) + 10):
        done = (tick / 10 - 1.0) / each_s
        rss = 400 * MIB + held(done) + between * done
        rank.process_sample(tick / 10, rss_bytes=round(rss))
        rank.node_sample(tick / 10, available_bytes=150 * GIB, total_bytes=200 * GIB)
    return builder.build()


def growth_of(trace: Trace) -> Finding:
    return analyze_trace(trace).findings["memory_growth"]


@pytest.mark.parametrize(
    ("kept", "status"),
    [(100 * KIB, Status.FAIL), (8 * KIB, Status.WARN), (KIB, Status.INFO), (100.0, Status.PASS)],
)
def test_levels_of_growth_per_call(kept: float, status: Status) -> None:
    finding = growth_of(calling(kept=kept, each_s=0.05))
    assert finding.status is status
    if status is not Status.PASS:
        assert "Model.predict keeps memory in every call" in finding.title
        assert "predict_on_batch" in finding.actions[0]
        rows = {row.label: row.value for row in finding.evidence}
        told = next(str(value) for label, value in rows.items() if "per predict()" in label)
        number, unit = told.split()
        size = float(number) * {"KiB": KIB, "B": 1}[unit]
        assert size == pytest.approx(kept, rel=0.05)


def test_warm_up_is_no_growth() -> None:
    """16 KiB a call for the first 1,100 calls, as Keras 3 does, and nothing more after them."""
    finding = growth_of(calling(warm_kept=16 * KIB, warm_calls=1100))
    assert finding.status is Status.PASS


def test_warm_up_ends_where_the_steady_line_begins() -> None:
    trace = calling(kept=8 * KIB, warm_kept=64 * KIB, warm_calls=1000)
    rows = {row.label: row.value for row in growth_of(trace).evidence}
    assert rows["Warm-up ends after"] == pytest.approx(1000 * 0.02, abs=1.5)


def test_too_few_calls_to_tell() -> None:
    finding = growth_of(calling(calls=800, each_s=0.05, kept=16 * KIB))
    assert finding.status is Status.NOT_MEASURED
    assert "800 calls of predict are too few" in finding.summary
    assert "1,500" in finding.summary


def test_a_short_training_is_no_growth() -> None:
    """200 steps that still fill buffers: too short for any verdict, and not blamed on the step."""
    finding = growth_of(calling("train_on_batch", calls=200, each_s=0.02, kept=80 * KIB))
    assert finding.status is Status.NOT_MEASURED


def test_few_calls_that_keep_much_are_no_warm_up() -> None:
    finding = growth_of(calling("fit", calls=120, each_s=0.5, kept=10 * MIB))
    assert finding.status is Status.FAIL or finding.status is Status.WARN
    assert "Model.fit keeps memory in every call" in finding.title


def test_the_cure_of_predict_is_silent() -> None:
    assert growth_of(calling("predict_on_batch", calls=6000, kept=3.0)).status is Status.PASS


def test_growth_between_the_calls_is_not_blamed_on_them() -> None:
    finding = growth_of(calling("predict_on_batch", kept=0.0, between=100 * KIB))
    assert finding.status is Status.FAIL or finding.status is Status.WARN
    assert "predict_on_batch" not in finding.title


def test_retracing_and_rebuilding_are_told_apart() -> None:
    retraced = {"name": "shifted", "functions": 1, "traces": 400, "most_traces": 400}
    retraced |= {"file": "/job/train.py", "line": 12}
    rebuilt = {"name": "train_function", "functions": 120, "traces": 120, "most_traces": 1}
    again = growth_of(calling("shifted", calls=400, kept=110 * KIB, tracing=(retraced,)))
    anew = growth_of(
        calling("train_on_batch", calls=120, each_s=0.1, kept=600 * KIB, tracing=(rebuilt,))
    )
    assert again.status is anew.status is Status.FAIL
    assert "TensorFlow traced shifted() 400 times" in again.title
    assert "input_signature" in again.actions[0]
    assert "shifted() (train.py:12)" in again.actions[0]
    assert again.where == (Frame("shifted", "/job/train.py", 12),)
    assert "train_function() is built and compiled 120 times" in anew.title
    assert "once, before the loop" in anew.actions[0]


def keeping_blocks(blocks: int) -> Finding:
    """Half a MiB more in each step, and so many blocks of Python's allocator."""
    builder = TraceBuilder(1, end_s=62.0)
    rank = builder.rank(0).init(0.5).finalize(61.0)
    for tick in range(5, 610):
        step = tick // 2
        rank.process_sample(tick / 10, rss_bytes=300 * MIB + step * MIB // 2)
        if tick % 10 == 0:
            rank.python_sample(tick / 10, 500_000 + blocks * step)
    for step in range(300):
        rank.step(step, 0.5 + step / 5, 0.7 + step / 5)
    return growth_of(builder.build())


def test_python_objects_are_told_from_native_memory() -> None:
    """Many small objects in each step, against a library that keeps as much."""
    small = keeping_blocks(512)
    assert small.title.endswith("more in each step, of 1.00 KiB each")
    assert not any("beside them" in action for action in small.actions)
    assert "native memory, not Python's objects" in keeping_blocks(0).title


def test_much_memory_for_each_object_is_theirs_or_grows_beside_them() -> None:
    """An array of half a MiB that is kept looks like a number that is kept beside a leak."""
    finding = keeping_blocks(2)
    assert finding.title.endswith(
        "Python keeps objects, 2.0 more in each step, and memory grows by 256 KiB for each"
    )
    assert any("beside them" in action for action in finding.actions)
    assert any("--memory-detail" in action for action in finding.actions)
