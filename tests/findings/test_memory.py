"""Memory that grows, and memory that is left."""

import numpy as np
import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Confidence, EndKind, PhaseKind, Status
from perfscope.trace.model import Ending, Raised, Trace
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

MIB = 1 << 20
GIB = 1 << 30
TENSORFLOW = "tensorflow.python.framework.errors_impl.ResourceExhaustedError"
OOM = (
    "OOM when allocating tensor with shape[40000,40000] and type float on "
    "/job:localhost/replica:0/task:0/device:{} by allocator {} [Op:AddV2]"
)


def series(
    *,
    seconds: int = 60,
    growth: float = 0.0,
    warm_up: float = 0.0,
    saw: float = 0.0,
    base: float = 500 * MIB,
    total: float = 200 * GIB,
    ranks: int = 2,
    frameworks: dict[str, object] | None = None,
    traces: int = 0,
    predicts: int = 0,
) -> Trace:
    """Ranks whose memory rises by `growth` B/s after a warm-up of 5 s, with noise and sawteeth."""
    random = np.random.default_rng(5)
    builder = TraceBuilder(ranks, end_s=seconds + 1.5)
    for number in range(ranks):
        rank = builder.rank(number).init(0.5).finalize(seconds + 1.0)
        told = dict(frameworks or {})
        if traces:
            row = {"name": "train_function", "functions": 1, "traces": traces}
            told["tensorflow"] = {"tracing": [row]}
        rank.set(metadata={"frameworks": told})
        for tick in range(5, (seconds + 1) * 10):
            at = tick / 10
            rss = base + warm_up * min(at / 5, 1.0) + growth * at
            rss += saw * ((at * 0.7) % 1.0) + random.integers(0, 16) * 4096
            rank.process_sample(at, rss_bytes=round(rss))
            free = total - ranks * rss - 2 * GIB
            rank.node_sample(at, available_bytes=max(0, round(free)), total_bytes=round(total))
        for call in range(predicts):
            at = 1.0 + call * seconds / predicts
            rank.phase(PhaseKind.PREDICT, at, at + 0.01)
    return builder.build()


def growth_of(trace: Trace) -> Finding:
    return analyze_trace(trace).findings["memory_growth"]


def headroom_of(trace: Trace) -> Finding:
    return analyze_trace(trace).findings["memory_headroom"]


@pytest.mark.parametrize(("ranks", "unknown"), [(2, 1), (4, 3)])
def test_ranks_of_which_too_little_is_known_do_not_pass_unsaid(ranks: int, unknown: int) -> None:
    trace = series(warm_up=100 * MIB, ranks=ranks)
    for rank in trace.ranks[-unknown:]:
        rank.process_samples = rank.process_samples[:25]
    finding = growth_of(trace)
    assert "too few samples" in finding.summary
    if unknown == 1:
        assert (finding.status, finding.confidence) == (Status.PASS, Confidence.LOW)
    else:
        assert finding.status is Status.NOT_MEASURED


def test_steady_growth_is_told_from_warm_up() -> None:
    finding = growth_of(series(growth=4 * MIB, warm_up=300 * MIB))
    assert finding.status is Status.FAIL
    assert finding.ranks == (0, 1)
    assert "4.00 MiB/s" in finding.title
    rows = {row.label: row.value for row in finding.evidence}
    assert rows["Steady growth per second"] == "4.00 MiB"
    # 200 GiB less 2 GiB less what both have at the end, at 8 MiB/s
    left_s = (198 * GIB - 2 * (800 + 4 * 61) * MIB) / (8 * MIB)
    assert rows["Time until it is used up at this pace"] == pytest.approx(left_s, rel=0.01)


def test_short_growth_is_not_drawn_on_over_hours() -> None:
    """9.5 s of growth, of which the node would be full after 9 hours; a warning says so."""
    slow = growth_of(series(growth=3 * MIB, seconds=20))
    assert slow.status is Status.WARN
    little = growth_of(series(growth=3 * MIB // 2, seconds=20))  # 15 of 800 MiB
    assert little.status is Status.INFO
    assert growth_of(series(growth=MIB // 2, seconds=90)).status is not Status.INFO
    assert growth_of(series(growth=3 * MIB, seconds=90)).status is Status.FAIL
    fast = growth_of(series(growth=200 * MIB, seconds=20))  # full after 8 minutes
    assert fast.status is Status.FAIL


@pytest.mark.parametrize(
    "healthy",
    [
        {"warm_up": 400 * MIB},
        {"saw": 200 * MIB},
        {"growth": 20_000.0},
        {"warm_up": 100 * MIB, "saw": 50 * MIB, "seconds": 20},
    ],
)
def test_what_does_not_keep_growing_is_silent(healthy: dict[str, float]) -> None:
    finding = growth_of(series(**healthy))  # type: ignore[arg-type]
    assert finding.status is Status.PASS
    assert not finding.actions


def test_a_cache_that_fills_up_levels_off() -> None:
    """Memory that rises like 1 - exp(-t/8): warm-up, however long."""
    builder = TraceBuilder(1, end_s=61.5)
    rank = builder.rank(0).init(0.5).finalize(61.0)
    for tick in range(5, 610):
        rss = 500 * MIB + 900 * MIB * (1 - np.exp(-tick / 80))
        rank.process_sample(tick / 10, rss_bytes=round(rss))
    assert growth_of(builder.build()).status is Status.PASS


def test_what_loads_before_the_first_step_is_warm_up() -> None:
    """Libraries load for 40 of 60 s; then nothing grows any more."""
    builder = TraceBuilder(1, end_s=61.5)
    rank = builder.rank(0).init(0.5).finalize(61.0)
    for tick in range(5, 610):
        rss = 100 * MIB + 20 * MIB * min(tick / 10, 40.0)
        rank.process_sample(tick / 10, rss_bytes=round(rss))
    for step in range(20):
        rank.step(step, 40.0 + step, 41.0 + step)
    assert growth_of(builder.build()).status is Status.PASS


def test_sawteeth_do_not_hide_growth() -> None:
    assert growth_of(series(growth=4 * MIB, saw=20 * MIB)).status is Status.FAIL


def parts(levels: tuple[int, ...]) -> Trace:
    """A rank whose memory is at a level of MiB for each eighth of the second half of the run."""
    builder = TraceBuilder(1, end_s=100.0)
    rank = builder.rank(0).init(0.5).finalize(99.0)
    for tick in range(10, 970):
        part = (tick - 490) * len(levels) // 480
        rank.process_sample(tick / 10, rss_bytes=(300 + levels[max(0, part)]) * MIB)
    return builder.build()


def test_memory_that_rises_over_the_quarters_by_chance_does_not_grow() -> None:
    """Both rise from quarter to quarter; pairs of eighths rise 24 of 28 times, and 18 of 28."""
    assert growth_of(parts((0, 2, 4, 3, 6, 9, 8, 12))).status is Status.WARN
    assert growth_of(parts((9, 0, 4, 7, 10, 8, 11, 12))).status is Status.PASS


def test_what_an_allocator_took_at_three_moments_does_not_grow() -> None:
    """Each later part lies as high as those before or higher, but nearly all came at once."""
    assert growth_of(parts((0, 1, 2, 3, 8, 9, 39, 40))).status is Status.PASS
    assert growth_of(parts((0, 3, 10, 13, 21, 26, 33, 40))).status is Status.WARN


def test_predict_in_a_loop_is_named() -> None:
    finding = growth_of(
        series(growth=1 * MIB, frameworks={"keras": {"version": "2.15.0"}}, predicts=120)
    )
    assert "Model.predict is called again and again" in finding.title
    assert "predict_on_batch" in finding.actions[0]
    rows = {row.label: row.value for row in finding.evidence}
    # 2 calls a second: half a MiB each
    per_call = next(value for label, value in rows.items() if label == "The same per predict")
    assert str(per_call).split()[1] == "KiB"
    assert float(str(per_call).split()[0]) == pytest.approx(512, rel=0.05)


def test_retracing_is_told_from_predict() -> None:
    finding = growth_of(series(growth=1 * MIB, frameworks={"keras": {}}, predicts=100, traces=40))
    assert "TensorFlow traced train_function() 40 times" in finding.title
    assert "input_signature" in finding.actions[0]


def test_too_short_is_not_measured() -> None:
    finding = growth_of(series(seconds=2, growth=50 * MIB))
    assert finding.status is Status.NOT_MEASURED
    assert "samples" in finding.summary


def test_a_node_nearly_full() -> None:
    """8 ranks of 24 GiB on 200 GiB: the case study's shape; a ninth would not fit."""
    finding = headroom_of(series(base=24 * GIB, ranks=8, seconds=10))
    assert finding.status is Status.FAIL
    assert "8 ranks like it would fit; 8 ran there" in finding.summary
    assert "Start 7 ranks instead of 8" in finding.actions[0]


def test_a_node_with_room_says_how_many_fit() -> None:
    finding = headroom_of(series(base=2 * GIB, ranks=2, seconds=10))
    assert finding.status is Status.PASS
    assert "98 ranks like it would fit; 2 ran there" in finding.summary


def test_killed_for_memory() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(0.5)
        rank.node_sample(5.0, available_bytes=8 * GIB, total_bytes=16 * GIB)
        rank.process_sample(5.0, rss_bytes=GIB)
        rank.system_sample(1.0, oom_kills=3).system_sample(9.0, oom_kills=4)
    builder.rank(1).set(ending=Ending(EndKind.KILLED, 9, "launcher"))
    finding = headroom_of(builder.build())
    assert finding.status is Status.FAIL
    assert finding.title.startswith("Rank 1 ended when")


def test_an_error_for_want_of_memory_is_named() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(0.5)
        rank.node_sample(5.0, available_bytes=8 * GIB, total_bytes=16 * GIB)
        rank.process_sample(5.0, rss_bytes=GIB)
    text = "Unable to allocate 74.5 GiB for an array with shape (100000, 100000)"
    raised = Raised("numpy._core._exceptions._ArrayMemoryError", text, "/job/train.py", 12)
    builder.rank(0).set(ending=Ending(EndKind.EXITED, 1, "python", raised))
    finding = headroom_of(builder.build())
    assert finding.status is Status.FAIL
    assert finding.title == "Rank 0 asked for memory that node0 did not have, and ended"
    assert (finding.where[0].file, finding.where[0].line) == ("/job/train.py", 12)
    assert "Unable to allocate 74.5 GiB" in str(finding.evidence[0].value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 20.00 MiB"),
        ("RuntimeError", "CUDA error: cannot allocate memory"),
        ("RuntimeError", "HIP out of memory: not enough memory"),
        ("RuntimeError", "hipErrorOutOfMemory: not enough memory"),
        (TENSORFLOW, OOM.format("GPU:0", "GPU_0_bfc")),
        (TENSORFLOW, "{{function_node __wrapped__Mul_device_/device:GPU:0}} failed to allocate"),
        ("ValueError", "not enough memory of the past"),
    ],
)
def test_other_errors_are_none_of_the_node(kind: str, text: str) -> None:
    assert ended_by(kind, text).status is Status.PASS


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (TENSORFLOW, OOM.format("CPU:0", "cpu")),
        ("MemoryError", "not enough memory for the chips of /data/ships/8"),
        ("RuntimeError", "[enforce fail at alloc_cpu.cpp:117] can't allocate memory: you tried"),
    ],
)
def test_errors_that_are_the_nodes(kind: str, text: str) -> None:
    """TensorFlow names the device of the node's memory, too; a word is none within another."""
    finding = ended_by(kind, text)
    assert finding.status is Status.FAIL
    assert finding.title == "Rank 0 asked for memory that node0 did not have, and ended"


def ended_by(kind: str, text: str) -> Finding:
    """One rank that ended by an exception, with memory left when it was sampled last."""
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0).init(0.5)
    rank.node_sample(5.0, available_bytes=8 * GIB, total_bytes=16 * GIB)
    rank.process_sample(5.0, rss_bytes=GIB)
    rank.set(ending=Ending(EndKind.EXITED, 1, "python", Raised(kind, text, "/job/train.py", 1)))
    return headroom_of(builder.build())


def test_the_phase_of_the_peak_needs_few_samples() -> None:
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0).init(0.5).finalize(9.5)
    rank.phase(PhaseKind.TRAIN, 1.0, 4.0).phase(PhaseKind.EVALUATE, 5.0, 7.0)
    for at, size in ((2.0, GIB), (6.0, 3 * GIB), (8.0, 2 * GIB)):
        rank.process_sample(at, rss_bytes=size)
        rank.node_sample(at, available_bytes=8 * GIB, total_bytes=16 * GIB)
    assert "in the phase Evaluation" in headroom_of(builder.build()).summary


def test_shared_pages_and_descendants_decide_how_many_fit() -> None:
    """Two ranks of 4 GiB resident share half of it; each has loaders of 1 GiB together."""
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(0.5).finalize(9.5)
        for at, size in ((2.0, GIB), (6.0, 4 * GIB), (8.0, 3 * GIB)):
            rank.process_sample(at, rss_bytes=size)
            rank.node_sample(at, available_bytes=9 * GIB, total_bytes=16 * GIB)
        rank.tree_sample(2.0, own_bytes=GIB)
        # 1 GiB less resident than at the peak
        rank.tree_sample(8.0, own_bytes=GIB, descendants_bytes=GIB, descendants=4)
    finding = headroom_of(builder.build())
    assert "needs most, 3.00 GiB with its processes" in finding.summary
    assert "5 ranks like it would fit; 2 ran there" in finding.summary


def test_how_many_fit_beside_smaller_ranks() -> None:
    """One rank of 50 GiB and three of 5, 40 GiB left: 105 GiB hold two like the first."""
    builder = TraceBuilder(4, end_s=10.0)
    for number in range(4):
        rank = builder.rank(number).init(0.5).finalize(9.5)
        for at in (2.0, 6.0, 8.0):
            rank.process_sample(at, rss_bytes=(50 if number == 0 else 5) * GIB)
            rank.node_sample(at, available_bytes=40 * GIB, total_bytes=500 * GIB)
    assert "2 ranks like it would fit; 4 ran there" in headroom_of(builder.build()).summary


def test_a_kill_before_the_run_is_not_its_own() -> None:
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0).init(0.5)
    rank.node_sample(5.0, available_bytes=8 * GIB, total_bytes=16 * GIB)
    rank.process_sample(5.0, rss_bytes=GIB)
    rank.system_sample(1.0, oom_kills=3).system_sample(9.0, oom_kills=3)
    rank.set(ending=Ending(EndKind.KILLED, 9, "launcher"))
    assert headroom_of(builder.build()).status is Status.PASS


@pytest.mark.parametrize(("code", "status"), [(9, Status.FAIL), (11, Status.PASS)])
def test_killed_for_memory_as_the_launchers_host_counted(code: int, status: Status) -> None:
    """Nothing samples a process after it was killed: who started it looks at the counter."""
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(0.5)
        rank.node_sample(5.0, available_bytes=8 * GIB, total_bytes=16 * GIB)
        rank.process_sample(5.0, rss_bytes=GIB)
        rank.system_sample(1.0, oom_kills=3).system_sample(5.0, oom_kills=3)
    builder.rank(1).set(ending=Ending(EndKind.KILLED, code, "launcher"))
    trace = builder.build()
    trace.environment = {"oom_kills": {"node0": 1}}
    finding = headroom_of(trace)
    assert finding.status is status
    if status is Status.FAIL:
        assert finding.confidence is Confidence.MEDIUM
        assert finding.title == (
            "Rank 1 was killed by signal 9 while the kernel ended 1 process for want of memory on "
            "host node0"
        )
        rows = {row.label: row.value for row in finding.evidence}
        label = "Processes that the kernel ended on host node0, of other jobs included"
        assert (rows["Processes killed for memory meanwhile"], rows[label]) == (0, 1)


def test_a_rank_that_the_launcher_ended_after_another_one_failed_is_not_told_of() -> None:
    """The kernel ended something of another job meanwhile."""
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        rank = builder.rank(number).init(0.5)
        rank.node_sample(5.0, available_bytes=8 * GIB, total_bytes=16 * GIB)
        rank.process_sample(5.0, rss_bytes=GIB)
    builder.rank(0).set(ending=Ending(EndKind.EXITED, 1, "launcher"), end_ns=8 * 10**9)
    builder.rank(1).set(ending=Ending(EndKind.KILLED, 9, "launcher"))
    trace = builder.build()
    trace.environment = {"oom_kills": {"node0": 1}}
    assert headroom_of(trace).status is Status.PASS


def limited(*, ranks: int, base: float, growth: float, limit: float) -> Trace:
    """Ranks in one control group on a large node."""
    trace = series(ranks=ranks, base=base, growth=growth, total=2000 * GIB)
    for rank in trace.ranks:
        rank.cgroup_memory_bytes = round(limit)
    return trace


def test_ranks_share_the_limit_of_their_control_group() -> None:
    trace = limited(ranks=8, base=7.8 * GIB, growth=0.0, limit=64 * GIB)
    finding = headroom_of(trace)
    assert finding.status is Status.FAIL
    assert "of the 64.0 GiB limit of the control group on host node0 is left" in finding.title
    assert "8 ranks like it would fit; 8 ran there" in finding.summary


def test_growth_fills_the_control_group_first() -> None:
    """8 ranks at 4 MiB/s each: 64 GiB less what they have at the end, at 32 MiB/s."""
    finding = growth_of(limited(ranks=8, base=7.0 * GIB, growth=4 * MIB, limit=64 * GIB))
    rows = {row.label: row.value for row in finding.evidence}
    left_s = (64 * GIB - 8 * (7 * GIB + 4 * 60 * MIB)) / (32 * MIB)
    assert rows["Time until it is used up at this pace"] == pytest.approx(left_s, rel=0.05)
    assert "the 64.0 GiB limit of the control group" in finding.summary


def test_nothing_sampled_names_the_flag() -> None:
    builder = TraceBuilder(2, end_s=11.0)
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(10.0).op("MPI_Barrier", 5.0, 6.0)
    findings = analyze_trace(builder.build()).findings
    for name in ("memory_growth", "memory_headroom"):
        assert findings[name].status is Status.NOT_MEASURED
        assert "--sample-hz" in findings[name].summary
