"""Edits keep what they promise to keep."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perfscope.attribution.ledger import INDEX
from perfscope.packed import PackedTimes
from perfscope.replay.edits import apply_edits
from perfscope.replay.functions import Functions
from perfscope.replay.model import Edit, Level
from perfscope.replay.occurrences import Marks
from perfscope.replay.program import NOTHING_FIXED, Needs, Program, Work
from perfscope.schema.enums import Account, Activity

TRAINING = INDEX[Account.TRAINING]
EVALUATION = INDEX[Account.EVALUATION]


def program(table: Sequence[Sequence[float]], account: int = TRAINING) -> Program:
    """Two collectives of all ranks after each other; table[segment][rank] is work in ns."""
    segments, ranks = len(table), len(table[0])
    rows = segments + 1  # of each rank: start, collectives, end
    cut_rows = np.arange(ranks) * rows + np.arange(rows)[:, None]
    values = np.asarray(table, dtype=float)
    return Program(
        ranks=tuple(range(ranks)),
        row_rank=np.repeat(np.arange(ranks, dtype=np.int32), rows),
        segment_kind=np.zeros(segments, dtype=np.int64),
        work=Work(
            row=cut_rows[1:].ravel().astype(np.int32),
            account=np.full(values.size, account, np.uint8),
            ns=values.ravel(),
        ),
        fixed=NOTHING_FIXED,
        transfer_ns=np.zeros(rows * ranks),
        cut_rows=cut_rows,
        row_op=np.full(rows * ranks, -1, np.int32),
        phase=np.full(values.size, -1, np.int32),
        stack=np.full(values.size, -1, np.int32),
        needs=Needs.none(rows * ranks),
        waits_at_end=np.zeros(ranks, dtype=bool),
    )


FAR_NS = 10**10  # further apart than any work of a segment lasts


def marked(made: Program) -> Program:
    """The program with all work of a segment, where there is any, in a phase of its own."""
    column = made.row_rank[made.work.row].astype(np.int64)
    segment = made.row_segment[made.work.row].astype(np.int64)
    begin = segment * FAR_NS
    some = made.work.ns > 0
    marks = Marks(
        column=column[some],
        begin=begin[some],
        end=(begin + made.work.ns.astype(np.int64))[some],
        phase=np.zeros(int(some.sum()), np.int64),
        account=made.work.account[some].astype(np.int64),
        epoch=np.full(int(some.sum()), -1, np.int64),
    )
    return replace(made, begin_ns=PackedTimes(begin), marks=marks)


def by_segment(made: Program, work: Work) -> list[list[float]]:
    """Work by segment and rank."""
    shape = (made.segment_count, len(made.ranks))
    cells = made.row_segment[work.row] * shape[1] + made.row_rank[work.row]
    table = np.bincount(cells, weights=work.ns, minlength=shape[0] * shape[1])
    return [[float(value) for value in row] for row in table.reshape(shape)]


tables = st.integers(2, 5).flatmap(
    lambda ranks: st.lists(
        st.lists(st.integers(0, 10**9), min_size=ranks, max_size=ranks), min_size=1, max_size=6
    )
)


@given(tables)
def test_balance_conserves_the_work_of_every_segment(table: list[list[int]]) -> None:
    made = program(table)
    after = by_segment(made, apply_edits(made, [Edit(level=Level.SHARED)]))
    for before, leveled in zip(table, after, strict=True):
        np.testing.assert_allclose(leveled, sum(before) / len(before), rtol=1e-9)


@given(tables)
def test_balance_of_some_ranks_leaves_the_others_alone(table: list[list[int]]) -> None:
    made = program(table)
    after = by_segment(made, apply_edits(made, [Edit(level=Level.SHARED, ranks=(0, 1))]))
    for before, leveled in zip(table, after, strict=True):
        np.testing.assert_allclose(leveled[:2], (before[0] + before[1]) / 2, rtol=1e-9)
        assert leveled[2:] == before[2:]


@given(tables)
def test_even_ranks_lose_no_work(table: list[list[int]]) -> None:
    made = program(table)
    after = by_segment(made, apply_edits(made, [Edit(level=Level.EVEN)]))
    totals = np.sum(after, axis=0)
    np.testing.assert_allclose(totals, np.sum(table) / len(table[0]), rtol=1e-9)


@given(tables)
def test_a_rank_made_as_fast_as_the_others_never_works_longer(table: list[list[int]]) -> None:
    made = program(table)
    edit = Edit(ranks=(0,), level=Level.AS_OTHERS)
    before = np.asarray(table, dtype=float)
    after = np.asarray(by_segment(made, apply_edits(made, [edit])))
    usual = np.median(np.sort(before[:, 1:], axis=0), axis=1).sum()
    assert after[:, 0].sum() <= max(usual, min(usual, before[:, 0].sum())) * (1 + 1e-9) + 1
    np.testing.assert_array_equal(after[:, 1:], before[:, 1:])


def test_waiting_for_input_is_no_work_to_level() -> None:
    for account in (Account.INPUT_WAIT, Account.DEVICE_WAIT):
        made = program([[5, 1], [6, 2]], account=INDEX[account])
        for level in Level:
            edited = apply_edits(made, [Edit(ranks=(0,), level=level)])
            assert by_segment(made, edited) == [[5, 1], [6, 2]]


def test_every_third_occurrence_is_kept() -> None:
    made = marked(program([[5, 1], [0, 1], [7, 1], [9, 1], [4, 1], [0, 1], [3, 1]]))
    edited = apply_edits(made, [Edit(ranks=(0,), keep_every=3)])
    assert [row[0] for row in by_segment(made, edited)] == [0, 0, 0, 9, 0, 0, 0]


def test_what_is_done_once_is_done_by_the_first_that_is_kept() -> None:
    """The first takes 30 longer: it compiles."""
    made = marked(program([[35, 1], [5, 1], [0, 1], [5, 1], [5, 1]]))
    edited = apply_edits(made, [Edit(ranks=(0,), keep_every=2)])
    assert [row[0] for row in by_segment(made, edited)] == [0, 35, 0, 0, 5]
    edited = apply_edits(made, [Edit(ranks=(0,), keep_every=1)])
    assert [row[0] for row in by_segment(made, edited)] == [35, 5, 0, 5, 5]


def test_times_that_are_not_known_apart_become_shorter_alike() -> None:
    made = program([[8, 1], [4, 1]])
    edited = apply_edits(made, [Edit(ranks=(0,), keep_every=4)])
    assert by_segment(made, edited) == [[2, 1], [1, 1]]


def test_other_accounts_are_left_alone() -> None:
    made = program([[5, 1]], account=EVALUATION)
    edited = apply_edits(
        made, [Edit(Account.TRAINING), Edit(Account.CHECKPOINT, level=Level.SHARED)]
    )
    assert by_segment(made, edited) == [[5, 1]]


def test_edits_apply_one_after_the_other() -> None:
    made = program([[8, 2], [4, 4]])
    edited = apply_edits(made, [Edit(ranks=(0,), factor=0.5), Edit(level=Level.SHARED)])
    assert by_segment(made, edited) == [[3, 3], [3, 3]]


def test_an_edit_until_a_moment_leaves_later_work_alone() -> None:
    """Segments begin at 0 and 100 ns; rank 0 is edited until then, rank 1 not at all."""
    made = program([[10, 20], [30, 40]])
    made = replace(made, begin_ns=PackedTimes(np.array([0, 0, 100, 100])))
    work = apply_edits(made, [Edit(until_ns=(100, 0))])
    assert by_segment(made, work) == [[0.0, 20.0], [30.0, 40.0]]


def test_until_a_moment_ranks_are_leveled_before_it_only() -> None:
    made = replace(program([[10, 20], [30, 40]]), begin_ns=PackedTimes(np.array([0, 0, 100, 100])))
    work = apply_edits(made, [Edit(level=Level.MEDIAN, until_ns=(100, 100))])
    assert by_segment(made, work) == [[10.0, 10.0], [30.0, 40.0]]


def test_without_beginnings_nothing_is_before_a_moment() -> None:
    made = program([[10, 20]])
    work = apply_edits(made, [Edit(until_ns=(100, 100))])
    assert by_segment(made, work) == [[10.0, 20.0]]


@given(st.integers(2, 6))
def test_activities_that_are_all_of_the_work_leave_nothing_of_it(kinds: int) -> None:
    """Each of them is seen in one of so many pieces, and each piece is the work before a call."""
    made = program([[60.0]] * kinds)
    functions = Functions(
        names=(), of_piece=np.full(kinds, -1, np.int32), activity=np.arange(kinds, dtype=np.int8)
    )
    made = replace(made, functions=functions)
    edits = [Edit(activity=kind) for kind in list(Activity)[:kinds]]
    assert apply_edits(made, edits).ns.sum() == 0
    half = [replace(edit, factor=0.5) for edit in edits]
    assert np.allclose(apply_edits(made, half).ns, 30.0)
    assert np.allclose(apply_edits(made, edits[:1]).ns, 60.0 * (1 - 1 / kinds))


@given(st.sampled_from(Level))
def test_leveling_of_what_no_rank_does_leaves_the_work_as_it_is(level: Level) -> None:
    made = program([[3.0, 5.0], [0.0, 2.0], [4.0, 4.0]])
    assert apply_edits(made, [Edit(account=Account.EVALUATION, level=level)]) is made.work
    assert apply_edits(made, [Edit(level=level)]) is not made.work
