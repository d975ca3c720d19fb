"""Timelines added up, and cut into pieces between calls, against a walk over every nanosecond."""

from typing import Any

import numpy as np
import pytest

from perfscope import _core

LATEST, COMMUNICATION = 60, 1
WIDE = 1 << 15  # more than 16 bits hold
MIDDLE = 300
Piece = tuple[int, int, int, int, int, int]


class Life:
    """A rank's timeline, calls one after the other, and moments at which pieces are split."""

    def __init__(self, chance: np.random.Generator, first_row: int) -> None:
        width = int(chance.integers(3))
        cuts = np.unique(chance.integers(0, LATEST, chance.integers(2, 9)))
        self.boundaries = cuts if len(cuts) > 1 else np.array([0, LATEST])
        segments = len(self.boundaries) - 1
        self.accounts = chance.integers(0, 3, segments).astype(np.uint8)
        codes = chance.integers(-1, 3, (2, segments)).astype((np.int8, np.int16, np.int32)[width])
        self.phases, self.stacks = codes
        if width:
            self.stacks[self.stacks == 2] = (MIDDLE, WIDE)[width - 1]
        ends = np.sort(chance.integers(0, LATEST, 2 * chance.integers(0, 5)))
        self.enters, self.exits = ends[::2].copy(), ends[1::2].copy()
        self.marks = chance.integers(0, LATEST, chance.integers(0, 4))
        self.end, self.first_row = int(chance.integers(5, LATEST)), first_row

    def columns(self) -> tuple[Any, ...]:
        layers = self.boundaries, self.accounts, self.phases, self.stacks
        return *layers, self.enters, self.exits, self.marks, self.end, self.first_row

    def pieces(self, start: int) -> list[Piece]:
        """Row, account, begin, end, phase and stack, nanosecond by nanosecond."""
        found: list[Piece] = []
        cuts = {*self.boundaries, *self.enters, *self.exits, *self.marks}
        for at in range(start, self.end):
            segment = int(np.searchsorted(self.boundaries, at, side="right")) - 1
            calls = zip(self.enters, self.exits, strict=True)
            if any(enter <= at < leave for enter, leave in calls):
                continue
            if not 0 <= segment < len(self.accounts):
                continue
            row = self.first_row + int(np.sum(self.exits <= at))
            told = int(self.phases[segment]), int(self.stacks[segment])
            if found and found[-1][3] == at and at not in cuts:
                row, account, begin, _, *_ = found.pop()
                found.append((row, account, begin, at + 1, *told))
            else:
                found.append((row, int(self.accounts[segment]), at, at + 1, *told))
        return found


def test_every_nanosecond_is_in_its_piece() -> None:
    communication = np.array([0, 1, 0], np.uint8)
    for seed in range(300):
        chance = np.random.default_rng(seed)
        lives = [Life(chance, 1), Life(chance, 20)]
        start = int(chance.integers(0, 5))
        columns = [life.columns() for life in lives]
        found = _core.work_pieces(columns, start, communication, 40)
        plain = [piece for life in lives for piece in life.pieces(start)]
        assert found[3].dtype == np.int8
        largest = max((piece[5] for piece in plain if piece[1] != COMMUNICATION), default=0)
        assert found[4].dtype == {MIDDLE: np.int16, WIDE: np.int32}.get(largest, np.int8)
        row, account, ns, phase, stack, begin, fixed = (column.tolist() for column in found)
        assert [
            (r, a, b, b + n, p, s)
            for r, a, n, p, s, b in zip(row, account, ns, phase, stack, begin, strict=True)
        ] == [piece for piece in plain if piece[1] != COMMUNICATION], seed
        alone = np.zeros(40)
        for row_of, told, at, until, *_ in plain:
            alone[row_of] += (until - at) * (told == COMMUNICATION)
        assert fixed == alone.tolist(), seed


def test_every_nanosecond_is_in_its_sums() -> None:
    for seed in range(200):
        chance = np.random.default_rng(seed)
        life, bin_ns = Life(chance, 1), int(chance.integers(1, 20))
        start, timeline = int(chance.integers(0, 30)), life.columns()[:3]
        by_phase = np.zeros((3, 3), np.int64)
        by_bin = np.zeros((-(-max(life.end - start, 0) // bin_ns), 4), np.int64)
        for at in range(LATEST):
            segment = int(np.searchsorted(life.boundaries, at, side="right")) - 1
            is_alive = 0 <= segment < len(life.accounts)
            account = int(life.accounts[segment]) if is_alive else 3
            if start <= at < life.end:
                by_bin[(at - start) // bin_ns, account] += 1
            if is_alive and start <= life.boundaries[segment] < life.end:
                row = int(life.phases[segment]) + 1 if life.phases[segment] < 2 else 0
                by_phase[row, account] += 1
        found = _core.spent_by_phase(timeline, start, life.end, 2, 3)
        assert found.tolist() == by_phase.ravel().tolist(), seed
        found = _core.spent_by_bin(timeline, start, life.end, bin_ns, 3)
        assert found.tolist() == by_bin.ravel().tolist(), seed
        with pytest.raises(ValueError, match="not those"):
            _core.spent_by_bin((timeline[0][1:], *timeline[1:]), start, life.end, bin_ns, 3)


def test_rows_that_do_not_fit_are_refused() -> None:
    life = Life(np.random.default_rng(1), 1)
    none = np.zeros(3, np.uint8)
    with pytest.raises(ValueError, match="do not fit"):
        _core.work_pieces([life.columns()], 0, none, 1)
    life.phases = life.phases[1:]
    with pytest.raises(ValueError, match="do not fit"):
        _core.work_pieces([life.columns()], 0, none, 40)
