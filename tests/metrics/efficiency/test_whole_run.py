"""A run of which only some steps are there in detail, against all of it."""

import numpy as np
import pytest

from perfscope.attribution.preparation import prepare
from perfscope.matching.waits import split_operations
from perfscope.report.build import build_html
from perfscope.schema.enums import Account, FigureSource, LossKind, PhaseKind, WindowUnit
from perfscope.schema.read import read_analysis
from perfscope.schema.whole_run import WholeRun
from perfscope.trace.model import STACK_DTYPE, Frame, Trace
from perfscope.trace.operations import LEFT_OUT, name_of
from perfscope.trace.splicing import spliced
from perfscope.trace.thinning import is_selected
from tests.findings.analyzed import analyze_trace
from tests.support.thinned import thinned
from tests.support.trace_builder import TraceBuilder

RANKS, STEPS, SEED = 4, 1200, 5
EVERY_EVALUATION, EVALUATION_S = 50, 0.05
TRANSFER_S, LATENCY_S = 0.002, 0.0005
ROUNDING = 1e-9
RARE_S = 1.0


def made(*, crossing: bool = False, rare: int | None = None, load_s: float = 0.0) -> Trace:
    """Steps of uneven work, a message around the ring, a reduction, and an evaluation every so
    often.

    Args:
        crossing: the message of a step is received in the next one.
        rare: a step in which rank 1 reads for a second.
        load_s: before the steps, all ranks are sent the model for so long.
    """
    random = np.random.default_rng(SEED)
    builder = TraceBuilder(RANKS, end_s=30.0)
    now = _begun(builder, load_s)
    before = [now] * RANKS
    for step in range(STEPS):
        work = random.gamma(20.0, 0.0005, RANKS) * (1.0 + 0.2 * (np.arange(RANKS) == 2))
        starts = list(before)
        lasts = EVALUATION_S * random.uniform(0.5, 1.5)
        evaluated = now + lasts * (step % EVERY_EVALUATION == 0)
        work[1] += RARE_S * (step == rare)
        arrived = [evaluated + float(seconds) for seconds in work]
        end = max(arrived) + LATENCY_S + TRANSFER_S
        for rank in range(RANKS):
            own, at = builder.rank(rank), arrived[rank]
            if evaluated > now:
                own.phase(PhaseKind.EVALUATE, before[rank], evaluated)
            if step == rare and rank == 1:
                own.phase(PhaseKind.IO, at - RARE_S, at)
            own.op("MPI_Send", at, at + 1e-5, peer=(rank + 1) % RANKS, tag=3, sent=64)
            if not crossing:
                source = (rank - 1) % RANKS
                came = max(at, arrived[source]) + 1e-4
                own.op("MPI_Recv", at + 1e-5, came, peer=source, tag=3, received=64)
            own.op("MPI_Allreduce", max(arrived) + 2e-4, end, sent=1000, received=1000)
            if crossing:
                source = (rank - 1) % RANKS
                own.op("MPI_Recv", end + 1e-5, end + 2e-5, peer=source, tag=3, received=64)
            before[rank] = end + 1e-6 * rank
            own.step(step, starts[rank], before[rank], samples=16)
        now = max(before)
    for rank in range(RANKS):
        builder.rank(rank).finalize(now + 0.1, exit_s=now + 0.2)
        builder.rank(rank).end_s = now + 0.3
    return builder.build()


def _begun(builder: TraceBuilder, load_s: float) -> float:
    """When the steps begin."""
    for rank in range(RANKS):
        own = builder.rank(rank).init(1.0, enter_s=0.5)
        if load_s:
            own.op("MPI_Allreduce", 1.0, 1.0 + load_s, sent=1 << 28, received=1 << 28)
    return 1.0 + load_s


def whole_of(trace: Trace) -> WholeRun:
    """The `whole_run` of analysis.json."""
    found = read_analysis(analyze_trace(trace).document()).whole_run
    assert found is not None
    return found


@pytest.mark.parametrize("levels", [[3, 3, 3, 3], [1, 3, 0, 2]], ids=["alike", "apart"])
def test_a_thinned_run_says_of_the_whole_what_all_of_it_says(levels: list[int]) -> None:
    full = read_analysis(analyze_trace(made()).document())
    whole = whole_of(thinned(made(), levels))
    assert full.whole_run is None
    numbers = np.arange(STEPS, dtype=np.int64)
    kept = int(np.count_nonzero(is_selected(numbers, max(levels))))
    assert (whole.unit, whole.kept, whole.ended) == (WindowUnit.STEPS, kept, STEPS)
    assert kept == STEPS // 2 ** max(levels)
    for factor in whole.efficiencies:
        measured = getattr(full.metrics, factor.id).value
        if factor.source is FigureSource.TOTALS:
            assert factor.value == pytest.approx(measured, rel=1e-9)
            assert factor.low == factor.high == factor.value
        else:
            assert factor.low <= measured <= factor.high
            assert factor.low < factor.value < factor.high
    assert {factor.id for factor in whole.efficiencies} == {
        *("parallel_efficiency", "load_balance", "communication_efficiency"),
        *("serialization_efficiency", "transfer_efficiency"),
    }
    seconds = {row.id: row.seconds for row in full.ledger}
    for row in whole.accounts:
        assert row.low_s - ROUNDING <= seconds[row.account.value] <= row.high_s + ROUNDING, row
    assert sum(row.seconds for row in whole.accounts) == pytest.approx(
        sum(seconds.values()), rel=0.02
    )
    assert whole.steps is not None
    assert whole.steps.count == STEPS
    assert whole.run_s == pytest.approx(full.run.focus_of_analysis_s[1] - 1.0)


def test_a_thinned_run_is_prepared_again_as_the_first_time() -> None:
    trace = thinned(made(), [3] * RANKS)
    for rank in trace.ranks:
        rank.stacks = np.zeros(len(rank.steps), STACK_DTYPE)
        rank.stacks["t"], rank.stacks["tid"] = rank.steps["t0"] + 1, rank.main_tid
    trace.frames.append(Frame("work", "a.py", 1))
    trace.stacks.append((len(trace.frames) - 1,))
    first, again = prepare(trace), prepare(trace)
    assert len(first.trace.ranks[0].main_stacks)
    for one, other in zip(first.trace.ranks, again.trace.ranks, strict=True):
        assert one.main_stacks.tolist() == other.main_stacks.tolist()


def test_a_loss_that_is_the_same_in_every_step_has_an_interval_where_steps_differ() -> None:
    """It is extrapolated by time, and which steps were kept changes how long they are."""
    builder, random, now, lost = TraceBuilder(2, end_s=40.0), np.random.default_rng(SEED), 1.0, 0.01
    for rank in range(2):
        builder.rank(rank).init(now, enter_s=0.5)
    for step in range(600):
        shared = float(random.gamma(4.0, 0.005))
        for rank in range(2):
            late = now + shared + lost
            own = builder.rank(rank)
            own.op("MPI_Allreduce", late - lost * (rank == 0), late + 1e-5, sent=8, received=8)
            own.step(step, now, late + 2e-5)
        now += shared + lost + 2e-5
    for rank in range(2):
        builder.rank(rank).finalize(now + 0.1, exit_s=now + 0.2)
        builder.rank(rank).end_s = now + 0.3
    part = read_analysis(analyze_trace(thinned(builder.build(), [2, 2])).document())
    [row] = [one for one in part.losses.entries if one.kind is LossKind.WAITING]
    assert row.run_s is not None
    assert row.run_interval_s is not None
    low, high = row.run_interval_s
    assert low <= 600 * lost <= high
    assert high - low > 0.01 * row.run_s


def test_losses_and_savings_are_of_the_whole_run() -> None:
    """Each within its interval of what all of the run tells, and gates judge the same shares."""
    full = read_analysis(analyze_trace(made()).document())
    part = read_analysis(analyze_trace(thinned(made(), [2] * RANKS)).document())
    assert part.whole_run is not None
    length = full.run.focus_of_analysis_s[1] - full.run.focus_of_analysis_s[0]
    known = {row.label: row for row in full.losses.entries}
    told = 0
    for row in part.losses.entries:
        expected = known[row.label].ns / 1e9 if row.operation != name_of(LEFT_OUT) else 0.0
        if row.run_interval_s is not None:
            low, high = row.run_interval_s
            assert low - ROUNDING <= expected <= high + ROUNDING, row
            told += low < high
        assert row.run_s == pytest.approx(expected, rel=0.2)
    assert told
    gains = {row.id: row for row in full.findings if row.gain_s}
    assert {row.id for row in part.findings if row.gain_s} == set(gains)
    for finding in part.findings:
        if finding.gain_s is None:
            continue
        whole = gains[finding.id]
        assert whole.gain_s is not None
        assert finding.gain_s == pytest.approx(whole.gain_s, rel=0.15), finding.id
        assert finding.gain_share == pytest.approx(finding.gain_s / length, rel=0.01)
        assert finding.gain_run_share == pytest.approx(finding.gain_s / full.run.wall_s)
        assert "kept steps" in finding.summary
    saved = part.verdict.combined_gain_s
    assert saved is not None
    assert full.verdict.combined_gain_s == pytest.approx(saved, rel=0.15)
    assert f"of the {full.run.wall_s:.1f} s run" in part.verdict.sentence
    lengths = [row for row in part.quality if row.id == "run_length"]
    assert f"{STEPS:,} steps" in lengths[0].detail


def test_what_is_lost_before_the_steps_is_lost_once() -> None:
    """A model that is sent once: of what half as many bytes save, too, and on the first screen."""
    full = read_analysis(analyze_trace(made(load_s=4.0)).document())
    part = read_analysis(analyze_trace(thinned(made(load_s=4.0), [3] * RANKS)).document())
    (known,), (told,) = (
        [one for one in result.findings if one.id == "network_bound"] for result in (full, part)
    )
    assert known.first_action is not None
    assert told.first_action is not None
    assert told.gain_s == pytest.approx(known.gain_s, rel=0.05)
    assert told.first_action.gain_s == pytest.approx(known.first_action.gain_s, rel=0.05)
    causes = [
        {one.label: one.seconds for one in result.breakdown if one.id == "of_verdict"}
        for result in (full, part)
    ]
    assert causes[0]
    assert causes[1] == pytest.approx(causes[0], rel=0.05)


def test_a_rare_step_is_seen_and_is_in_no_estimate() -> None:
    """A step that chance leaves out is told with what it did, and not multiplied."""
    numbers = np.arange(STEPS, dtype=np.int64)
    rare = int(np.flatnonzero(~is_selected(numbers, 3))[STEPS // 2])
    whole = whole_of(thinned(made(rare=rare), [3] * RANKS))
    first = whole.slowest[0]
    assert (first.number, first.rank, first.account) == (rare, 1, Account.IO)
    assert first.more_s == pytest.approx(RARE_S, rel=0.01)
    assert first.seconds > RARE_S > 10 * first.usual_s
    assert all(row.account is Account.EVALUATION for row in whole.slowest[1:])
    assert Account.IO not in {row.account for row in whole.accounts}


def test_all_calls_of_kept_steps_match_whatever_each_rank_kept() -> None:
    waits = split_operations(spliced(thinned(made(), [1, 3, 0, 2])))
    assert waits.unmatched == {}
    assert waits.messages.matched == RANKS * STEPS // 8


def test_messages_between_kept_and_other_steps_are_not_paired_by_their_order() -> None:
    """The message of a step is received behind its end: in kept steps its ends are strangers."""
    trace = spliced(thinned(made(crossing=True), [2] * RANKS))
    waits = split_operations(trace)
    assert waits.messages.matched == 0
    assert whole_of(thinned(made(crossing=True), [2] * RANKS)).kept == STEPS // 4


def test_time_between_the_pieces_is_no_work() -> None:
    trace = spliced(thinned(made(), [3] * RANKS))
    assert trace.kept is not None
    for rank, residue in zip(trace.ranks, trace.kept.residue_ns, strict=True):
        between = rank.operations[rank.operations["op"] == LEFT_OUT]
        assert int((between["t1"] - between["t0"]).sum()) == residue
        assert np.all(np.diff(rank.operations["t0"]) >= 0)
    spent = {row.account: row for row in whole_of(thinned(made(), [3] * RANKS)).accounts}
    assert Account.COMMUNICATION_OTHER not in spent or (
        spent[Account.COMMUNICATION_OTHER].seconds < 1.0
    )


def test_a_run_that_is_whole_is_left_alone() -> None:
    trace = thinned(made(), [0] * RANKS)
    assert spliced(trace) is trace
    assert trace.kept is None


def test_where_too_few_steps_are_left_no_figure_takes_the_holes_for_work() -> None:
    told = read_analysis(analyze_trace(thinned(made(), [12] * RANKS)).document())
    assert told.whole_run is None
    assert [damage.id for damage in told.run.damage] == ["thinned_away"]
    assert told.metrics.parallel_efficiency.value is None
    assert "too few to speak for the others" in str(told.metrics.parallel_efficiency.reason)
    assert told.verdict.combined_gain_s is None


def test_the_share_of_start_up_is_that_of_the_whole_run() -> None:
    """40 s on two ranks, beside 1,200 steps of 0.2 s of which 37 are kept."""
    builder = TraceBuilder(2, end_s=300.0)
    for number in (0, 1):
        rank = builder.rank(number).init(20.0, enter_s=19.5)
        for _step, begin in rank.steps(STEPS, 0.2, from_s=20.0):
            rank.op("MPI_Allreduce", begin + 0.19, begin + 0.2, sent=1000, received=1000)
        rank.finalize(260.1, exit_s=260.2)
        rank.end_s = 260.3
    result = read_analysis(analyze_trace(thinned(builder.build(), [5, 5])).document())
    start_up = next(row for row in result.findings if row.id == "start_up")
    assert result.run.recorded_ranks == 2
    assert "Start-up takes longer" not in result.verdict.sentence
    assert "Together that is 7.7 % of its life." in start_up.summary
    parts = {row.id: row for row in result.breakdown}
    assert parts["start_up"].seconds == pytest.approx(20.0, rel=1e-3)
    assert sum(row.seconds for row in parts.values()) == pytest.approx(result.run.wall_s)
    page = build_html(result)
    assert "Steps that were left out are taken to be like those that were kept." in page
