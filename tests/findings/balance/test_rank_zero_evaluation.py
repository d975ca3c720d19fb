"""Evaluation on one rank: any rank, marked or not, and told from imbalance."""

import re
from collections.abc import Sequence

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.replay.model import Edit
from perfscope.schema.enums import Basis, Confidence, PhaseKind, Status
from tests.findings import training_runs
from tests.findings.analyzed import analyze, analyze_trace
from tests.findings.training_runs import Plan, training_run
from tests.support.trace_builder import FrameLike, TraceBuilder


def judged(plan: Plan) -> Finding:
    return analyze(plan).findings["rank_zero_evaluation"]


@pytest.mark.parametrize("rank", [0, 1])
def test_names_the_rank_of_two(rank: int) -> None:
    finding = judged(Plan(ranks=2, steps=100, evaluate_s=1.0, evaluate_rank=rank))
    assert finding.status is Status.FAIL
    assert finding.title == (
        f"Rank {rank} evaluates alone in evaluate() (train.py:212) while rank {1 - rank} waits"
    )
    assert finding.gain_basis is Basis.REPLAY
    assert finding.gain_s == pytest.approx(5.0, abs=0.1)


def test_one_evaluation_in_a_few_steps_has_no_interval() -> None:
    finding = judged(Plan(ranks=2, steps=5, evaluate_s=1.0, evaluate_every=5))
    assert finding.gain_basis is Basis.REPLAY
    assert finding.gain_s == pytest.approx(1.0, abs=0.1)
    assert finding.gain_interval_s is None


def test_needs_no_marker() -> None:
    finding = judged(Plan(steps=100, evaluate_s=2.0, markers=False))
    assert finding.status is Status.FAIL
    assert "evaluate() (train.py:212)" in finding.title
    assert finding.gain_s == pytest.approx(10.0, rel=0.05)


def test_names_a_function_that_no_rule_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_runs, "EVALUATOR", ("score", "/job/train.py", 99))
    finding = judged(Plan(steps=100, evaluate_s=2.0, markers=False))
    assert finding.status is Status.FAIL
    assert finding.title == (
        "Rank 0 runs what looks like an evaluation alone in score() (train.py:99) while 3 ranks "
        "wait"
    )
    assert finding.confidence is Confidence.MEDIUM
    assert finding.gain_s == pytest.approx(10.0, rel=0.05)


def test_progress_output_of_one_rank_keeps_the_others_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training_runs, "EVALUATOR", ("print_progress", "/job/train.py", 99))
    found = analyze(Plan(steps=100, evaluate_s=2.0, markers=False)).findings
    finding = found["rank_zero_evaluation"]
    assert finding.status is Status.FAIL
    assert finding.title == (
        "Rank 0 computes its progress output alone in print_progress() (train.py:99) while 3 ranks "
        "wait"
    )
    assert finding.gain_s == pytest.approx(10.0, rel=0.05)
    told = {row.label: row.value for row in finding.evidence}
    assert told["Gain if done half as often"] == pytest.approx(5.0, abs=1.1)
    assert found["frequent_evaluation"].status is Status.PASS
    assert found["load_imbalance"].status is not Status.FAIL


def test_shared_evaluation_passes() -> None:
    finding = judged(Plan(steps=100, evaluate_s=1.0, evaluators=4))
    assert finding.status is Status.PASS
    assert "4 of 4 ranks" in finding.summary


def test_half_a_percent_does_not_fail() -> None:
    finding = judged(Plan(steps=100, evaluate_s=0.02))
    assert finding.status is Status.PASS


def test_a_slow_rank_is_not_evaluation() -> None:
    assert judged(Plan(steps=100, slow_rank=1, slow_forward_s=0.1)).status is Status.PASS


def test_one_rank_waits_for_nobody() -> None:
    finding = judged(Plan(ranks=1, steps=50, evaluate_s=1.0))
    assert finding.status is Status.NOT_APPLICABLE


def test_nothing_seen_names_the_flag() -> None:
    builder = TraceBuilder(2, end_s=11.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).finalize(10.0)
        rank.op("MPI_Barrier", 5.0, 6.0)
    finding = analyze_trace(builder.build()).findings["rank_zero_evaluation"]
    assert finding.status is Status.NOT_MEASURED
    assert "--stack-hz" in finding.summary


@pytest.mark.parametrize("every", [1, 2])
def test_checkpoints_of_one_rank_have_their_own_advice(every: int) -> None:
    """Half a second each; those of every step are to be rarer before they are written behind."""
    builder = TraceBuilder(2, end_s=31.0)
    at = [1.0, 1.0]
    for step in range(10):
        is_saved = step % every == 0
        begins = [at[0] + 0.5 * is_saved, at[1]]
        if is_saved:
            builder.rank(0).phase(PhaseKind.CHECKPOINT, at[0], begins[0])
        for number, begin in enumerate(begins):
            builder.rank(number).step(step, at[number], max(at) + 1.6)
            builder.rank(number).phase(PhaseKind.TRAIN, begin, begin + 1.0)
            builder.rank(number).op("MPI_Allreduce", begin + 1.0, max(at) + 1.6)
        at = [max(at) + 1.6] * 2
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(at[number])
    finding = analyze_trace(builder.build()).findings["rank_zero_evaluation"]
    assert finding.status is Status.FAIL
    assert "saves a checkpoint alone" in finding.title
    assert finding.gain_s == pytest.approx(5.0 / every, abs=1e-6)
    behind, rarer = (finding.actions[0], finding.actions[1])[:: 1 if every == 2 else -1]
    assert "background" in behind
    assert ("once an epoch" in rarer) is (every == 1)
    assert finding.recommended is not None
    assert finding.recommended.seconds == pytest.approx(2.5, rel=0.01)


def test_without_a_replay_the_stall_bounds_the_gain() -> None:
    def put(builder: TraceBuilder) -> None:
        builder.rank(0).op("MPI_Put", 1.0001, 1.0002, peer=1, sent=8)
        builder.rank(1).op("MPI_Win_flush", 1.0001, 1.0003)

    analyzed = analyze_trace(training_run(Plan(ranks=2, evaluate_s=2.0), change=put))
    assert not analyzed.replay.available
    assert "MPI_Win_flush (1 call)" in analyzed.replay.reason
    finding = analyzed.findings["rank_zero_evaluation"]
    assert finding.status is Status.FAIL
    assert finding.gain_basis is Basis.UPPER_BOUND
    assert finding.gain_interval_s is None
    # nobody waits at a collective for the last of the ten evaluations
    assert finding.gain_s == pytest.approx(18.0, rel=0.15)


def test_replays_what_it_found() -> None:
    finding = judged(Plan(steps=100, evaluate_s=1.0))
    assert [type(edit) for edit in finding.edits] == [Edit]
    assert finding.edits[0].ranks == (0,)


def test_once_is_enough() -> None:
    finding = judged(Plan(steps=100, evaluate_s=5.0, evaluate_every=60))
    # how long another one would take is not known, so there is no interval
    assert finding.gain_interval_s is None
    assert (finding.status, finding.confidence) == (Status.FAIL, Confidence.MEDIUM)
    assert "Rank 0 evaluates alone once, 5.00 s. " in finding.summary
    assert not any("half as often" in one for one in finding.actions)  # it comes once


def test_a_part_of_a_saving_has_that_part_of_its_interval() -> None:
    """Of four ranks each does a quarter, where unlabeled work is dealt out."""
    finding = judged(Plan(steps=200, evaluate_s=2.0, markers=False))
    first = finding.recommended
    assert first is not None
    assert first.interval_s is not None
    assert finding.gain_interval_s is not None
    part = [0.75 * one for one in finding.gain_interval_s]
    assert first.interval_s == pytest.approx(part, rel=0.01)
    assert first.interval_s[0] <= first.seconds <= first.interval_s[1]
    assert "each rank then spends " in finding.actions[0]


def test_work_of_one_rank_claims_no_more_than_it_takes() -> None:
    """Every 5th step rank 0 sums up for 0.1 s; in each step it also takes 0.2 s longer to sort."""
    builder = TraceBuilder(2, end_s=80.0)
    at = 1.0
    for step in range(100):
        summed_s = 0.1 if step % 5 == 4 else 0.0
        for number, sorted_s in enumerate((0.4, 0.2)):
            rank = builder.rank(number)
            for hundredth in range(0, int(100 * sorted_s), 2):
                rank.stack(at + hundredth / 100, [("sort", "/job/train.py", 12)])
            rank.op("MPI_Allreduce", at + sorted_s + (0.0 if number else summed_s), at + 0.55)
        for hundredth in range(0, int(100 * summed_s), 2):
            builder.rank(0).stack(at + 0.4 + hundredth / 100, [("total", "/job/train.py", 40)])
        at += 0.55
    for number in range(2):
        builder.rank(number).init(1.0).finalize(at)
    finding = analyze_trace(builder.build()).findings["rank_zero_evaluation"]
    assert finding.ranks == (0,)
    assert finding.gain_s == pytest.approx(2.0, rel=0.2)
    assert finding.recommended is not None
    assert finding.recommended.seconds == pytest.approx(1.0, rel=0.2)


def test_a_function_of_the_training_step_is_not_serial_work() -> None:
    """One stray sample outside the marked phases does not make its function a cause of its own."""

    def stray(builder: TraceBuilder) -> None:
        spend = [training_runs.TRAINER, ("spend", "/job/faults.py", 53)]
        at = 1.0
        for _ in range(20):
            for number in (0, 1):
                end = at + (0.9 if number else 0.4)
                builder.rank(number).phase(PhaseKind.FORWARD, at, end)
                if number:
                    builder.rank(1).stack(at + 0.45, spend)
                    builder.rank(1).stack(at + 0.85, spend)
                else:
                    builder.rank(0).stack(at + 0.2, [training_runs.TRAINER])
                builder.rank(number).op("MPI_Allreduce", end, at + 1.0)
            at += 1.0
        builder.rank(1).stack(at + 0.2, spend)
        builder.rank(0).op("MPI_Allreduce", at + 0.01, at + 0.5)
        builder.rank(1).op("MPI_Allreduce", at + 0.4, at + 0.5)
        for number in (0, 1):
            builder.rank(number).init(1.0).finalize(at + 0.5)

    builder = TraceBuilder(2, end_s=30.0)
    stray(builder)
    findings = analyze_trace(builder.build()).findings
    assert findings["rank_zero_evaluation"].status is Status.PASS
    assert findings["load_imbalance"].status is Status.FAIL


def in_main(lines: Sequence[tuple[int, str, float, float]]) -> dict[str, Finding]:
    """The findings on 60 steps of two ranks that run the same lines of main(), one after another.

    Of each line: its number, what it calls ("" nothing), and seconds on each rank. What one of them
    spends beyond the other is spent in every fourth step only.
    """
    builder, at = TraceBuilder(2, end_s=1e6), 1.0
    for step in range(60):
        ends = []
        for number in (0, 1):
            rank, now = builder.rank(number), at
            for line, callee, *seconds in lines:
                spent = min(seconds) if step % 4 else seconds[number]
                inner = ((callee, "/job/train.py", 67),) if callee else ()
                for tick in range(round(now * 50), round((now + spent) * 50)):
                    rank.stack((tick + 0.5) / 50, [("main", "/job/train.py", line), *inner])
                now += spent
            ends.append(now)
        for number, now in enumerate(ends):
            call = [("main", "/job/train.py", 93), ("Comm.Allreduce", "<built-in>", 0)]
            builder.rank(number).op("MPI_Allreduce", now, max(ends) + 0.02, comm=0, seq=step)
            for tick in range(round(now * 50), round((max(ends) + 0.02) * 50)):
                builder.rank(number).stack((tick + 0.5) / 50, call)
        at = max(ends) + 0.02
    return dict(analyze_trace(builder.ended(at, init_s=1.0, after_s=0.1)).findings)


def test_what_all_ranks_run_and_one_runs_longer_is_no_work_alone() -> None:
    found = in_main([(92, "", 0.02, 0.02), (93, "", 0.0, 0.4), (91, "update", 0.04, 0.6)])
    assert found["rank_zero_evaluation"].status is Status.PASS
    assert found["load_imbalance"].title.startswith("Rank 1 works longer than rank 0 in update()")


def test_lines_of_a_shared_function_that_one_rank_runs_are_work_alone() -> None:
    found = in_main([(92, "", 0.02, 0.02), (80, "", 0.0, 1.0), (91, "update", 0.04, 0.04)])
    told = "Rank 1 works alone in main() (train.py:80) while rank 0 waits"
    assert found["rank_zero_evaluation"].title == told


def test_the_first_action_says_its_own_number() -> None:
    finding = judged(Plan(ranks=2, steps=100, evaluate_s=1.0))
    assert finding.gain_s == pytest.approx(5.0, abs=0.1)
    assert finding.actions[0].startswith("Split evaluation across all ranks")
    assert finding.recommended is not None
    assert finding.recommended.seconds == pytest.approx(2.49, abs=0.01)
    spent = finding.recommended.spent  # half of five seconds
    assert spent is not None
    assert spent.seconds == pytest.approx(2.5, abs=0.01)
    assert spent.lead == "of work that it takes off rank 0"
    # the 1st, 3rd and 5th of five are left out
    saves = r"Evaluate half as often: that saves 3\.00 s of the [\d.]+ s run\."
    assert re.fullmatch(saves, finding.actions[1])
    assert ": that saves 4.99 s of the " in finding.actions[2]


def test_unlabeled_work_has_numbers_for_each_action() -> None:
    finding = judged(Plan(steps=100, evaluate_s=2.0, markers=False))
    gains = {evidence.label: evidence.value for evidence in finding.evidence}
    assert gains["Gain if distributed over all ranks"] == pytest.approx(7.5, rel=0.05)


def test_without_a_replay_the_numbers_are_bounds() -> None:
    def put(builder: TraceBuilder) -> None:
        builder.rank(0).op("MPI_Put", 1.0001, 1.0002, peer=1, sent=8)
        builder.rank(1).op("MPI_Win_flush", 1.0001, 1.0003)

    run = training_run(Plan(ranks=2, evaluate_s=2.0), change=put)
    finding = analyze_trace(run).findings["rank_zero_evaluation"]
    assert "that saves about " in finding.actions[1]


def test_what_costs_little_is_not_titled_as_a_fault() -> None:
    finding = judged(Plan(steps=100, evaluate_s=0.04))
    assert finding.status is Status.PASS
    assert finding.evidence
    assert finding.title == "What one rank does alone costs little"


@pytest.mark.parametrize(
    ("below", "told"),
    [
        (("Popen.wait", "/usr/lib/python3.12/subprocess.py", 1264), "waits for another process in"),
        (("sleep", "<built-in>", 0), "works alone in"),  # of no known library
        (("time.sleep", "<built-in>", 0), "sleeps in"),
        (("_thread.lock.__enter__", "<built-in>", 0), "waits for a thread in"),
        (("sqlite3.Connection.commit", "<built-in>", 0), "reads or writes files alone in"),
    ],
)
def test_what_a_rank_waits_for_is_not_called_its_work(below: FrameLike, told: str) -> None:
    """Rank 1 does so at four steps of a hundred."""
    builder, clock = TraceBuilder(2, end_s=100.0), 1.0
    finish = ("finish", "/job/train.py", 49)
    for step in range(100):
        alone_s = 0.5 if step in {13, 40, 57, 91} else 0.0
        for number in (0, 1):
            own_s = alone_s * number
            rank = builder.rank(number)
            for tick in range(int(own_s / 0.05)):
                rank.stack(clock + 0.05 * tick, [training_runs.TRAINER, finish, below])
            for part in (0.02, 0.07):
                rank.stack(clock + own_s + part, [training_runs.TRAINER])
            rank.op("MPI_Allreduce", clock + own_s + 0.1, clock + alone_s + 0.101, seq=step)
        clock += alone_s + 0.101
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(clock)
    finding = analyze_trace(builder.build()).findings["rank_zero_evaluation"]
    assert finding.title == f"Rank 1 {told} finish() (train.py:49) while rank 0 waits"
    assert finding.actions
    shares = any(action.startswith("Split") for action in finding.actions)
    assert shares == (told == "works alone in")
    # what is read or written is needed, all of it; what is read may be divided
    is_of_files = told.startswith("reads or writes files")
    rows = [row.label for row in finding.evidence if "half as often" in row.label]
    assert bool(rows) == (not is_of_files)
    assert any("have each read its own part" in one for one in finding.actions) == is_of_files


def test_what_a_rank_does_in_each_step_is_not_serial_work_where_it_is_late_in_a_few() -> None:
    """Rank 1 does so for 80 ms in all of 100 steps; rank 0 has as much else to do in 75 of them."""
    builder, clock = TraceBuilder(2, end_s=30.0), 1.0
    finish = ("finish", "/job/train.py", 49)
    ranks = [builder.rank(number).init(1.0) for number in (0, 1)]
    for step in range(100):
        own_s = (0.0 if step % 4 == 0 else 0.081, 0.08)
        for rank, first_s, doing in zip(ranks, own_s, ((), (finish,)), strict=True):
            for tick in range(round(first_s / 0.02)):
                rank.stack(clock + 0.02 * tick + 0.01, [training_runs.TRAINER, *doing])
            for part in (0.01, 0.03):
                rank.stack(clock + first_s + part, [training_runs.TRAINER])
            rank.op("MPI_Allreduce", clock + first_s + 0.04, clock + 0.122, seq=step)
        clock += 0.122
    for rank in ranks:
        rank.finalize(clock)
    finding = analyze_trace(builder.build()).findings["rank_zero_evaluation"]
    assert finding.status is Status.PASS


@pytest.mark.parametrize(("each_s", "is_seen"), [(0.004, False), (0.1, True)])
def test_how_often_is_told_only_of_what_samples_see_each_time(each_s: float, is_seen: bool) -> None:
    """Rank 1 does so in each of 400 steps, where 4 ms are seen in few, and in every eighth."""
    builder, clock, tick = TraceBuilder(2, end_s=100.0), 1.0, 0
    finish = ("finish", "/job/train.py", 49)
    ranks = [builder.rank(number).init(1.0) for number in (0, 1)]
    for step in range(400):
        alone_s = each_s if not is_seen or step % 8 == 0 else 0.0
        while 1.0 + 0.041 * tick < clock + alone_s + 0.03:
            at = 1.0 + 0.041 * tick
            ranks[0].stack(at, [training_runs.TRAINER])
            ranks[1].stack(at, [training_runs.TRAINER, *([finish] if at < clock + alone_s else [])])
            tick += 1
        for rank, own_s in zip(ranks, (0.0, alone_s), strict=True):
            rank.op("MPI_Allreduce", clock + own_s + 0.03, clock + alone_s + 0.031, seq=step)
        clock += alone_s + 0.031
    for rank in ranks:
        rank.finalize(clock)
    finding = analyze_trace(builder.build()).findings["rank_zero_evaluation"]
    assert finding.status is Status.FAIL
    assert ("once every 8 steps" in finding.summary) == is_seen
    assert ("during the run" in finding.summary) == (not is_seen)
