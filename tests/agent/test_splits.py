"""Which lines of a program deal out work by the number of the rank."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from perfscope.agent.perfscope_agent import metadata, recorder, sources, splits
from perfscope.agent.perfscope_agent.pace import Budget
from tests.agent.jobs import Job

DEALT = [
    "mine = items[comm.rank * n : (comm.rank + 1) * n]",
    "mine = a[comm.rank * n : (comm.rank + 1) * n, :]",
    "mine = a[:, self.comm.rank :: 4]",
    "for item in range(comm.Get_rank(), count, comm.Get_size()): pass",
    "own = slice(comm.rank * n, (comm.rank + 1) * n)",
    "mine = items[dist.get_rank()::world]",
    "own = islice(items, MPI.COMM_WORLD.rank, None, world)",
    "mine = np.array_split(items, world)[hvd.rank()]",
    "first = comm.rank * n\nmine = np.arange(first, first + n)",
    "me = comm.rank\nfirst, last = me * n, min(n, (me + 1) * n)\nmine = x[first:last]",
    "me = comm.rank\nfirst, last = starts[me], starts[me + 1]\nmine = x[first:last]",
    "me, size = comm.Get_rank(), comm.Get_size()\nfirst, rest = divmod(me, 2)\nmine = x[first:]",
]
OTHERS = [
    "if comm.rank == 0: save(items[:5])",
    "rng = np.random.default_rng(comm.rank)\nmine = rng.permutation(n)[:4]",
    "mine = items[:count]",
    "print('rank', comm.rank, items[0])",
    "seen[comm.rank] = 1",
    "names = {comm.rank: 1}",
    "rank, size = comm.Get_rank(), comm.Get_size()\nfor x in range(1, size): comm.send(x, x)",
    "print(hosts[comm.rank])",
    "rng = np.random.default_rng(seeds[comm.rank])",
    "me = comm.rank\nleft = (me - 1) % 4\nhalo = buffers[left]",
    "first = sum(counts[:comm.rank])",
    "y = x[self.rank :]",
    "def low(s, rank): return s[rank:]",
    "order = df.rank()\ny = x[order:]",
    "y = data[args.rank :]",
    "y = index.get_rank(word)\nz = data[y:]",
    "for other in range(comm.rank): pass",
    "x = [" + " + ".join(["'a'"] * 1500) + "][:2]",
]


def found(text: str) -> list[tuple[str, int]]:
    return [one[1:] for one in splits.places(ast, [("train.py", ast.parse(text))])]


@pytest.mark.parametrize("text", DEALT)
def test_bounds_that_derive_from_the_rank(text: str) -> None:
    lines = text.splitlines()
    assert found(text) == [("<module>", len(lines))]


@pytest.mark.parametrize("text", OTHERS, ids=[text[:30] for text in OTHERS])
def test_what_deals_out_nothing(text: str) -> None:
    assert found(text) == []


def test_a_sum_of_many_parts_is_gone_through() -> None:
    """Python's own bound of calls in each other is no bound of what programs write."""
    text = "first = " + " + ".join(["1"] * 1500) + " + comm.rank\nmine = x[first:]"
    assert found(text) == [("<module>", 2)]


def test_a_name_means_what_it_means_in_its_scope() -> None:
    text = """
me = comm.Get_rank()
def mine(rows):
    return rows[me::2]
def given(rows, me):
    return rows[me:]
def found(rows):
    me = rows.index(0)
    return rows[me:]
class A:
    def run(self, x):
        start = comm.rank * 3
        return x[start:]
class B:
    place = comm.rank
    def run(self, x, start):
        return x[start:], x[place:]
take = lambda rows: rows[me:]
take = lambda rows, me: rows[me:]
def sets():
    global me
    me = me + 1
    return x[me:]
"""
    assert found(text) == [("mine", 4), ("run", 13), ("<lambda>", 18), ("sets", 23)]


ADDED = """
class Tiles:
    def __init__(self, n, me, size):
        self.own = cut(me, n)
def cut(who, n): return range(who * n, n)
Tiles(4, comm.rank, 2)
"""
METHOD = """
class Grid:
    def rows(self, me): return self.x[me:]
def main(rank): Grid().rows(rank)
main(comm.Get_rank())
"""
JOINS = """
def work(me, n):
    dist.init_process_group("gloo", rank=me, world_size=n)
    use(x[me::n])
"""
GIVEN = [
    ("def deal(rows, me): return rows[me::4]\ndeal(x, comm.rank)", [("deal", 1)]),
    ("def deal(rows, me): return rows[me::4]\ndeal(x, me=comm.rank)", [("deal", 1)]),
    ("def deal(rows, me): return rows[me::4]\ndeal(x, 3)\ncomm.rank", []),
    ("def deal(me): return x[me::4]\ndef deal(me): return x[me:]\ndeal(comm.rank)", []),
    ("def deal(*me): return x[me[0]::4]\ndeal(*comm.rank)", []),
    ("import numpy as np\nnp.roll(x, comm.rank)\ndef part(me): return x[me:]", []),
    ("def work(me, n):\n  use(x[me::n])\nmp.spawn(work, args=(4,), nprocs=4)", [("work", 2)]),
    (JOINS, [("work", 4)]),
    (ADDED, [("cut", 5)]),
    (METHOD, [("rows", 3)]),
]


@pytest.mark.parametrize(("text", "told"), GIVEN, ids=[text[:30] for text, _ in GIVEN])
def test_a_function_that_is_given_the_rank(text: str, told: list[tuple[str, int]]) -> None:
    assert found(text) == told


def test_a_function_of_another_file_that_is_given_the_rank() -> None:
    files = [("main.py", "from tiles import deal\ndeal(comm.rank, 4)")]
    files.append(("tiles.py", "def deal(me, size):\n    return range(me, 10, size)"))
    trees = [(name, ast.parse(text)) for name, text in files]
    assert splits.places(ast, trees) == [("tiles.py", "deal", 2)]


@pytest.mark.parametrize(
    ("rows", "has_time", "is_told"),
    [(1, True, True), (1, False, False), (40000, True, False)],
    ids=["told", "no time is left", "a large file"],
)
def test_what_is_read_is_bounded(
    rows: int, has_time: bool, is_told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b"mine = x[comm.rank :]\n" + b"x=1\n" * rows
    files = [(str(tmp_path / "train.py"), text)]
    monkeypatch.setattr(sources, "texts", lambda _: iter(files))
    monkeypatch.setattr(recorder, "rank_and_size", lambda: (0, 2))
    monkeypatch.setattr(metadata, "facts", {})
    budget = Budget(1 << 40 if has_time else 0)
    assert splits.note(budget) is is_told
    assert ("splits" in metadata.facts) is is_told
    assert budget.spent_ns > 0


@pytest.mark.parametrize(("rank", "told"), [("0", [["<module>", "2"]]), ("1", [])])
def test_the_first_of_several_ranks_tells_when_it_is_over(
    rank: str, told: list[list[str]], job: Callable[..., Job]
) -> None:
    script = "class comm: rank = 0\nmine = [1, 2][comm.rank:]"
    done = job(script, variables={"PMI_RANK": rank, "PMI_SIZE": "2"})
    assert (done.exit_code, done.process.metadata["agent_notes"]) == (0, []), done.stderr
    places = done.process.metadata.get("splits", [])
    assert [one.split("\x1f")[::2] for one in places] == told
