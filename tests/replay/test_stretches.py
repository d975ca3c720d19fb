"""Columns that go on evenly are kept as the places where they do not, and come back."""

from typing import Any

import numpy as np
import pytest

from perfscope import _core
from perfscope.packed import Stretches


@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize("seed", range(20))
def test_all_and_some_numbers_come_back(seed: int, step: int) -> None:
    lot = np.random.default_rng(seed)
    count, share = int(lot.integers(0, 400)), float(lot.choice([0.0, 0.02, 0.2, 0.5, 1.0]))
    changes = np.where(lot.random(count) < share, lot.integers(-5, 9, count), step)
    values = np.cumsum(changes).astype(np.int32) - 1
    kept = Stretches(values, step=step)
    assert len(kept) == count
    assert kept.all().tolist() == values.tolist()
    rows = lot.integers(0, max(count, 1), 30 if count else 0)
    assert kept.at(rows).tolist() == values[rows].tolist()
    first, end = sorted(lot.integers(0, count + 1, 2).tolist())
    assert kept.between(first, end).tolist() == values[first:end].tolist()
    assert kept.all().dtype == kept.at(rows).dtype == np.int32


@pytest.mark.parametrize("kind", [np.uint16, np.uint32, np.int8])
def test_numbers_of_other_types_stay_what_they_are(kind: type[np.integer[Any]]) -> None:
    values = np.repeat(np.array([np.iinfo(kind).max, 0, 3], kind), [20, 1, 40])
    kept = Stretches(values, step=0)
    for found, wanted in ((kept.all(), values), (kept.between(15, 30), values[15:30])):
        assert (found.dtype, found.tolist()) == (values.dtype, wanted.tolist())


def test_few_breaks_take_little_room() -> None:
    values = np.repeat(np.arange(10, dtype=np.int32), 1000)
    held = vars(Stretches(values, step=0))
    assert sum(one.nbytes for one in held.values() if isinstance(one, np.ndarray)) == 2 * 4 * 10


@pytest.mark.parametrize("seed", range(20))
def test_rows_lie_in_the_segment_that_ends_behind_them(seed: int) -> None:
    """What begins the first segment belongs to it, and a cut to the one that it closes."""
    lot = np.random.default_rng(seed)
    ranks, segments = int(lot.integers(1, 5)), int(lot.integers(1, 7))
    lengths = lot.integers(1, 6, (segments, ranks))
    starts = np.append(0, np.cumsum(lengths.sum(axis=0) + 1))
    cuts = starts[:-1] + np.vstack([np.zeros(ranks, np.int64), np.cumsum(lengths, axis=0)])
    wanted = [
        next(segment for segment in range(segments) if row <= cuts[segment + 1, rank])
        for rank in range(ranks)
        for row in range(int(starts[rank]), int(starts[rank + 1]))
    ]
    found = _core.row_segments(cuts.astype(np.int64).ravel(), ranks, int(starts[-1]))
    assert found.tolist() == wanted
    rows = lot.integers(0, int(starts[-1]), 50).astype(np.int32)
    for row in (rows, np.sort(rows), np.arange(starts[-1], dtype=np.int32)):
        cells = np.zeros((segments, ranks))
        np.add.at(cells, (found[row], np.searchsorted(starts, row, side="right") - 1), row + 1.0)
        ns, flat = row.astype(np.float64) + 1.0, cuts.astype(np.int64).ravel()
        added = _core.work_by_cell(row, ns, np.ones(len(row), np.uint8), flat, ranks=ranks)
        assert added.tolist() == cells.ravel().tolist()
    with pytest.raises(ValueError, match="do not fit"):
        _core.row_segments(cuts.astype(np.int64).ravel(), ranks, int(cuts.max()))
