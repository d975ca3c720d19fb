"""Which lines of a program deal out work by the number of the rank."""

import ast
import time
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
    return [one[1:] for one in placed({"train.py": text})]


def placed(files: dict[str, str], budget_ns: int = 1 << 40) -> list[tuple[str, str, int]]:
    trees = [(name, ast.parse(text)) for name, text in files.items()]
    return splits.places(ast, trees, splits.Clock(Budget(budget_ns)))


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
    assert found(text) == [("mine", 4), ("A.run", 13), ("<lambda>", 18), ("sets", 23)]


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
    (METHOD, [("Grid.rows", 3)]),
]


@pytest.mark.parametrize(("text", "told"), GIVEN, ids=[text[:30] for text, _ in GIVEN])
def test_a_function_that_is_given_the_rank(text: str, told: list[tuple[str, int]]) -> None:
    assert found(text) == told


TILES = "def deal(me, size):\n    return range(me, 10, size)"


@pytest.mark.parametrize(
    ("imported", "call", "is_told"),
    [
        ("from tiles import deal", "deal(comm.rank, 4)", True),
        ("from tiles import deal as cut", "cut(comm.rank, 4)", True),
        ("import a.tiles as tiles", "tiles.deal(comm.rank, 4)", True),
        ("from . import tiles", "tiles.deal(comm.rank, 4)", True),
        ("from cards import deal", "deal(comm.rank, 4)", False),
        ("import cards", "cards.deal(comm.rank, 4)", False),
        ("", "deal(comm.rank, 4)", False),
    ],
)
def test_a_function_of_another_file_that_is_given_the_rank(
    imported: str, call: str, *, is_told: bool
) -> None:
    files = {"a/main.py": f"{imported}\n{call}", "a/tiles.py": TILES}
    assert placed(files) == ([("a/tiles.py", "deal", 2)] if is_told else [])


STATIC = """
class A:
    @staticmethod
    def w(me, n): return range(n, 10), range(me, 10)
    @classmethod
    def c(cls, me, n): return range(me, 10), range(n, 10)
    def v(self, me, n):
        return range(n, 10)
    def u(self):
        return self.t(comm.rank)
    def t(self, me): return x[me:]
"""
GET = "def get(start): return x[start:]\n"
WORK = "def work(n): return x[n:]\n"
CALLS = [
    (STATIC + "A.w(comm.rank, 4)", ["A.w", "A.t"]),
    (STATIC + "A().w(comm.rank, 4)", ["A.w", "A.t"]),
    (STATIC + "A.v(comm.rank, 3, 4)", ["A.t"]),
    (STATIC + "A.v(A(), 3, comm.rank)", ["A.v", "A.t"]),
    (STATIC + "a = A()\na.v(3, comm.rank)", ["A.v", "A.t"]),
    (STATIC + "a = A()\na = b()\na.v(3, comm.rank)", ["A.t"]),
    (STATIC + "A.c(comm.rank, 3)", ["A.c", "A.t"]),
    (STATIC + "class B(A):\n    def t(self, me): return 3", []),
    (GET + "cache.get(comm.rank)", []),
    (GET + "get(comm.rank)", ["get"]),
    (GET + "from os import get\nget(comm.rank)", []),
    (GET + "def main(get): return get(comm.rank)", []),
    (WORK + "gevent.spawn(work, stuff)", []),
    (WORK + "from eventlet import spawn\nspawn(work, stuff)", []),
    (WORK + "from torch.multiprocessing import spawn\nspawn(work, (4,))", ["work"]),
    (WORK + "torch.multiprocessing.spawn(work, (4,))", ["work"]),
]


@pytest.mark.parametrize(("text", "told"), CALLS, ids=[text[-40:] for text, _ in CALLS])
def test_only_calls_that_mean_a_function_of_the_program_are_followed(
    text: str, told: list[str]
) -> None:
    """By who is asked for it; what is given by place is that of the kind of function it is."""
    assert sorted(name for name, _ in found(text)) == sorted(told)


def test_the_parameter_of_a_static_method_is_the_one_that_is_given() -> None:
    text = "class A:\n  @staticmethod\n  def w(me, n):\n    f(range(n, 9))\n    f(range(me, 9))\n"
    assert found(text + "A.w(comm.rank, 4)") == [("A.w", 5)]


CHAIN = "".join(f"def f{n}(x): f{n - 1}(x)\n" for n in range(1, 1500))
BACKWARDS = "".join(f"a{n} = a{n + 1}\n" for n in range(1500)) + "a1500 = comm.rank\n"


def test_what_follows_from_each_other_backwards_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each round tells one more: it is asked inside whether any time is left."""
    now = iter(range(1 << 40))
    monkeypatch.setattr(time, "monotonic_ns", lambda: next(now))
    with pytest.raises(splits.NoTimeError):
        placed({"train.py": BACKWARDS + "y = x[a0:]"}, budget_ns=1000)


def test_functions_that_hand_on_the_rank_are_each_gone_through_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone: list[int] = []
    ask = splits.Clock.ask

    def counted(clock: splits.Clock, ahead_ns: int = 0) -> None:
        gone.append(ahead_ns)
        ask(clock, ahead_ns)

    monkeypatch.setattr(splits.Clock, "ask", counted)
    assert found("def f0(x): return y[x:]\n" + CHAIN + "f1499(comm.rank)") == [("f0", 1)]
    assert len(gone) < 10 * 1500


@pytest.mark.parametrize(
    ("rows", "has_time", "is_told"),
    [(1, True, True), (1, False, False), (40000, True, False)],
    ids=["told", "no time is left", "large files"],
)
def test_what_is_read_is_bounded(
    rows: int, has_time: bool, is_told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b"mine = x[comm.rank :]\n" + b"x=1\n" * rows
    files = [(str(tmp_path / name), text) for name in ("train.py", "other.py")]
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
