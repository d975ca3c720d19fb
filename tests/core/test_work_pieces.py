"""The time between replayed calls, against a walk over every nanosecond."""

import numpy as np
import pytest

from perfscope import _core

LATEST, COMMUNICATION = 60, 1
Piece = tuple[int, int, int, int, int, int]


class Life:
    """A rank's timeline, calls one after the other, and moments at which pieces are split."""

    def __init__(self, chance: np.random.Generator, first_row: int) -> None:
        cuts = np.unique(chance.integers(0, LATEST, chance.integers(2, 9)))
        self.boundaries = cuts if len(cuts) > 1 else np.array([0, LATEST])
        segments = len(self.boundaries) - 1
        self.accounts = chance.integers(0, 3, segments).astype(np.uint8)
        self.phases, self.stacks = chance.integers(-1, 3, (2, segments)).astype(np.int32)
        ends = np.sort(chance.integers(0, LATEST, 2 * chance.integers(0, 5)))
        self.enters, self.exits = ends[::2].copy(), ends[1::2].copy()
        self.marks = chance.integers(0, LATEST, chance.integers(0, 4))
        self.end, self.first_row = int(chance.integers(5, LATEST)), first_row

    def columns(self) -> tuple[object, ...]:
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
        *found, fixed = _core.work_pieces(columns, start, communication, 40)
        plain = [piece for life in lives for piece in life.pieces(start)]
        row, account, ns, phase, stack, begin = (column.tolist() for column in found)
        assert [
            (r, a, b, b + n, p, s)
            for r, a, n, p, s, b in zip(row, account, ns, phase, stack, begin, strict=True)
        ] == [piece for piece in plain if piece[1] != COMMUNICATION], seed
        alone = np.zeros(40)
        for row_of, told, at, until, *_ in plain:
            alone[row_of] += (until - at) * (told == COMMUNICATION)
        assert fixed.tolist() == alone.tolist(), seed


def test_rows_that_do_not_fit_are_refused() -> None:
    life = Life(np.random.default_rng(1), 1)
    none = np.zeros(3, np.uint8)
    with pytest.raises(ValueError, match="do not fit"):
        _core.work_pieces([life.columns()], 0, none, 1)
    life.phases = life.phases[1:]
    with pytest.raises(ValueError, match="do not fit"):
        _core.work_pieces([life.columns()], 0, none, 40)
