"""Timelines in bins: closed forms of which account a bin holds at each zoom level."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import INDEX
from perfscope.attribution.timeline import Timeline
from perfscope.attribution.zoom import (
    FINER,
    LEAST_BIN_NS,
    MOST_BINS,
    MOST_CELLS,
    NOBODY,
    Zoom,
    shown_rows,
    zoom,
)
from perfscope.metrics.compute import compute
from perfscope.schema.enums import Account, PhaseKind
from tests.support.trace_builder import TraceBuilder

TRAINING, INPUT, EVALUATION = (
    INDEX[a] for a in (Account.TRAINING, Account.INPUT_WAIT, Account.EVALUATION)
)
WAIT = INDEX[Account.COMMUNICATION_WAIT]
FINEST_NS = LEAST_BIN_NS
WHOLE_NS = MOST_BINS * FINEST_NS  # three levels without a rest


def line(*segments: tuple[int, int], start: int = 0) -> Timeline:
    """Segments (length in ns, account), one after the other."""
    lengths = [length for length, _ in segments]
    return Timeline(
        np.cumsum([start, *lengths]).astype(np.int64),
        np.array([account for _, account in segments], np.uint8),
        np.full(len(segments), -1, np.int32),
        np.full(len(segments), -1, np.int32),
    )


def whole(*timelines: Timeline, start: int = 0, length: int = WHOLE_NS) -> Zoom:
    found = zoom(timelines, Focus(start, start + length, "whole_trace", ""))
    assert found is not None
    return found


def row(found: Zoom, level: int, place: int = 0) -> list[int]:
    return [int(cell) for cell in found.levels[level].cells[place]]


def test_each_level_is_eight_times_finer() -> None:
    found = whole(line((WHOLE_NS, TRAINING)))
    assert [level.bin_ns for level in found.levels] == [64 * FINEST_NS, 8 * FINEST_NS, FINEST_NS]
    assert [level.cells.shape for level in found.levels] == [(1, 256), (1, 2048), (1, 16384)]
    assert all(np.all(level.cells == TRAINING) for level in found.levels)


def test_alternating_accounts_alternate_where_bins_are_fine_enough() -> None:
    pairs = [(FINEST_NS, TRAINING), (FINEST_NS, WAIT)] * (MOST_BINS // 2)
    found = whole(line(*pairs))
    assert row(found, 2) == [TRAINING, WAIT] * (MOST_BINS // 2)
    assert set(row(found, 1)) == set(row(found, 0)) == {TRAINING}  # equal: the ledger's first


@pytest.mark.parametrize(
    ("before", "expected"),
    [(-1, EVALUATION), (0, TRAINING), (1, TRAINING)],
    ids=["less than half", "half", "more than half"],
)
def test_a_bin_that_holds_a_change_takes_the_longer_part(before: int, expected: int) -> None:
    change = 5 * FINEST_NS + FINEST_NS // 2 + before
    found = whole(line((change, TRAINING), (WHOLE_NS - change, EVALUATION)))
    assert row(found, 2)[:7] == [TRAINING] * 5 + [expected, EVALUATION]


def test_a_coarse_bin_goes_by_time_and_not_by_its_finer_bins() -> None:
    # five of eight bins hold 60 % training, three of them evaluation alone: 3.0 to 5.0
    mixed = [(600, TRAINING), (400, EVALUATION)] * 5 + [(1000, EVALUATION)] * 3
    found = whole(line(*mixed, (WHOLE_NS - 8000, INPUT)))
    assert row(found, 2)[:8] == [TRAINING] * 5 + [EVALUATION] * 3
    assert row(found, 1)[0] == EVALUATION


def test_without_a_process_there_is_nobody() -> None:
    begins = line((1 * FINEST_NS, TRAINING), start=2 * FINEST_NS)
    never = line(start=WHOLE_NS // 2)
    found = whole(begins, never)
    assert row(found, 2)[:5] == [NOBODY, NOBODY, TRAINING, NOBODY, NOBODY]
    assert set(row(found, 1)) == {NOBODY}
    assert all(np.all(level.cells[1] == NOBODY) for level in found.levels)


def test_only_the_focus_counts() -> None:
    life = line((7_000, INPUT), (WHOLE_NS, TRAINING), (9_000, EVALUATION))
    found = whole(life, start=7_000)
    assert (found.start_ns, found.length_ns) == (7_000, WHOLE_NS)
    assert all(np.all(level.cells == TRAINING) for level in found.levels)


def test_what_is_behind_the_focus_does_not_count_in_the_last_bin() -> None:
    length = WHOLE_NS + 468  # bins of 1001 ns: the last one lies in the focus with 100 of them
    found = whole(line((length, TRAINING), (600, EVALUATION), (600, INPUT)), length=length)
    finest = found.levels[-1]
    assert finest.bin_ns == FINEST_NS + 1
    assert length - finest.bin_ns * (finest.cells.shape[1] - 1) == 100
    assert row(found, 2)[-1] == row(found, 0)[-1] == TRAINING


@pytest.mark.parametrize(
    ("length", "bins"),
    [
        (1, [1]),
        (300, [150]),  # of 2 ns, so that no bin is left over
        (2048 * LEAST_BIN_NS - 1, [256]),
        (2048 * LEAST_BIN_NS, [256, 2048]),
        (MOST_BINS * LEAST_BIN_NS, [256, 2048, 16384]),
        (3600 * 10**9, [256, 2048, 16384]),
    ],
)
def test_a_short_run_has_fewer_levels(length: int, bins: list[int]) -> None:
    found = whole(line((length, TRAINING)), length=length)
    assert [level.cells.shape[1] for level in found.levels] == bins


@pytest.mark.parametrize(("ranks", "levels"), [(18, 3), (19, 2), (64, 2), (1000, 2)])
def test_many_ranks_have_fewer_levels_and_rows(ranks: int, levels: int) -> None:
    found = whole(*[line((WHOLE_NS, TRAINING))] * ranks)
    assert len(found.levels) == levels
    assert found.levels[-1].cells.size <= MOST_CELLS
    assert len(found.rows) == min(ranks, 64)


@pytest.mark.parametrize("count", [65, 100, 127, 1000, 4096])
def test_outliers_have_rows_and_others_evenly_between_them(count: int) -> None:
    odd = {7, count // 2, count - 3}
    lines = [
        line((300, EVALUATION if number in odd else TRAINING), (WHOLE_NS - 300, TRAINING))
        for number in range(count)
    ]
    rows = shown_rows(lines, Focus(0, WHOLE_NS, "whole_trace", ""))
    assert len(rows) == len({*rows}) == 64
    assert list(rows) == sorted(rows)
    assert (rows[0], rows[-1]) == (0, count - 1)
    assert {*rows} >= odd
    others = np.diff(rows[17:])
    assert others.max() <= count // 46 + 2


def test_no_rank_or_no_time_is_no_timeline() -> None:
    assert zoom([], Focus(0, 10, "whole_trace", "")) is None
    assert zoom([line((10, TRAINING))], Focus(5, 5, "whole_trace", "")) is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 13)), min_size=1, max_size=40),
    st.integers(0, 60),
    st.integers(1, 600),
)
def test_every_bin_is_as_counted_nanosecond_by_nanosecond(
    segments: list[tuple[int, int]], start: int, length: int
) -> None:
    life = np.repeat([account for _, account in segments], [size for size, _ in segments])
    at = np.full(start + length + FINER * 10, NOBODY)
    at[20 : 20 + len(life)] = life[: len(at) - 20]
    (level,) = whole(line(*segments, start=20), start=start, length=length).levels
    for place, cell in enumerate(level.cells[0]):
        low = start + place * level.bin_ns
        counts = np.bincount(at[low : min(low + level.bin_ns, start + length)])
        assert cell == np.argmax(counts)


def test_a_trace_gives_the_accounts_of_its_ledger() -> None:
    builder = TraceBuilder(2, end_s=10.0)
    for number in (0, 1):
        builder.rank(number).init(1.0).finalize(9.0)
    builder.rank(0).phase(PhaseKind.TRAIN, 1.0, 5.0).phase(PhaseKind.EVALUATE, 5.0, 9.0)
    builder.rank(1).phase(PhaseKind.TRAIN, 1.0, 5.0).op("MPI_Barrier", 5.0, 9.0)
    found = compute(builder.build(), is_shown=True).zoom
    assert found is not None
    assert (found.start_ns, found.length_ns) == (10**9, 8 * 10**9)
    assert row(found, 0, 0) == [TRAINING] * 128 + [EVALUATION] * 128
    assert row(found, 0, 1)[:128] == [TRAINING] * 128
    assert TRAINING not in row(found, 0, 1)[129:]
