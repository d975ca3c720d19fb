"""Collectives as rows ask for them, and which follow closely, against a little plain Python."""

import numpy as np
import pytest

from perfscope import _core

CALLS = 60
MOST_NS = 40


class Chance:
    """Collectives of some calls, at random."""

    def __init__(self, seed: int) -> None:
        chance = np.random.default_rng(seed)
        self.members = chance.permutation(CALLS)[: int(chance.integers(1, CALLS + 1))]
        cuts = np.unique(chance.integers(1, len(self.members) + 1, 40))
        self.starts = np.unique(np.concatenate([[0], cuts, [len(self.members)]])).astype(np.int64)
        self.count = len(self.starts) - 1
        self.carried = chance.integers(0, 9, self.count)
        comm, seq = chance.integers(0, 2, self.count), chance.integers(0, 3, self.count)
        self.kinds = comm, seq, np.zeros(self.count, np.int64)
        enter = np.sort(chance.integers(0, 300, CALLS))
        rank = (chance.random(CALLS) < 0.1).astype(np.int32)
        self.calls = enter, enter + chance.integers(0, 20, CALLS), rank
        self.order = chance.permutation(self.count)
        self.rows = chance.integers(-1, CALLS, 80).astype(np.int32)

    def of(self, instance: int) -> list[int]:
        """The calls of one."""
        found = self.members[self.starts[instance] : self.starts[instance + 1]]
        return [int(call) for call in found]

    def follows(self, one: int, other: int) -> bool:
        """Whether one comes next and closely after another."""
        comm, seq, op = self.kinds
        enter, leave, rank = self.calls
        if comm[one] != comm[other] or op[one] != op[other] or seq[one] != seq[other] + 1:
            return False
        if len(self.of(one)) != len(self.of(other)):
            return False
        return all(
            0 <= enter[later] - leave[earlier] <= MOST_NS and rank[later] == rank[earlier]
            for earlier, later in zip(self.of(other), self.of(one), strict=True)
        )


@pytest.mark.parametrize("seed", range(30))
def test_collectives_of_rows(seed: int) -> None:
    run = Chance(seed)
    size, ranks = _core.collectives_of_rows(run.members, run.starts, run.carried, run.rows, CALLS)
    instance = {call: number for number in range(run.count) for call in run.of(number)}
    found = [instance.get(call) for call in run.rows.tolist()]
    assert size.tolist() == [0 if one is None else run.carried[one] for one in found]
    assert ranks.tolist() == [0 if one is None else len(run.of(one)) for one in found]


def test_collectives_that_follow_closely() -> None:
    some = 0
    for seed in range(300):
        run = Chance(seed)
        found = _core.follow_closely(
            (run.members, run.starts), run.kinds, run.calls, run.order, MOST_NS
        )
        order = run.order.tolist()
        pairs = zip(order[1:], order, strict=False)
        assert found.tolist() == [False, *(run.follows(*pair) for pair in pairs)]
        some += int(found.sum())
    assert some > 20


def test_collectives_that_do_not_fit_are_refused() -> None:
    run = Chance(1)
    for members, starts, calls in (
        (run.members + CALLS, run.starts, CALLS),
        (run.members, run.starts[:-1], CALLS),
        (run.members, run.starts[::-1].copy(), CALLS),
        (run.members, run.starts, int(run.rows.max())),
    ):
        with pytest.raises(ValueError, match="do not fit"):
            _core.collectives_of_rows(members, starts, run.carried, run.rows, calls)
    with pytest.raises(ValueError, match="do not fit"):
        _core.follow_closely(
            (run.members, run.starts), run.kinds, run.calls, run.order + 1, MOST_NS
        )
