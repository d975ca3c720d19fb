"""Ranks bound to the same CPUs, idle CPUs, and what passes before the first ordinary step."""

from typing import Any

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.metrics.results import Options
from perfscope.schema.enums import Status
from perfscope.trace.model import Frame, Trace
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder


def bound(masks: tuple[str, ...], *, busy: float, delay: float, cpus: int = 4) -> Trace:
    """Ranks of one node with these masks, each using `busy` CPUs and waiting `delay` s a second."""
    builder = TraceBuilder(len(masks), end_s=12.0)
    for number, mask in enumerate(masks):
        rank = builder.rank(number).init(1.0).finalize(11.0)
        count = len([part for part in mask.split(",") if part])
        count = 4 if mask == "0-3" else count
        rank.set(cpus_allowed=mask, cpu_count_allowed=count)
        for tick in range(10, 111):
            at = tick / 10
            rank.process_sample(at, cpu_s=at * busy, queue_delay_s=at * delay)
    topology = {"node0": {"cpus": cpus}}
    return builder.set(environment={"topology": topology}).build()


def cores_of(trace: Trace) -> Finding:
    return analyze_trace(trace).findings["shared_cores"]


def test_two_ranks_on_one_cpu() -> None:
    finding = cores_of(bound(("0", "0", "1"), busy=0.5, delay=0.5))
    assert finding.status is Status.FAIL
    assert finding.ranks == (0, 1)
    assert finding.title == (
        "Ranks on host node0 take turns running: ranks 0 and 1 are bound to CPU 0"
    )
    assert "`mpirun -bind-to core`" in finding.actions[0]


def test_every_shared_cpu_is_named() -> None:
    finding = cores_of(bound(("0", "0", "1", "1"), busy=0.5, delay=0.5))
    assert finding.title.endswith(
        "ranks 0 and 1 are bound to CPU 0; ranks 2 and 3 are bound to CPU 1"
    )


def test_a_title_stays_short_where_every_cpu_of_a_large_node_is_shared() -> None:
    finding = cores_of(bound(tuple(str(n // 2) for n in range(128)), busy=0.5, delay=0.5, cpus=128))
    assert len(finding.ranks) == 128
    assert finding.title.endswith("ranks 4 and 5 are bound to CPU 2; and so on, 64 groups of ranks")


def test_the_only_cpus_of_a_job_are_a_warning() -> None:
    trace = bound(("0", "0"), busy=0.5, delay=0.5)
    for rank in trace.ranks:
        rank.process_samples["threads"] = 2  # whose waiting it was is not known
    assert cores_of(trace).status is Status.WARN


def test_the_only_cpus_of_a_job_are_a_fault_where_it_is_known_what_they_cost() -> None:
    assert cores_of(bound(("0", "0"), busy=0.5, delay=0.5)).status is Status.FAIL


def test_ranks_with_cores_of_their_own_are_silent() -> None:
    assert cores_of(bound(("0", "1"), busy=0.9, delay=0.0, cpus=2)).status is Status.PASS


def test_ranks_that_share_a_wide_mask_are_silent() -> None:
    assert cores_of(bound(("0-3",) * 4, busy=0.9, delay=0.0)).status is Status.PASS


def test_more_ranks_than_cpus_is_another_diagnosis() -> None:
    assert cores_of(bound(("0", "0"), busy=0.5, delay=0.5, cpus=1)).status is Status.PASS


def idle_of(trace: Trace) -> Finding:
    return analyze_trace(trace).findings["idle_cores"]


def test_idle_cpus_are_worth_a_word_and_no_fault() -> None:
    trace = bound(("0-3",), busy=1.0, delay=0.0)
    finding = idle_of(trace)
    assert finding.status is Status.INFO
    assert finding.title == "The CPUs of host node0 are 75.0 % idle"
    assert finding.gain_s is None
    assert finding.actions[0] == (
        "Try up to 4 threads in each rank: `perfscope sweep --env OMP_NUM_THREADS=1,2,4 -- "
        "python train.py`"
    )
    assert cores_of(trace).status is Status.PASS


def test_a_pool_that_is_large_enough_is_not_made_larger() -> None:
    trace = bound(("0-3",), busy=1.0, delay=0.0)
    trace.ranks[0].metadata = {"blas_libraries": [{"library": "libgomp.so.1", "threads": 4}]}
    actions = idle_of(trace).actions
    assert "OpenMP (libgomp.so.1) may use 4 threads in each rank already" in actions[0]
    assert not any("sweep" in action for action in actions)


@pytest.mark.parametrize(
    ("threads", "first"),
    [
        ((1, 4), "Try up to 2 threads in each rank: `perfscope sweep --env OMP_NUM_THREADS=1,2 --"),
        ((3, 4), "OpenMP (libgomp.so.1) may use 4 threads in rank 1 already"),
    ],
)
def test_the_pools_of_all_ranks_count(threads: tuple[int, int], first: str) -> None:
    """Rank 1 is the busiest; what another rank has too few of can still be raised."""
    trace = bound(("0-3", "0-3"), busy=0.5, delay=0.0)
    for rank, count in zip(trace.ranks, threads, strict=True):
        rank.metadata = {"blas_libraries": [{"library": "libgomp.so.1", "threads": count}]}
        rank.process_samples["runnable"] = count
    assert idle_of(trace).actions[0].startswith(first)


def test_the_pool_that_computes_is_made_larger() -> None:
    trace = bound(("0-3",), busy=1.0, delay=0.0)
    told = {"intra_op_threads": 0, "inter_op_threads": 0}
    trace.ranks[0].metadata = {
        "frameworks": {"tensorflow": told},
        "environment": {"TF_NUM_INTRAOP_THREADS": "2"},
    }
    assert "--env TF_NUM_INTRAOP_THREADS=2,4 --" in idle_of(trace).actions[0]


def test_busy_cpus_are_not_idle() -> None:
    assert idle_of(bound(("0-1",), busy=1.9, delay=0.0, cpus=2)).status is Status.PASS


def test_cpus_that_are_waited_for_are_not_called_idle() -> None:
    assert idle_of(bound(("0-3",), busy=1.0, delay=0.5)).status is Status.PASS


def test_cores_need_samples() -> None:
    builder = TraceBuilder(2, end_s=11.0)
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(10.0).op("MPI_Barrier", 5.0, 6.0)
    finding = cores_of(builder.build())
    assert finding.status is Status.NOT_MEASURED
    assert "--sample-hz" in finding.summary


def started(
    *,
    before_s: float,
    first_s: float,
    traces: int = 1,
    functions: int = 1,
    name: str = "train_function",
    steps: int = 40,
    framework: str = "tensorflow",
    **told: object,
) -> Finding:
    """One rank that starts, takes a long first step, and then 1 s a step."""
    builder = TraceBuilder(1, end_s=1e6)
    rank = builder.rank(0).init(before_s)
    clock = before_s
    for step in range(steps):
        length = first_s if step == 0 else 1.0
        rank.step(step, clock, clock + length)
        clock += length
    row = {"name": name, "functions": functions, "traces": traces, **told}
    rank.set(metadata={"frameworks": {framework: {"tracing": [row, None, {"name": 1}]}}})
    trace = builder.ended(clock, after_s=0.1)
    return analyze_trace(trace).findings["start_up"]


def test_a_long_start_is_told_without_being_a_fault() -> None:
    finding = started(before_s=30.0, first_s=31.0)
    assert finding.status is Status.INFO
    rows = {row.label: row.value for row in finding.evidence}
    assert rows["Before communication or the first step"] == pytest.approx(30.0)
    assert rows["First steps beyond ordinary ones"] == pytest.approx(30.0)
    assert "1 min" in finding.title or "60.0 s" in finding.title


def test_an_ordinary_start_is_silent() -> None:
    assert started(before_s=2.0, first_s=3.0).status is Status.PASS


def test_tracing_again_and_again() -> None:
    finding = started(before_s=2.0, first_s=1.0, traces=30)
    assert finding.status is Status.FAIL
    assert finding.title == ("TensorFlow traced train_function() 30 times, and compiled each time")
    assert "input_signature" in finding.actions[0]
    assert finding.where == ()  # an older recording


def test_what_is_traced_again_is_told_with_its_line() -> None:
    finding = started(before_s=2.0, first_s=1.0, traces=30, file="/job/train.py", line=12)
    assert finding.where == (Frame("train_function", "/job/train.py", 12),)
    assert finding.actions[0].startswith("Let train_function() (train.py:12) always see")


@pytest.mark.parametrize(
    ("framework", "changes", "said"),
    [
        (
            "tensorflow",
            "value",
            "another value 29 times: pass it as a tensor (`tf.constant(rate)`)",
        ),
        ("tensorflow", "shape", "another shape 29 times: give its batches one shape"),
        ("torch", "value", "another value 29 times: make it a tensor (`torch.tensor(rate)`)"),
        ("torch", "type", "another type 29 times: cast it to one type"),
    ],
)
def test_the_argument_that_changes_is_named(framework: str, changes: str, said: str) -> None:
    place: dict[str, Any] = {
        "name": "update",
        "file": "/job/train.py",
        "line": 12,
        "given_up": True,
    }
    told: dict[str, Any] = {"argument": "rate", "changes": changes, "again": 29}
    finding = started(before_s=2.0, first_s=1.0, traces=30, framework=framework, **place, **told)
    assert finding.actions[0].startswith(f"`rate` of update() (train.py:12) had {said}")


@pytest.mark.parametrize("told", [{"again": 0}, {"changes": "mood"}, {"argument": 7}])
def test_an_argument_that_makes_no_sense_is_not_named(told: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"argument": "rate", "changes": "value", "again": 29}
    finding = started(before_s=2.0, first_s=1.0, traces=30, **{**usual, **told})
    assert finding.actions[0].startswith("Let train_function() always see")


@pytest.mark.parametrize(
    ("traces", "status"), [(4, Status.PASS), (5, Status.PASS), (6, Status.INFO), (30, Status.INFO)]
)
def test_compiling_again_with_pytorch_is_told_only(traces: int, status: Status) -> None:
    """Two shapes in training and in evaluation are four; 30 layers of one class may be 30."""
    finding = started(
        before_s=2.0,
        first_s=1.0,
        traces=traces,
        name="forward",
        framework="torch",
        file="/job/net.py",
        line=7,
    )
    assert finding.status is status
    if status is not Status.PASS:
        assert finding.title == (
            f"PyTorch compiled forward() {traces} times: for as many modules, or again and again"
        )
        assert finding.where == (Frame("forward", "/job/net.py", 7),)
        assert finding.actions[0].startswith("Let forward() (net.py:7) see nothing new")
        assert "mark_dynamic" in finding.actions[0]


def test_what_pytorch_gave_up_is_a_warning_in_any_run() -> None:
    finding = started(
        before_s=2.0, first_s=1.0, traces=8, framework="torch", steps=3000, given_up=True
    )
    assert finding.status is Status.WARN
    assert finding.title == (
        "PyTorch compiled train_function() 8 times and gave up: it runs uncompiled for what is new"
    )


def test_tracing_in_few_of_many_steps_is_told_only() -> None:
    """Batches of 30 lengths in 3,000 steps: each is traced once."""
    finding = started(before_s=2.0, first_s=1.0, traces=30, steps=3000)
    assert finding.status is Status.INFO


def test_several_models_share_a_name() -> None:
    """Two networks that are trained and evaluated, with a last, smaller batch."""
    assert started(before_s=2.0, first_s=1.0, traces=8, functions=4).status is Status.PASS


def test_a_window_in_the_middle_has_no_start() -> None:
    builder = TraceBuilder(1, end_s=1e6)
    rank = builder.rank(0).init(2.0)
    for step in range(200):
        rank.step(step, 2.0 + step, 3.0 + step)
    trace = builder.ended(202.0, after_s=0.1)
    options = Options(focus="step:150-199")
    assert analyze_trace(trace, options).findings["start_up"].status is Status.PASS


def test_tracing_twice_is_ordinary() -> None:
    assert started(before_s=2.0, first_s=1.0, traces=2).status is Status.PASS


def test_a_model_made_anew_is_told_from_tracing_again() -> None:
    finding = started(before_s=2.0, first_s=1.0, traces=30, functions=30)
    assert finding.status is Status.FAIL
    assert finding.title.startswith("train_function() is built and compiled 30 times")
    assert "once, before the loop" in finding.actions[0]


def test_models_that_take_steps_are_no_model_made_anew() -> None:
    """An ensemble of 25 networks, each built once, over ten times as many and more steps."""
    assert started(before_s=2.0, first_s=1.0, traces=25, functions=25, steps=600).status is (
        Status.PASS
    )


def test_tracing_a_few_times_is_a_warning() -> None:
    assert started(before_s=2.0, first_s=1.0, traces=5).status is Status.WARN


def test_a_pipeline_in_every_call_is_told_from_a_model_made_anew() -> None:
    finding = started(
        before_s=2.0, first_s=1.0, traces=600, functions=600, name="Dataset_flat_map_slices"
    )
    assert finding.title.startswith("A tf.data pipeline is built 600 times")
    assert "predict_on_batch" in finding.actions[0]


def test_idle_cpus_of_one_node_are_told_although_another_waits() -> None:
    builder = TraceBuilder(2, end_s=12.0)
    for number, (busy, delay) in enumerate(((0.2, 0.5), (1.0, 0.0))):
        rank = builder.rank(number).init(1.0).finalize(11.0)
        rank.set(host=f"n{number}", cpus_allowed="0-3", cpu_count_allowed=4)
        for tick in range(10, 111):
            at = tick / 10
            rank.process_sample(at, cpu_s=at * busy, queue_delay_s=at * delay)
    finding = idle_of(builder.build())
    assert finding.status is Status.INFO
    assert finding.ranks == (1,)
