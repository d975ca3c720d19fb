"""Which lines of a program deal out work by the number of the rank."""

import pytest

from perfscope.agent.perfscope_agent import splits

DEALT = [
    "mine = items[comm.rank * n : (comm.rank + 1) * n]",
    "for item in range(comm.Get_rank(), count, comm.Get_size()): pass",
    "own = slice(comm.rank * n, (comm.rank + 1) * n)",
    "mine = items[dist.get_rank()::world]",
    "mine = np.array_split(items, world)[hvd.rank()]",
    "first = comm.rank * n\nmine = np.arange(first, first + n)",
    "me = comm.rank\nfirst, last = me * n, min(n, (me + 1) * n)\nmine = x[first:last]",
]
OTHERS = [
    "if comm.rank == 0: save(items[:5])",
    "rng = np.random.default_rng(comm.rank)\nmine = rng.permutation(n)[:4]",
    "mine = items[:count]",
    "print('rank', comm.rank, items[0])",
    "seen[comm.rank] = 1",
    "names = {comm.rank: 1}",
]


@pytest.mark.parametrize("text", DEALT)
def test_bounds_that_derive_from_the_rank(text: str) -> None:
    lines = text.splitlines()
    assert splits.places(text.encode()) == [("<module>", len(lines))]


@pytest.mark.parametrize("text", OTHERS)
def test_what_deals_out_nothing(text: str) -> None:
    assert splits.places(text.encode()) == []


def test_functions_that_are_given_the_number() -> None:
    text = b"""
me = comm.Get_rank()
def mine(rows):
    return rows[me::2]
def given(rows, rank, size):
    here = len(rows) * rank // size
    return rows[here:]
def another(rows, place):
    return rows[place:]
def broken(rows):
    rank = 3
"""
    assert splits.places(text) == [("mine", 4), ("given", 7)]
    assert splits.places(b"def (") == []
