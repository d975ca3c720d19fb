"""What stack samples tell of programs without a marker."""

from collections.abc import Mapping, Sequence

import pytest

from perfscope.attribution.ledger import Ledger
from perfscope.attribution.stack_rules import UNLABELED, is_user_file, label_stacks
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options, Results
from perfscope.schema.enums import Account, PhaseKind
from tests.support.trace_builder import TraceBuilder

Stack = tuple[tuple[str, str, int], ...]
File = "/home/user/train.py"
MAIN = ("<module>", File, 300)
TRAIN = (MAIN, ("train", File, 100))
STEP = (*TRAIN, ("forward", File, 40), ("dot", "/venv/lib/python3.11/site-packages/numpy/x.py", 5))
EVALUATE = (*TRAIN, ("evaluate", File, 212), ("forward", File, 40))
LOAD = (*TRAIN, ("load_batch", File, 60))
SAVE = (*TRAIN, ("save_model", File, 70), ("dump", "/usr/lib/python3.11/pickle.py", 9))
OTHER = (MAIN, ("crunch", File, 7))


def seconds(ledger: Ledger, account: Account, rank: int = 0) -> float:
    return float(ledger.ns[list(Account).index(account), rank]) / 1e9


def labels_of(
    *stacks: tuple[tuple[str, str, int], ...], rules: tuple[tuple[str, str], ...] = ()
) -> list[str | None]:
    builder = TraceBuilder(1, end_s=1.0)
    for stack in stacks:
        builder.stack(stack)
    labels = label_stacks(builder.build(), rules)
    return [labels.ids[i] if i != UNLABELED else None for i in labels.label.tolist()]


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("/home/user/train.py", True),
        ("train.py", True),
        ("<string>", True),
        ("/home/user/lib/python/mine.py", True),
        ("/usr/lib/python3.11/queue.py", False),
        ("/venv/lib/python3.11/site-packages/numpy/core.py", False),
        ("/usr/lib/python3/dist-packages/x.py", False),
        ("<frozen importlib._bootstrap>", False),
        ("/usr/lib64/python3.9/threading.py", False),
        ("/opt/perfscope_agent/stacks.py", False),
        ("/tmp/__autograph_generated_filep4igfk7.py", False),
        ("", False),
    ],
)
def test_whose_file(file: str, own: bool) -> None:
    assert is_user_file(file) is own


def test_names_tell_phases() -> None:
    assert labels_of(TRAIN, STEP, EVALUATE, LOAD, SAVE, OTHER) == [
        "train",
        "train",
        "evaluate",
        "input",
        "checkpoint",
        None,
    ]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("constrain_step", None),
        ("apply_strain", None),
        ("invalidate_cache", None),
        ("pretrain", "train"),
        ("_train_epoch", "train"),
        ("trainStep", "train"),
        ("runValidation", "evaluate"),
        ("cross_validate", "evaluate"),
        ("EvalLoop", "evaluate"),
        ("nextMiniBatch", "input"),
        ("report", "user:progress"),
        ("display_images", "user:progress"),
        ("log_accuracy", "user:progress"),
        ("log_loss", None),  # a loss function as well
        ("compute_loss", None),
        ("compute_accuracy", None),  # only where steps show that it is rare
    ],
)
def test_names_are_read_word_by_word(name: str, label: str | None) -> None:
    assert labels_of((MAIN, (name, File, 5))) == [label]


def test_the_innermost_match_wins_but_train_comes_last() -> None:
    inside = (*EVALUATE, ("load_batch", File, 1))
    around = ((MAIN, ("evaluate", File, 1), ("train_step", File, 2)),)
    assert labels_of(inside, *around) == ["input", "evaluate"]


def test_case_and_qualified_names() -> None:
    assert labels_of(
        (MAIN, ("Trainer.EvaluateAll", File, 1)), (MAIN, ("Trainer.run", File, 1))
    ) == ["evaluate", None]


def test_library_functions_tell_nothing_by_default_but_queues_do() -> None:
    library = "/venv/lib/python3.11/site-packages/pydantic/main.py"
    queue = (MAIN, ("get", "/usr/lib/python3.11/queue.py", 171))
    assert labels_of((MAIN, ("validate", library, 1)), queue) == [None, "input"]


def test_the_users_rules_come_first() -> None:
    rules = (("crunching", "CRUNCH"), ("train", "evaluate"))
    assert labels_of(OTHER, EVALUATE, rules=rules) == ["user:crunching", "train"]


def test_which_frame_speaks_for_a_stack() -> None:
    builder = TraceBuilder(1, end_s=1.0)
    for stack in (EVALUATE, STEP, (("run", "/usr/lib/python3.11/runpy.py", 3),)):
        builder.stack(stack)
    trace = builder.build()
    labels = label_stacks(trace)
    names = [frame.function for frame in trace.frames]
    assert [names[i] for i in labels.user_frame] == ["forward", "forward", "run"]
    assert [names[i] for i in labels.label_frame] == ["evaluate", "forward", "run"]
    assert [names[i] if i >= 0 else "" for i in labels.caller] == ["train", "train", ""]


def run(gaps: Sequence[tuple[float, Mapping[float, Stack]]]) -> Results:
    """One rank: gaps of given length with samples at given offsets, barriers between."""
    builder = TraceBuilder(1, end_s=sum(length for length, _ in gaps) + 0.1 * len(gaps) + 1.0)
    rank = builder.rank(0).init(0.0)
    now = 0.0
    for length, samples in gaps:
        for offset, stack in samples.items():
            rank.stack(now + offset, stack)
        rank.op("MPI_Barrier", now + length, now + length + 0.1)
        now += length + 0.1
    rank.finalize(now)
    return compute(builder.build())


def test_a_whole_gap_belongs_to_its_samples() -> None:
    results = run([(1.0, {0.4: STEP}), (2.0, {0.3: EVALUATE, 1.1: EVALUATE}), (1.0, {0.5: STEP})])
    assert seconds(results.ledger, Account.EVALUATION) == pytest.approx(2.0)
    assert seconds(results.ledger, Account.TRAINING) == pytest.approx(2.0)
    phase = next(phase for phase in results.phases if phase.kind is PhaseKind.EVALUATE)
    assert (phase.source, phase.count) == ("sampled", 1)
    assert [window[0] for window in phase.windows_s] == [0]
    assert phase.windows_s[0][1:] == pytest.approx((1.1, 3.1))
    assert phase.where[0].function == "evaluate"
    assert phase.where[0].line == 212
    assert results.efficiency.training_efficiency.value is not None


def test_mixed_gaps_split_midway() -> None:
    results = run([(2.0, {0.5: STEP, 1.5: EVALUATE})])
    assert seconds(results.ledger, Account.TRAINING) == pytest.approx(1.0)
    assert seconds(results.ledger, Account.EVALUATION) == pytest.approx(1.0)


def test_gaps_without_samples_follow_their_kind_when_it_agrees() -> None:
    sampled = [(0.02, {0.01: STEP})] * 10
    results = run([(0.02, {})] + [(0.02, {})] * 30 + sampled + [(0.02, {})] * 5)
    # the very first gap follows no barrier: it is of a kind of its own
    assert seconds(results.ledger, Account.TRAINING) == pytest.approx(45 * 0.02, abs=0.021)
    assert results.ledger.unlabeled_share < 0.02


def test_long_gaps_do_not_speak_for_short_ones() -> None:
    evaluation = (3.0, {0.1 * i: EVALUATE for i in range(1, 30)})
    results = run([(0.02, {0.01: STEP})] * 3 + [evaluation, *[(0.02, {})] * 20])
    assert seconds(results.ledger, Account.EVALUATION) == pytest.approx(3.0)
    assert seconds(results.ledger, Account.TRAINING) == pytest.approx(23 * 0.02)


def test_kinds_that_disagree_are_shared_out_by_the_nearest_sample() -> None:
    bare: list[tuple[float, Mapping[float, Stack]]] = [(0.02, {})] * 4
    mixed = [(0.02, {0.01: STEP}), *bare, (0.02, {0.01: LOAD}), *bare]
    results = run(mixed * 10)
    total = 100 * 0.02
    assert seconds(results.ledger, Account.TRAINING) == pytest.approx(total / 2, rel=0.1)
    assert seconds(results.ledger, Account.INPUT_WAIT) == pytest.approx(total / 2, rel=0.1)


def test_unknown_functions_are_computation_and_unsampled_time_is_untraced() -> None:
    results = run([(1.0, {0.5: OTHER}), (0.3, {})])
    assert seconds(results.ledger, Account.COMPUTATION) == pytest.approx(1.0)
    assert seconds(results.ledger, Account.UNTRACED) == pytest.approx(0.3)
    assert results.ledger.unlabeled_ns.tolist() == [300_000_000]
    assert results.efficiency.training_efficiency.value is None
    share = results.ledger.functions[0]
    assert (share.function, share.line, share.account) == ("crunch", 7, Account.COMPUTATION)
    assert share.seconds == pytest.approx(1.0)


def test_a_near_sample_names_the_function_of_a_gap_without_kin() -> None:
    results = run([(1.0, {0.2: OTHER, 0.4: OTHER, 0.6: OTHER, 0.9: OTHER}), (0.1, {})])
    assert seconds(results.ledger, Account.COMPUTATION) == pytest.approx(1.1)


def test_marked_phases_are_left_alone() -> None:
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0).init(0.0).finalize(10.0)
    rank.phase(PhaseKind.CHECKPOINT, 2.0, 4.0)
    for tenth in range(1, 100):
        rank.stack(tenth / 10, EVALUATE)
    results = compute(builder.build())
    assert seconds(results.ledger, Account.CHECKPOINT) == pytest.approx(2.0)
    assert seconds(results.ledger, Account.EVALUATION) == pytest.approx(8.0)
    evaluate = next(phase for phase in results.phases if phase.id == "evaluate")
    assert evaluate.count == 2
    checkpoint = next(phase for phase in results.phases if phase.id == "checkpoint")
    assert checkpoint.source == "marker"


def test_samples_name_no_training_where_training_is_marked() -> None:
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0).init(0.0).finalize(10.0).step(0, 1.0, 3.0)
    for tenth in range(1, 100):
        rank.stack(tenth / 10, STEP)
    results = compute(builder.build())
    assert seconds(results.ledger, Account.TRAINING) == pytest.approx(2.0)
    assert seconds(results.ledger, Account.COMPUTATION) == pytest.approx(8.0)


def test_the_users_own_phase_from_a_rule() -> None:
    builder = TraceBuilder(1, end_s=2.0)
    builder.rank(0).init(0.0).finalize(2.0).stack(1.0, OTHER)
    results = compute(builder.build(), Options(phase_rules=(("crunching", "crunch"),)))
    assert seconds(results.ledger, Account.USER_PHASES) == pytest.approx(2.0)
    assert [phase.id for phase in results.phases] == ["user:crunching"]


def test_samples_of_other_threads_say_nothing_of_the_main_one() -> None:
    builder = TraceBuilder(1, end_s=2.0)
    builder.rank(0).init(0.0).finalize(2.0).stack(1.0, OTHER, tid=5)
    assert compute(builder.build()).ledger.unlabeled_ns.tolist() == [2 * 10**9]


def test_samples_of_the_start_up_do_not_speak_for_the_work() -> None:
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0).init(1.0, enter_s=0.8)
    rank.stack(0.9, [("<module>", "/w/train.py", 3)])
    rank.op("MPI_Barrier", 1.08, 1.5)
    rank.stack(1.9, [("work", "/w/train.py", 30)]).op("MPI_Barrier", 2.0, 2.1).finalize(9.0)
    results = compute(builder.build())
    assert "<module>" not in [share.function for share in results.ledger.functions]
    assert results.ledger.ns[list(Account).index(Account.UNTRACED), 0] > 0


OF_MAIN, OF_ANOTHER, NOWHERE = None, 77, -1


@pytest.mark.parametrize(
    ("marked", "waited_s"), [(OF_MAIN, 1.0), (OF_ANOTHER, 2.0), (NOWHERE, 2.0)]
)
def test_what_is_loaded_before_the_first_batch_is_no_wait_for_one(
    marked: int | None, waited_s: float
) -> None:
    """Where a framework marks the batches, names tell no other ones: here 2 s before the first."""
    builder = TraceBuilder(2, end_s=14.0)
    for rank in (builder.rank(0), builder.rank(1)):
        rank.init(0.9).op("MPI_Barrier", 0.95, 0.96, comm=0, seq=0)
        for look in range(20):
            rank.stack(1.0 + 0.1 * look, (MAIN, ("load_batch", File, 50)))
        for step in range(50):
            begin = 3.0 + 0.2 * step
            rank.step(step, begin, begin + 0.2)
            if marked != NOWHERE:
                rank.phase(PhaseKind.INPUT, begin, begin + 0.02, tid=marked)
            rank.stack(begin + 0.1, STEP)
            rank.op("MPI_Allreduce", begin + 0.18, begin + 0.2, comm=0, seq=step + 1)
        rank.finalize(13.5)
    ledger = compute(builder.build(), Options()).ledger
    assert seconds(ledger, Account.INPUT_WAIT) == pytest.approx(waited_s, abs=0.15)


@pytest.mark.parametrize("first_marked", [25, 49, 50], ids=["half", "last", "none"])
def test_batches_that_nobody_marks_are_waited_for_once_steps_run(first_marked: int) -> None:
    """Each of 50 steps loads a batch by itself; a loader of a framework comes later, if at all."""
    builder = TraceBuilder(2, end_s=14.0)
    for rank in (builder.rank(0), builder.rank(1)):
        rank.init(0.9).op("MPI_Barrier", 0.95, 0.96, comm=0, seq=0)
        for step in range(50):
            begin = 1.0 + 0.2 * step
            rank.step(step, begin, begin + 0.2)
            for look in (0.02, 0.06):
                rank.stack(begin + look, (MAIN, ("load_batch", File, 50)))
            for look in (0.12, 0.16):
                rank.stack(begin + look, STEP)
            if step >= first_marked:
                rank.phase(PhaseKind.INPUT, begin + 0.17, begin + 0.171)
            rank.op("MPI_Allreduce", begin + 0.18, begin + 0.2, comm=0, seq=step + 1)
        rank.finalize(11.0)
    ledger = compute(builder.build(), Options()).ledger
    assert seconds(ledger, Account.INPUT_WAIT) == pytest.approx(50 * 0.09, rel=0.05)
