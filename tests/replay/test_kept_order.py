"""Replays take rows in the order that the first one of a program has found: times are the same."""

from dataclasses import replace

import numpy as np
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from perfscope.arrays import Floats
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.replay.program import Needs, Program, segment_lengths
from perfscope.replay.segments import SegmentReplay
from tests.replay.message_programs import Spec, programs, to_trace

seeds = st.integers(0, 2**32 - 1)


def program_of(spec: Spec) -> Program:
    found = SegmentReplay(compute(to_trace(spec), Options())).program
    assume(found is not None)
    assert found is not None
    return found


def costs_of(program: Program, seed: int) -> tuple[Floats, Floats]:
    """Any times before rows and in them, some of them none."""
    drawn = np.random.default_rng(seed).integers(0, 1000, (2, program.row_count))
    gap, transfer = np.where(drawn < 300, 0.0, drawn / 7.0)
    return gap, transfer


@settings(max_examples=60, deadline=None)
@given(programs(), seeds)
def test_times_do_not_depend_on_whether_the_order_is_known(spec: Spec, seed: int) -> None:
    program = program_of(spec)
    used = program.needs.engine(program.cut_rows)  # checking it has found the order
    for one in (seed, seed + 1):
        gap, transfer = costs_of(program, one)
        new = program.needs.engine(program.cut_rows, is_checked=False)
        assert new.lengths(gap, transfer).tolist() == used.lengths(gap, transfer).tolist()
        new = program.needs.engine(program.cut_rows, is_checked=False)
        for first, again in zip(new.times(gap, transfer), used.times(gap, transfer), strict=True):
            assert first.tolist() == again.tolist()


@settings(max_examples=60, deadline=None)
@given(programs(), seeds)
def test_what_is_asked_once_keeps_no_order_and_takes_as_long(spec: Spec, seed: int) -> None:
    program = program_of(spec)
    once = replace(program, is_asked_once=True)
    _, transfer = costs_of(program, seed)
    expected = segment_lengths(program, program.work, transfer)
    for _ in range(2):
        assert segment_lengths(once, once.work, transfer).tolist() == expected.tolist()
    gap = program.gaps_ns(program.work)
    for found, told in zip(
        once.engine.times(gap, transfer), program.engine.times(gap, transfer), strict=True
    ):
        assert found.tolist() == told.tolist()


@settings(max_examples=60, deadline=None)
@given(programs(), seeds, st.booleans())
def test_lengths_without_the_transfer_of_an_operation(spec: Spec, seed: int, known: bool) -> None:
    program = program_of(spec)
    gap, transfer = costs_of(program, seed)
    codes = np.unique(program.row_op)[::-1].astype(np.int32)
    row, none = np.arange(program.row_count, dtype=np.int32), program.fixed
    asked = program.needs.engine(program.cut_rows, is_checked=known)
    lengths = asked.lengths_without(
        row, gap, none.row[:0], none.ns[:0], transfer, program.row_op, codes
    ).reshape(len(codes), -1)
    for code, found in zip(codes.tolist(), lengths, strict=True):
        plain = program.needs.engine(program.cut_rows, is_checked=False)
        expected = plain.lengths(gap, np.where(program.row_op == code, 0.0, transfer))
        assert found.tolist() == expected.tolist()


@settings(max_examples=60, deadline=None)
@given(
    programs(), seeds, st.booleans(), st.lists(st.sampled_from([np.inf, 1e9, 3.0, 0.5]), min_size=1)
)
def test_lengths_on_several_networks_at_once(
    spec: Spec, seed: int, known: bool, divisors: list[float]
) -> None:
    program = program_of(spec)
    gap, transfer = costs_of(program, seed)
    row, none = np.arange(program.row_count, dtype=np.int32), program.fixed
    asked = program.needs.engine(program.cut_rows, is_checked=known)
    lengths = asked.lengths_of_networks(
        row, gap, none.row[:0], none.ns[:0], transfer, np.array(divisors)
    ).reshape(len(divisors), -1)
    for divisor, found in zip(divisors, lengths, strict=True):
        plain = program.needs.engine(program.cut_rows, is_checked=False)
        assert found.tolist() == plain.lengths(gap, transfer / divisor).tolist()


@settings(max_examples=60, deadline=None)
@given(programs(), seeds, st.booleans())
def test_lengths_between_some_cuts_alone(spec: Spec, seed: int, known: bool) -> None:
    program = program_of(spec)
    gap, transfer = costs_of(program, seed)
    is_kept = np.random.default_rng(seed).random(len(program.cut_rows)) < 0.5
    is_kept[[0, -1]] = True
    row, none = np.arange(program.row_count, dtype=np.int32), program.fixed
    asked = program.needs.engine(program.cut_rows, is_checked=known)
    found = asked.joined_lengths(
        *(row, gap, none.row[:0], none.ns[:0], transfer), is_kept.view(np.uint8)
    )
    event(f"told: {found is not None}")
    if found is not None:
        plain = program.needs.engine(program.cut_rows[is_kept], is_checked=False)
        assert found.tolist() == plain.lengths(gap, transfer).tolist()


def test_windows_that_begin_between_kept_cuts_go_on_where_others_ended() -> None:
    """A run of several windows: a window holds some 16,384 rows."""
    random = np.random.default_rng(3)
    segments, ranks, between = 6000, 2, 3  # a message from the first to the second rank in each
    per_rank = segments * between + 1
    cut_rows = np.arange(segments + 1)[:, None] * between + np.arange(ranks) * per_rank
    needs = np.full(ranks * per_rank, -1, np.int32)
    here = per_rank + between * np.arange(segments) + 2
    needs[here] = here - per_rank - 1
    has = needs >= 0
    starts = np.concatenate([[0], np.cumsum(has)]).astype(np.int32)
    none = np.empty(0, np.int64)
    program = Needs(np.zeros(1, np.int64), none, none, starts, needs[has])
    gap, transfer = random.random((2, ranks * per_rank))
    for share in (0.0, 0.001, 0.5):
        is_kept = random.random(segments + 1) < share
        is_kept[[0, -1]] = True
        row = np.arange(len(gap), dtype=np.int32)
        found = program.engine(cut_rows).joined_lengths(
            row, gap, row[:0], gap[:0], transfer, is_kept.view(np.uint8)
        )
        assert found is not None
        expected = program.engine(cut_rows[is_kept], is_checked=False).lengths(gap, transfer)
        assert found.tolist() == expected.tolist()
