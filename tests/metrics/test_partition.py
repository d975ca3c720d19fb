"""The ledger is a partition, and every nanosecond is where the definition puts it."""

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from perfscope.attribution.focus import Focus
from perfscope.attribution.preparation import prepare
from perfscope.matching.intervals import Times
from perfscope.matching.waits import Waits, split_operations
from perfscope.metrics.compute import compute
from perfscope.schema.enums import Account, PhaseKind
from perfscope.trace.model import Rank, Trace
from tests.support.trace_builder import TraceBuilder

LIFE_NS = 120
NS = 1e-9
TRAINING = {PhaseKind.TRAIN, PhaseKind.FORWARD, PhaseKind.BACKWARD, PhaseKind.OPTIMIZER}
SPECIAL = {
    PhaseKind.CHECKPOINT: Account.CHECKPOINT,
    PhaseKind.EVALUATE: Account.EVALUATION,
    PhaseKind.PREDICT: Account.EVALUATION,
    PhaseKind.INPUT: Account.INPUT_WAIT,
}


def partition(trace: Trace, rank: Rank, focus: Focus) -> tuple[Times, npt.NDArray[np.uint8]]:
    """The ledger of one rank as boundaries (n + 1,) and indices in `list(Account)` (n,)."""
    prepared = prepare(trace, focus=focus)
    timeline = prepared.timelines[[r.number for r in trace.ranks].index(rank.number)]
    return timeline.boundaries, timeline.accounts


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Two ranks with random phases, steps, operations and drops; times are single nanoseconds."""
    builder = TraceBuilder(2, end_s=LIFE_NS * NS)
    calls = draw(st.integers(0, 4))
    for number in (0, 1):
        rank = builder.rank(number)
        times = sorted(draw(st.lists(st.integers(0, LIFE_NS), min_size=4, max_size=4)))
        rank.init(times[0] * NS).finalize(times[3] * NS)
        moments = draw(
            st.lists(
                st.integers(times[0], times[3]),
                min_size=2 * calls,
                max_size=2 * calls,
                unique=False,
            ).map(sorted)
        )
        for call in range(calls):
            rank.op("MPI_Allreduce", moments[2 * call] * NS, moments[2 * call + 1] * NS)
        for _ in range(draw(st.integers(0, 6))):
            low, high = sorted(draw(st.lists(st.integers(0, LIFE_NS), min_size=2, max_size=2)))
            rank.phase(draw(st.sampled_from(PhaseKind)), low * NS, high * NS)
        for step in range(draw(st.integers(0, 3))):
            low, high = sorted(draw(st.lists(st.integers(0, LIFE_NS), min_size=2, max_size=2)))
            rank.step(step, low * NS, high * NS)
        if draw(st.booleans()):
            rank.set(detail_end_ns=draw(st.integers(0, LIFE_NS)))
    return builder.build()


def account_slowly(waits: Waits, trace: Trace, rank: Rank, focus: Focus, moment: int) -> Account:
    """The definition, read aloud."""
    if rank.detail_end_ns is not None and moment >= rank.detail_end_ns:
        return Account.UNTRACED
    if moment < focus.start_ns:
        return Account.START_UP
    if moment >= focus.end_ns:
        return Account.SHUTDOWN
    return _communication_slowly(waits, trace, rank, moment) or _phase_slowly(rank, moment)


def _phase_slowly(rank: Rank, moment: int) -> Account:
    rows = [row for row in rank.phases if row["t0"] <= moment < row["t1"]]
    kinds = {PhaseKind(row["kind"]) for row in rows}
    special, predicts = _special_slowly(rank, moment)
    in_step = any(row["t0"] <= moment < row["t1"] for row in rank.steps)
    order = (
        (PhaseKind.COMMUNICATION in kinds, Account.COMMUNICATION_OTHER),
        (special is not None, special),
        (PhaseKind.IO in kinds, Account.IO),
        (PhaseKind.DEVICE_WAIT in kinds, Account.DEVICE_WAIT),
        (in_step or predicts or bool(kinds & TRAINING), Account.TRAINING),
        (PhaseKind.USER in kinds, Account.USER_PHASES),
    )
    return next((account for holds, account in order if holds and account), Account.UNTRACED)


def _special_slowly(rank: Rank, moment: int) -> tuple[Account | None, bool]:
    """The account of the innermost special phase, and whether a step's predict is running."""
    special, predicts = [], False
    for place, row in enumerate(rank.phases):
        if not row["t0"] <= moment < row["t1"] or PhaseKind(row["kind"]) not in SPECIAL:
            continue
        begun_in_step = any(s["t0"] <= row["t0"] < s["t1"] for s in rank.steps)
        if row["kind"] == PhaseKind.PREDICT and begun_in_step:
            predicts = True
        else:
            special.append((int(row["t0"]), -int(row["t1"]), place))
    if not special:
        return None, predicts
    return SPECIAL[PhaseKind(rank.phases["kind"][max(special)[2]])], predicts


def _communication_slowly(waits: Waits, trace: Trace, rank: Rank, moment: int) -> Account | None:
    rows = waits.of_rank(trace.ranks.index(rank))
    for row, need, known in zip(rank.operations, waits.need[rows], waits.known[rows], strict=True):
        if row["t0"] <= moment < row["t1"]:
            if not known:
                return Account.COMMUNICATION_OTHER
            waiting = moment < need
            return Account.COMMUNICATION_WAIT if waiting else Account.COMMUNICATION_TRANSFER
    return None


@settings(max_examples=60, deadline=None)
@given(trace=traces())
def test_every_nanosecond_is_in_the_account_of_the_definition(trace: Trace) -> None:
    results = compute(trace)
    accounts, waits = list(Account), split_operations(trace)
    for rank, timeline in zip(trace.ranks, results.timelines, strict=True):
        assert timeline.boundaries[0] == rank.start_ns
        assert timeline.boundaries[-1] == rank.end_ns
        assert np.all(np.diff(timeline.boundaries) > 0)
        moments = np.arange(rank.start_ns, rank.end_ns)
        place = np.searchsorted(timeline.boundaries, moments, side="right") - 1
        for moment, index in zip(moments.tolist(), timeline.accounts[place].tolist(), strict=True):
            expected = account_slowly(waits, trace, rank, results.focus, moment)
            assert accounts[index] is expected, moment
    ledger = results.ledger
    assert ledger.ns.sum(axis=0).tolist() == ledger.life_ns.tolist() == [LIFE_NS, LIFE_NS]


def test_partition_of_one_rank() -> None:
    builder = TraceBuilder(1, end_s=10.0)
    builder.rank(0).init(1.0).op("MPI_Barrier", 2.0, 3.0).finalize(9.0)
    builder.rank(0).phase(PhaseKind.EVALUATE, 4.0, 6.0)
    trace = builder.build()
    focus = Focus(10**9, 9 * 10**9, "test", "")
    boundaries, accounts = partition(trace, trace.ranks[0], focus)
    names = [list(Account)[index] for index in accounts.tolist()]
    assert (boundaries / 1e9).tolist() == [0, 1, 2, 3, 4, 6, 9, 10]
    assert names == [
        Account.START_UP,
        Account.UNTRACED,
        Account.COMMUNICATION_TRANSFER,
        Account.UNTRACED,
        Account.EVALUATION,
        Account.UNTRACED,
        Account.SHUTDOWN,
    ]
