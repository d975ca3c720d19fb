"""Every k-th time of what ranks do again and again, wherever the collectives lie."""

import numpy as np
import pytest

from perfscope.attribution.ledger import INDEX
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.assumptions import SINGLE_TIMES
from perfscope.replay.model import Edit, Prediction
from perfscope.replay.occurrences import Marks
from perfscope.replay.segments import SegmentReplay
from perfscope.schema.enums import Account, PhaseKind
from perfscope.trace.model import RowFlag, Trace
from tests.support.trace_builder import TraceBuilder

TRAIN_S, EVALUATE_S, COUNT = 2.0, 1.0, 10


class Job:
    """Ranks that do the same, event after event; an allreduce takes 1 ms."""

    def __init__(self, ranks: int, flags: RowFlag = RowFlag.NONE) -> None:
        self.builder = TraceBuilder(ranks, end_s=1e6)
        self.ranks, self.flags, self.clock = range(ranks), flags, 1.0

    def train(self) -> None:
        for number in self.ranks:
            self.builder.rank(number).phase(PhaseKind.TRAIN, self.clock, self.clock + TRAIN_S)
        self.clock += TRAIN_S

    def evaluate(self, seconds: float = EVALUATE_S, *, averages: bool = False) -> None:
        """An evaluation, which may average its metric over the ranks in the middle."""
        begin = self.clock
        self.clock += seconds / 2
        if averages:
            self.meet()
        self.clock += seconds / 2
        for number in self.ranks:
            rank = self.builder.rank(number)
            rank.phase(PhaseKind.EVALUATE, begin, self.clock, flags=self.flags)

    def meet(self) -> None:
        for number in self.ranks:
            rank = self.builder.rank(number)
            rank.op("MPI_Allreduce", self.clock, self.clock + 0.001, sent=8, received=8)
        self.clock += 0.001

    def end(self) -> Trace:
        return self.builder.ended(self.clock, init_s=1.0)


def kept(trace: Trace, every: int, *, focus: str | None = None) -> Prediction:
    """What keeping every so many-th evaluation saves, by its phase and by its account."""
    replay = SegmentReplay(compute(trace, Options(focus=focus)))
    found = replay.predict([Edit(phase="evaluate", keep_every=every)])
    by_account = replay.predict([Edit(Account.EVALUATION, keep_every=every)])
    assert found is not None
    assert by_account is not None
    assert by_account.gain_s == pytest.approx(found.gain_s)
    return found


@pytest.mark.parametrize(("every", "left"), [(1, 10), (2, 5), (3, 3), (5, 2), (10, 1), (11, 0)])
def test_without_any_collective(every: int, left: int) -> None:
    job = Job(1)
    for _ in range(COUNT):
        job.train()
        job.evaluate()
    found = kept(job.end(), every)
    assert found.gain_s == pytest.approx((COUNT - left) * EVALUATE_S)
    assert SINGLE_TIMES not in found.assumptions


@pytest.mark.parametrize(("every", "left"), [(2, 5), (3, 3), (5, 2)])
def test_with_a_collective_inside_each_evaluation(every: int, left: int) -> None:
    """Both halves go, or both stay, and the collective with them."""
    job = Job(3)
    for _ in range(COUNT):
        job.train()
        job.meet()
        job.evaluate(averages=True)
        job.meet()
    assert kept(job.end(), every).gain_s == pytest.approx((COUNT - left) * (EVALUATE_S + 0.001))


def test_with_several_evaluations_between_two_collectives() -> None:
    """Of 1, 2, 3, ... seconds the even ones stay."""
    job = Job(2)
    for turn in range(COUNT):
        job.train()
        job.evaluate(turn + 1.0)
        if turn % 5 == 4:
            job.meet()
    assert kept(job.end(), 2).gain_s == pytest.approx(1 + 3 + 5 + 7 + 9)


def test_evaluations_one_right_after_the_other_are_several() -> None:
    job = Job(1)
    job.train()
    for _ in range(4):
        job.evaluate()
    assert kept(job.end(), 2).gain_s == pytest.approx(2 * EVALUATE_S)


def test_what_takes_longer_the_first_time_does_so_later() -> None:
    job = Job(1)
    for turn in range(COUNT):
        job.train()
        job.evaluate(EVALUATE_S + (6.0 if turn == 0 else 0.0))
    assert kept(job.end(), 2).gain_s == pytest.approx(5 * EVALUATE_S)


def test_ranks_count_alike_where_the_focus_cuts_one_of_them_off() -> None:
    """Rank 1 ends its first evaluation before the focus, rank 0 inside it: both keep the second."""
    builder = TraceBuilder(2, end_s=14.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).finalize(13.5)
        for turn in range(4):
            begin = 1.0 + 3.0 * turn + (0.5 if number == 0 else 0.0)
            rank.phase(PhaseKind.EVALUATE, begin, begin + 1.0)
            rank.op("MPI_Allreduce", 3.0 + 3.0 * turn, 3.001 + 3.0 * turn, sent=8, received=8)
    found = kept(builder.build(), 2, focus="2.2:13")
    # counted from the beginning of the focus, one of the two would keep each of them
    assert found.gain_s == pytest.approx(1.0)


def test_sampled_times_are_right_in_the_mean() -> None:
    """A collective inside each splits them, and no sample tells where one ends."""
    job = Job(2, RowFlag.SAMPLED)
    for _ in range(COUNT):
        job.train()
        job.evaluate(averages=True)
        job.meet()
    found = kept(job.end(), 4)
    assert found.gain_s == pytest.approx(COUNT * (EVALUATE_S + 0.001) * 3 / 4)
    assert SINGLE_TIMES in found.assumptions


def test_what_lies_inside_another_is_part_of_it() -> None:
    """Rank 0: 0-10 with 2-4 inside, 10-12, and 20-21 that reaches into 20-22; rank 1: 5-6."""
    marks = Marks(
        column=np.array([0, 0, 0, 0, 0, 1]),
        begin=np.array([0, 2, 10, 20, 20, 5]),
        end=np.array([10, 4, 12, 21, 22, 6]),
        phase=np.zeros(6, np.int64),
        account=np.zeros(6, np.int64),
        epoch=np.full(6, -1, np.int64),
    )
    at = np.array([0, 3, 9, 10, 15, 21, 22, 5, 6])
    column = np.array([0, 0, 0, 0, 0, 0, 0, 1, 1])
    numbers = marks.numbers(np.ones(6, np.bool_), column, at)
    assert numbers.tolist() == [1, 1, 1, 2, 0, 3, 0, 1, 0]


def test_evaluations_without_a_step_between_them_are_one() -> None:
    """Steps of 0-1, 3-4 and 8-9, and evaluations at 1, 2, 4, 5 and 6."""
    begin = np.array([0, 3, 8, 1, 2, 4, 5, 6])
    marks = Marks(
        column=np.zeros(8, np.int64),
        begin=begin,
        end=begin + 1,
        phase=np.array([-1] * 3 + [0] * 5),
        account=np.array([INDEX[Account.TRAINING]] * 3 + [INDEX[Account.EVALUATION]] * 5),
        epoch=np.full(8, -1, np.int64),
        evaluations=np.array([0]),
    )
    at = np.array([0, 1, 2, 3, 4, 5, 6, 7])
    numbers = marks.numbers(marks.phase == 0, np.zeros(8, np.int64), at)
    assert numbers.tolist() == [0, 1, 1, 0, 2, 2, 2, 0]
