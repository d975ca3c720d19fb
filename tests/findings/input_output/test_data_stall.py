"""Waiting for input: how long, whose setting helps, and silence where there is none."""

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from perfscope.attribution.stack_rules import BUILT_IN, SYSTEM_CALL
from perfscope.findings.core.finding import Finding
from perfscope.findings.core.wording import place
from perfscope.schema.enums import AwaitedThing, Basis, Status
from tests.findings.analyzed import analyze, analyze_trace
from tests.findings.training_runs import Plan, training_run
from tests.replay.test_input_queues import Plan as Queues
from tests.replay.test_input_queues import length_of, recorded
from tests.support.trace_builder import TraceBuilder

LOADER = {
    "workers": 0,
    "prefetch_factor": None,
    "persistent_workers": False,
    "pin_memory": False,
    "batch_size": 32,
}


STARTED = [
    (name, "/usr/lib/python3.12/threading.py", 1000)
    for name in ("Thread._bootstrap", "Thread._bootstrap_inner", "Thread.run")
]
"""How the stack of every thread begins."""


def judged(plan: Plan) -> Finding:
    return analyze(plan).findings["data_stall"]


def with_torch(builder: TraceBuilder, **settings: object) -> None:
    loaders = [{**LOADER, **settings}]
    torch = {"version": "2.9", "input_wait": "DataLoader", "loaders": loaders}
    for number in range(4):
        builder.rank(number).set(metadata={"frameworks": {"torch": torch}})


def test_every_rank_starves() -> None:
    finding = judged(Plan(steps=100, input_s=0.1))
    assert finding.status is Status.FAIL
    assert finding.title.startswith("The ranks wait for input")
    assert finding.gain_basis is Basis.REPLAY
    assert finding.gain_s == pytest.approx(10.0, rel=0.01)
    assert finding.ranks == (0, 1, 2, 3)


def test_one_rank_starves() -> None:
    """The others wait for it: what it waits beyond its ordinary 4 ms is given back, and those."""
    finding = judged(Plan(steps=100, starved_rank=2, starved_s=0.1, jitter=0.0))
    assert finding.status is Status.FAIL
    assert finding.title.startswith("Rank 2 waits for input")
    assert finding.ranks == (2,)
    assert finding.gain_s == pytest.approx(10.4, rel=1e-6)
    assert "load_imbalance" in finding.overlaps


def test_healthy_is_silent() -> None:
    finding = judged(Plan(steps=100, input_s=0.001))
    assert finding.status is Status.PASS
    assert not finding.actions
    assert not finding.ranks


@pytest.mark.parametrize(("run_s", "status"), [(3.0, Status.FAIL), (60.0, Status.PASS)])
def test_what_is_little_also_of_the_run_passes(run_s: float, status: Status) -> None:
    """4.5 % of ten steps: 4 % of a run of 3 s, 0.2 % of one of 60 s."""
    trace = training_run(Plan(steps=10, input_s=0.012))
    finding = analyze_trace(replace(trace, wall_ns=round(run_s * 1e9))).findings["data_stall"]
    assert finding.gain_s == pytest.approx(0.12, rel=0.1)
    assert finding.status is status


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, ["num_workers=1 or more"]),
        ({"workers": 2, "prefetch_factor": 2}, ["from 2 to 4", "persistent_workers=True"]),
        ({"workers": "many"}, ["threads or processes"]),
    ],
)
def test_the_loader_names_the_setting(settings: dict[str, object], words: list[str]) -> None:
    trace = training_run(
        Plan(steps=50, input_s=0.2), change=lambda builder: with_torch(builder, **settings)
    )
    actions = " ".join(analyze_trace(trace).findings["data_stall"].actions)
    for word in words:
        assert word in actions


@pytest.mark.parametrize(
    ("workers", "busy", "word"),
    [
        (4, 3.9, "more than 4 workers of the DataLoader would only share them."),
        (0, 3.9, "were busy in this run, so workers of the DataLoader would only share them."),
        (0, 2.5, "Set num_workers=1 or more"),
        (4, 2.5, "from 4 to 8 (1 CPU of host node0 idle)"),
    ],
)
def test_more_workers_are_advised_where_cpus_idle(workers: int, busy: float, word: str) -> None:
    """CPUs that processes beside the ranks use, such as the workers of a loader, are not idle."""

    def change(builder: TraceBuilder) -> None:
        with_torch(builder, workers=workers)
        for number in range(4):
            rank = builder.rank(number).set(cpu_count_allowed=4)
            for second in range(8):
                rank.cpu_sample(second, busy_s=busy * second, used_s=busy * second, cpus=4)

    trace = training_run(Plan(steps=50, input_s=0.2), change=change)
    first = analyze_trace(trace).findings["data_stall"].actions[0]
    assert word in first
    assert ("ake batches cheaper" in first) is ("would only share" in first)
    assert first.startswith("In ") is ("would only share" in first and workers == 0)


@pytest.mark.parametrize(("of_ten", "is_told"), [(10, True), (5, False), (0, False)])
def test_what_each_look_up_decompresses_is_to_be_kept(*, of_ten: int, is_told: bool) -> None:
    """That comes before more workers, which would only decompress it beside each other."""
    own = ("Shards.__getitem__", "/job/train.py", 47)
    look_up = ("NpzFile.__getitem__", "/usr/lib/python3/site-packages/numpy/lib/npyio.py", 257)
    unpacking = [own, look_up, (".decompress", BUILT_IN, 0)]

    def change(builder: TraceBuilder) -> None:
        with_torch(builder)
        for number in range(4):
            for at in range(300):
                stack = unpacking if 7 * at % 10 < of_ten else [own]
                builder.rank(number).stack(2.0 + 0.037 * at, stack)

    first = analyze_trace(training_run(Plan(steps=50, input_s=0.2), change=change))
    actions = first.findings["data_stall"].actions
    assert ("NpzFile.__getitem__() (npyio.py:257) decompresses" in actions[0]) is is_told
    assert any("num_workers" in action for action in actions)


def test_tensorflow_names_its_pipeline() -> None:
    def tensorflow(builder: TraceBuilder) -> None:
        builder.rank(0).set(metadata={"frameworks": {"tensorflow": {"version": "2.15.1"}}})

    trace = training_run(Plan(steps=50, input_s=0.2, ranks=1), change=tensorflow)
    finding = analyze_trace(trace).findings["data_stall"]
    assert finding.status is Status.FAIL
    assert "prefetch(tf.data.AUTOTUNE)" in finding.actions[0]


def test_what_cannot_be_seen_is_not_measured() -> None:
    reason = "the batch is taken inside the compiled function"

    def keras(builder: TraceBuilder) -> None:
        metadata = {"frameworks": {"keras": {"input_wait": None, "input_wait_reason": reason}}}
        for number in range(2):
            builder.rank(number).set(metadata=metadata)

    trace = training_run(Plan(ranks=2, steps=50, markers=False), change=keras)
    finding = analyze_trace(trace).findings["data_stall"]
    assert finding.status is Status.NOT_MEASURED
    assert "inside the compiled function" in finding.summary
    assert "--tf-profiler" in finding.summary
    assert "TensorBoard's input pipeline analyzer" in finding.summary


def test_nothing_recorded_names_the_flag() -> None:
    builder = TraceBuilder(2, end_s=11.0)
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(10.0).op("MPI_Barrier", 5.0, 6.0)
    finding = analyze_trace(builder.build()).findings["data_stall"]
    assert finding.status is Status.NOT_MEASURED
    assert "--stack-hz" in finding.summary


def test_more_producers_are_priced_where_the_queue_was_recorded() -> None:
    plan = Queues(evaluate_s=0.0, service_s=0.15)
    finding = analyze_trace(recorded(plan)).findings["data_stall"]
    assert finding.status is Status.FAIL
    given_back = length_of(plan) - length_of(replace(plan, producers=2))
    told = re.search(r"2 save (\S+) s", finding.actions[0])
    assert told is not None, finding.actions
    assert float(told[1]) == pytest.approx(given_back, rel=0.05)


def test_the_queue_tells_producer_against_consumer() -> None:
    """A batch is made in 150 ms by one thread; work on it, evaluation and an allreduce: 110 ms."""
    plan = Queues(evaluate_s=0.0, service_s=0.15, spread=0.01)
    finding = analyze_trace(recorded(plan)).findings["data_stall"]
    rows = {row.label: row.value for row in finding.evidence}
    assert rows["Batches that the input queue holds at most"] == plan.depth
    assert rows["Threads that put batches into it"] == 1
    assert rows["One of them makes a batch in, median"] == pytest.approx(0.15, rel=0.02)
    assert rows["The training works on a batch for, median"] == pytest.approx(0.11, rel=0.02)


@pytest.mark.parametrize(
    ("service_s", "queued", "status"),
    [
        (0.03, 0.5, Status.INFO),
        (0.03, 0.1, Status.FAIL),  # 2 of 6 s explained
        (0.03, None, Status.FAIL),
        (0.1, 0.5, Status.FAIL),  # the producer needs as long as the training
    ],
)
def test_batches_that_come_late_for_want_of_cpus(
    service_s: float, queued: float | None, status: Status
) -> None:
    """Every get takes 50 ms, whatever there is in the queue: 6 s of 19 s."""
    plan = Queues(evaluate_s=0.0, service_s=service_s, spread=0.01, overhead_s=0.05, queued=queued)
    finding = analyze_trace(recorded(plan)).findings["data_stall"]
    assert finding.status is status
    assert (finding.gain_s is None) == (status is Status.INFO)
    assert ("CPUs that nobody else uses" in finding.actions[0]) == (status is Status.INFO)


@pytest.mark.parametrize(
    ("counts", "status"),
    [
        ({"asked": 100, "ready": 95, "ready_ns": 9 * 10**9, "late_ns": 10**9}, Status.WARN),
        ({"asked": 100, "ready": 95, "ready_ns": 10**9, "late_ns": 9 * 10**9}, Status.FAIL),
        ({"asked": 5, "ready": 5, "ready_ns": 10**9, "late_ns": 0}, Status.FAIL),
        ({"asked": 5, "ready": 50, "ready_ns": 10**9, "late_ns": 0}, Status.FAIL),
        ({"asked": "100", "ready": None}, Status.FAIL),
        ([], Status.FAIL),
    ],
)
def test_batches_that_are_there_in_time_are_no_stall(counts: object, status: Status) -> None:
    """A batch takes 100 of 350 ms; the time of those that came late tells whether it is a stall."""
    plan = Plan(ranks=2, steps=100, input_s=0.1)
    finding = loaded(plan, counts)
    assert finding.status is status
    assert finding.gain_basis == (Basis.UPPER_BOUND if status is Status.WARN else Basis.REPLAY)
    assert ("taking them over" in finding.title) == (status is Status.WARN)
    told = {row.label: row.value for row in finding.evidence}
    if status is Status.WARN:
        assert told["Batches that were there when asked for"] == "95 of 100"


def test_taking_batches_over_for_little_is_only_told() -> None:
    counts = {"asked": 100, "ready": 100, "ready_ns": 10**9, "late_ns": 0}
    finding = loaded(Plan(ranks=2, steps=100, input_s=0.015), counts)
    assert (finding.status, finding.gain_s, finding.edits) == (Status.INFO, None, ())


@pytest.mark.parametrize(("queued", "status"), [(0.05, Status.WARN), (1.0, Status.INFO)])
def test_ready_batches_are_taken_over_late_for_want_of_cpus(queued: float, status: Status) -> None:
    """10 of 35 s go by until batches are taken over; the ranks wait for CPUs for 1.75 or 35 s."""
    counts = {"asked": 100, "ready": 95, "ready_ns": 9 * 10**9, "late_ns": 10**9}
    finding = loaded(Plan(ranks=2, steps=100, input_s=0.1), counts, queued=queued)
    assert finding.status is status
    assert ("for want of CPUs" in finding.title) == (status is Status.INFO)
    assert (finding.gain_s is None) == (status is Status.INFO)


def loaded(
    plan: Plan, counts: object, *, queued: float = 0.0, loader: Mapping[str, object] | None = None
) -> Finding:
    """Of a run whose batches PyTorch's loader counted, with seconds without a CPU for each."""

    def tell(builder: TraceBuilder) -> None:
        for number in range(plan.ranks):
            rank = builder.rank(number)
            told = {"batches": counts} | ({"loaders": [loader]} if loader else {})
            rank.set(metadata={"frameworks": {"torch": told}})
            for tick in range(400 if queued else 0):
                at = tick / 10
                rank.process_sample(at, cpu_s=at, queue_delay_s=queued * at)

    return analyze_trace(training_run(plan, change=tell)).findings["data_stall"]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("read_shard", "Most of it is reading: "),
        ("decode", "Most of it is decoding and transforming: "),
        ("collate", "Most of it is copying and putting together: "),
        ("make", ""),
    ],
)
def test_what_making_batches_consists_of(function: str, words: str) -> None:
    """Two of three samples in one function of the producer, the third where it waits for room."""
    queue = ("Queue.put", "/usr/lib/python3.12/queue.py", 3)

    def watch(builder: TraceBuilder) -> None:
        for number in range(2):
            rank = builder.rank(number)
            for tick in range(60):
                busy = tick % 3 > 0
                places = [*STARTED, (function, "/job/train.py", 7)] if busy else [*STARTED, queue]
                rank.stack(2.0 + tick * 0.1, places, tid=rank.main_tid + 1)
            rank.queue(1.5, 1.6, depth=4, is_get=False)
            rank.queue(1.5, 1.7, depth=4, is_get=True)

    plan = Plan(ranks=2, steps=100, input_s=0.1)
    finding = analyze_trace(training_run(plan, change=watch)).findings["data_stall"]
    rows = {row.label: row.value for row in finding.evidence}
    told = str(rows["Seen in the threads that make batches"])
    assert told.startswith("66.7 % ")
    assert told.endswith("33.3 % waiting (of 60 samples)")
    assert finding.title.endswith(f" for batches that threads produce in {function}() (train.py:7)")
    assert finding.where[0].function == function  # the line to change
    assert finding.actions[-1].startswith(words)
    assert finding.actions[-1].startswith("Most of it is") == bool(words)


@pytest.mark.parametrize(
    ("function", "same", "is_told"),
    [("decode", 40, True), ("decode", 39, False), ("collate", 40, False)],
)
def test_samples_that_are_prepared_alike_each_time(
    function: str, same: int, *, is_told: bool
) -> None:
    """They can be kept, unless most of the work is putting them together."""
    items = [{"dataset": "Clips", "compared": 40, "same": same, "bytes": 1 << 10}]
    loaders = [{"dataset": "Clips", "samples": 1 << 12}]
    facts = {"frameworks": {"torch": {"items": items, "loaders": loaders}}}

    def watch(builder: TraceBuilder) -> None:
        for number in range(2):
            rank = builder.rank(number).set(metadata=facts)
            for tick in range(60):
                places = [*STARTED, (function, "/job/train.py", 7)]
                rank.stack(2.0 + tick * 0.1, places, tid=rank.main_tid + 1)
            rank.queue(1.5, 1.6, depth=4, is_get=False)
            rank.queue(1.5, 1.7, depth=4, is_get=True)

    plan = Plan(ranks=2, steps=100, input_s=0.1)
    finding = analyze_trace(training_run(plan, change=watch)).findings["data_stall"]
    assert finding.actions[0].startswith("Prepare each sample once: ") is is_told
    assert ("4.00 MiB for all of them" in finding.actions[0]) is is_told
    rows = {row.label: row.value for row in finding.evidence}
    label = "Samples of Clips that were prepared again and are the same"
    assert rows.get(label) == ("40 of 40 that were compared" if same == 40 else None)


@pytest.mark.parametrize(
    ("makers", "inside", "at", "share"),
    [
        (2, ("unpack", "/job/train.py", 21), "unpack() (train.py:21)", "50.0 %"),
        (4, ("time.sleep", BUILT_IN, 0), "run() (train.py:28)", "75.0 %"),
    ],
)
def test_threads_that_wait_for_each_other_are_not_asked_to_be_more(
    makers: int, inside: tuple[str, str, int], at: str, share: str
) -> None:
    """One unpacks, or waits for a server, while the others wait for its lock."""
    where = ("run", "/job/train.py", 28)
    waits = [*STARTED, where, (".__enter__", BUILT_IN, 0), ("futex", SYSTEM_CALL, 0)]
    works = [*STARTED, where, inside]

    def watch(builder: TraceBuilder) -> None:
        for number in range(2):
            rank = builder.rank(number)
            for maker in range(1, makers + 1):
                for tick in range(60):
                    stack = works if (tick + maker) % makers == 1 else waits
                    rank.stack(2.0 + tick * 0.1, stack, tid=rank.main_tid + maker)
                tid = rank.main_tid + maker
                rank.queue(1.5, 1.6, depth=4, is_get=False, tid=tid)
            rank.queue(1.5, 1.7, depth=4, is_get=True)

    plan = Plan(ranks=2, steps=30, input_s=1.0)
    analyzed = analyze_trace(training_run(plan, change=watch))
    finding = analyzed.findings["data_stall"]
    assert finding.actions[0].startswith(
        f"Move {at} out of the lock; hold the lock only while touching shared data. The {makers} "
        "batch threads on rank 0 take turns: one works while the others wait in run() "
        f"(train.py:28), in {share} of their samples."
    )
    assert not any("more threads" in action for action in finding.actions)
    assert place(finding.where[0]) == at
    assert finding.holder is not None
    assert finding.holder.kind is AwaitedThing.LOCK
    assert finding.first is not None
    assert finding.first.is_bound
    length_s = analyzed.results.focus.length_ns * 1e-9
    # without that part of their time they are still slower than the training, and set its pace
    assert finding.first.seconds == pytest.approx(length_s * float(share[:2]) / 100, rel=0.01)


def test_more_producers_have_no_price_where_no_queue_was_seen() -> None:
    assert "save" not in judged(Plan(steps=100, input_s=0.1)).actions[0]
