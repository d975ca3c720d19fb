"""What lines work on is seen without running the program's code, and is told without its values."""

import dis
import struct
import subprocess
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

import pytest

from perfscope.agent.perfscope_agent import bytecode, operand_arrays
from perfscope.agent.perfscope_agent.operand_arrays import Array
from perfscope.record.places import recorder_library
from tests.agent.jobs import RANK_ZERO, Job

COMMON = """
import threading, time
import numpy as np
from perfscope_agent import operands, pace
pace._SHARE = pace.Budget.SHARE = 0.5  # what looks cost on a slow machine keeps none of them away
rng = np.random.default_rng(1)
def looks_at(function):  # at each place of it that was looked at, and at its results
    sites = list(operands.looker._sites.values()) if operands.looker else []
    return [(one.looks, one.result_looks) for one in sites if one.code is function.__code__]
def repeat(function, *arguments):
    while not any(looks for looks, _ in looks_at(function)):
        function(*arguments)
def repeat_often(function, *arguments):
    while sum(looks >= 4 and results >= 2 for looks, results in looks_at(function)) < 2:
        function(*arguments)
square = rng.normal(size=(300, 300)) + 300 * np.eye(300)
"""
MEET_OFTEN = """
pace._MEETING_BITS, pace._MEETING_NS = 26, 1 << 26  # eight times as often
"""
REPEATED = """
def the_same(matrix):
    inverse = np.linalg.inv(matrix)
    for _ in range(10):
        product = inverse @ inverse
def changing(matrix):
    matrix += rng.normal(size=matrix.shape)
    inverse = np.linalg.inv(matrix)
    for _ in range(10):
        product = inverse @ inverse
repeat_often(the_same, square.copy())
repeat_often(changing, square.copy())
"""
FOREIGN = """
def foreign(values):
    return values * 2.0
repeat(foreign, rng.normal(size=500000).astype(">f8"))
"""
DECAYED = """
def decayed(values):
    return np.exp(values)
repeat(decayed, np.full(500000, 3e-310))
"""
WRITTEN_INTO = """
def fill(ranks, numbers):
    ranks[numbers] = 3e-310
repeat(fill, np.full(500000, 3e-310), rng.permutation(500000))
"""
ACROSS = """
def across(values):
    return np.cumsum(values, axis=0)
repeat(across, np.ones((2000, 500))[::2])
"""
PICKED = """
def picked(columns, numbers):
    return columns[numbers]
repeat(picked, np.asfortranarray(rng.normal(size=(4000, 20)))[:3000], rng.integers(0, 3000, 90000))
"""
PICKED_FROM_ROWS = """
class Counts:
    def __init__(self, table):
        self.table = table
    def take(self, cells):
        return self.table[:, cells].T
repeat(Counts(rng.random((500, 4000), np.float32)).take, rng.integers(0, 4000, 9000))
"""
MET = """
class Net:
    def __init__(self):
        self.weights = np.ones((900, 300), np.float32)
    def forward(self, x):
        return x @ self.weights
    def turned(self, x):
        return np.exp(x) * self.weights.T
net = Net()
repeat(net.forward, rng.normal(size=(200, 900)))
repeat(net.turned, rng.normal(size=(300, 900)))
"""
PADDED = """
def padded(tokens):
    return np.sort(tokens)
tokens = np.zeros((400, 100), dtype=np.int64)
tokens[:, :25] = rng.integers(1, 900, (400, 25))
repeat(padded, tokens)
"""
OBJECTS = """
def objects(values):
    return values + 1
def records(table):
    return table.copy()
repeat(objects, np.arange(200000).astype(object))
repeat(records, np.zeros(400000, dtype=[("a", "f8"), ("b", "i4")]))
"""
HOLDERS = """
touched, ended, main = [], [], threading.get_ident()
class Holder:
    def __init__(self, matrix):
        self.matrix = matrix
    def __getattribute__(self, name):
        touched.append(name)
        return object.__getattribute__(self, name)
    @property
    def hidden(self):
        touched.append("hidden")
class Watched(np.ndarray):
    def __del__(self):
        ended.append(threading.get_ident() == main)
def held(holder):
    holder.matrix @ holder.matrix
    holder.hidden
def watched(values):
    one = np.array(values).view(Watched)
    return one @ values
holder, count = Holder(square), 0
while not any(looks for looks, _ in looks_at(held)):
    held(holder)
    count += 1
print(touched == ["matrix", "matrix", "hidden", "hidden"] * count or touched[:8])
repeat(watched, square)
while len(ended) <= 10:
    watched(square)
print(all(ended))
"""


def seen(told: dict[str, Any], function: str, name: str) -> list[dict[str, Any]]:
    """What was seen of one name in one function, and of where that was."""
    return [
        {**site, **one}
        for site in told["sites"]
        if site["place"].split("\x1f")[0] == function
        for one in site["operands"]
        if one["name"] == name
    ]


def run_and_tell(
    job: Callable[..., Job], program: str, printed: bytes = b"", **settings: Any
) -> dict[str, Any]:
    """What is told of the operands of a program, which is not disturbed."""
    variables = {**RANK_ZERO, "OMP_NUM_THREADS": "1", "PERFSCOPE_KEY": "07" * 16}
    done = job(COMMON + program, variables=variables, **settings)
    assert (done.exit_code, done.stdout) == (0, printed), done.stderr
    metadata = done.process.metadata
    assert metadata["agent_notes"] == []
    found: dict[str, Any] = metadata["operands"]
    assert found["looks"] > 0
    return found


def results(told: dict[str, Any], function: str) -> list[int]:
    """How many different results a function's instructions were seen to have."""
    sites = [one for one in told["sites"] if one["place"].startswith(function + "\x1f")]
    return [one["results"] for one in sites if one["result_looks"] > 1]


def test_contents_and_results_that_never_change_are_one(job: Callable[..., Job]) -> None:
    told = run_and_tell(job, MEET_OFTEN + REPEATED)
    same = seen(told, "the_same", "inverse")
    assert {one["contents"] for one in same if one["looks"] > 1} == {1}
    assert set(results(told, "the_same")) == {1}
    changing = seen(told, "changing", "inverse")
    # a few looks may come while one call is on its way
    assert all(one["contents"] > 1 for one in changing if one["looks"] > 3)
    assert max(one["looks"] for one in changing) > 3
    assert 1 not in results(told, "changing")


def test_values_whose_bytes_are_in_foreign_order(job: Callable[..., Job]) -> None:
    found = seen(run_and_tell(job, FOREIGN), "foreign", "values")
    assert {(one["byte_order"], one["dtype"]) for one in found} == {("foreign", "float64")}


def test_shares_of_subnormal_values(job: Callable[..., Job]) -> None:
    told = run_and_tell(job, DECAYED)
    found = seen(told, "decayed", "values")
    assert found[0]["shares"] == {"zero": 0, "zero_pieces": 0, "subnormal": 1, "no_number": 0}
    assert found[0]["least_zero"] == 0
    assert set(told["subnormal_times"]) == {"float64"}  # what nobody saw was not timed
    assert told["subnormal_times"]["float64"] > 0


def test_values_that_are_only_written_over_are_not_counted(job: Callable[..., Job]) -> None:
    """As of a new array, whose memory still holds what was there before."""
    found = seen(run_and_tell(job, WRITTEN_INTO), "fill", "ranks")
    assert found[0]["shares"] == {}
    assert found[0]["elements"] == [500000, 500000]


VIEWED = """
def across(values):
    return np.cumsum(values, axis=0)
def passes(values):
    return across(values.T)
repeat(passes, np.ones((2000, 500)))
while not any(looks for looks, _ in looks_at(across)):
    passes(np.ones((2000, 500)))
"""


def test_who_calls_an_instruction_is_told(job: Callable[..., Job]) -> None:
    sites = run_and_tell(job, VIEWED)["sites"]
    (inner,) = [one for one in sites if one["place"].startswith("across\x1f")]
    (outer,) = [one for one in sites if one["place"].startswith("passes\x1f")]
    assert inner["callers"] == [[outer["place"], inner["looks"]]]
    assert [one["layout"] for one in inner["operands"]] == ["columns"]
    assert [one["layout"] for one in outer["operands"]] == ["rows"]


def test_layout_and_shape(job: Callable[..., Job]) -> None:
    found = seen(run_and_tell(job, ACROSS), "across", "values")
    assert (found[0]["layout"], found[0]["shape"]) == ("strided", [1000, 500])


def test_rows_that_are_picked_and_how_far_apart_their_values_are(job: Callable[..., Job]) -> None:
    told = run_and_tell(job, PICKED)
    sites = [site for site in told["sites"] if site["place"].startswith("picked\x1f")]
    seen = {(site["picked"], site["picked_axis"], site["picked_apart"]) for site in sites}
    assert seen == {("columns", 0, 4000 * 8)}


def test_columns_that_are_picked_from_rows(job: Callable[..., Job]) -> None:
    told = run_and_tell(job, PICKED_FROM_ROWS)
    sites = [site for site in told["sites"] if site["place"].startswith("Counts.take\x1f")]
    seen = {(site["picked"], site["picked_axis"], site["picked_apart"]) for site in sites}
    assert seen == {("self.table", 1, 4000 * 4)}


def test_the_two_arrays_that_an_operator_takes(job: Callable[..., Job]) -> None:
    """Told where both are read from variables: not of what the same line has just made."""
    sites = run_and_tell(job, MET)["sites"]
    told = {tuple(one["met"]) for one in sites if one["place"].startswith("Net.forward\x1f")}
    assert told == {("x", "self.weights")}
    assert not any(one["met"] for one in sites if one["place"].startswith("Net.turned\x1f"))


def test_shares_of_padding_and_all_that_is_told(job: Callable[..., Job]) -> None:
    told = run_and_tell(job, PADDED)
    padded = seen(told, "padded", "tokens")
    assert padded[0]["shares"]["padding"] == pytest.approx(0.75, abs=0.02)
    names = {name for site in told["sites"] for one in site["operands"] for name in one}
    assert names == {
        *("name", "looks", "kind", "dtype", "byte_order", "shape", "elements", "layout"),
        *("stride", "requires_grad", "contents", "shares"),
        *("contents_once", "contents_back"),
    }


def test_objects_are_not_read_and_records_not_told(job: Callable[..., Job]) -> None:
    told = run_and_tell(job, OBJECTS)
    objects = seen(told, "objects", "values")[0]
    assert (objects["dtype"], objects["contents"]) == ("object", 0)
    assert not seen(told, "records", "table")


def test_no_code_of_the_program_runs_and_nothing_is_held(job: Callable[..., Job]) -> None:
    told = run_and_tell(job, HOLDERS, b"True\nTrue\n")
    held = seen(told, "held", "holder.matrix")
    assert held[0]["elements"] == [90000, 90000]
    assert seen(told, "watched", "values")
    assert not seen(told, "watched", "one")


def test_a_program_without_arrays_is_told_nothing_of(job: Callable[..., Job]) -> None:
    done = job("import time\ntime.sleep(0.5)\n", variables=RANK_ZERO)
    assert done.process.metadata["operands"]["sites"] == []


LAZY = """
import importlib.util, sys, time, types
spec = importlib.util.find_spec("numpy")
spec.loader = importlib.util.LazyLoader(spec.loader)
numpy = sys.modules["numpy"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(numpy)
def count(end):
    while time.monotonic() < end:
        pass
count(time.monotonic() + 1.2)
print(type(numpy) is types.ModuleType)
print(numpy.arange(3).sum(), type(numpy) is types.ModuleType)
"""


def test_a_module_that_waits_to_be_asked_for_is_not_loaded(job: Callable[..., Job]) -> None:
    done = job(LAZY, variables=RANK_ZERO)
    assert (done.exit_code, done.stdout) == (0, b"False\n3 True\n"), done.stderr
    assert done.process.metadata["agent_notes"] == []


UNNOTED = """
import ctypes, sys
print(ctypes.PyDLL(sys.argv[1]).ps_can_look_at_operands())
"""


def test_where_no_stack_is_noted_no_function_of_python_is_called() -> None:
    """As where the functions that are found by their names are those of another Python."""
    command = [sys.executable, "-c", UNNOTED, str(recorder_library())]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def worked_in(text: str, names: str = "x, y, z") -> tuple[CodeType, int]:
    """A function of some names, and its last instruction that works."""
    scope: dict[str, Callable[..., None]] = {}
    exec(f"def function({names}):\n    {text}\n", scope)
    code = scope["function"].__code__
    last = [one.offset for one in dis.get_instructions(code) if bytecode.works(code, one.offset)]
    return code, last[-1]


SNIPPETS = [
    ("np.linalg.inv(x)", [("np", "linalg", "inv"), (0,)]),
    ("x @ y.T", [(0,), (1, "T")]),
    ("x.a.b.sum(y)", [(0, "a", "b", "sum"), (1,)]),
    ("x[y] + z", [(0,), (1,), ("z",)]),
    ("outer(x, inner(y.a), 3)", [("outer",), (0,), ("inner",), (1, "a")]),
    ("x[0] = y", [(1,), (0,)]),
    ("x.a *= y.b", [(0, "a"), (1, "b")]),
    ("x[y] += z", [(0,), (1,), ("z",)]),
    ("x.a[y.b] -= z", [(0, "a"), (1, "b"), ("z",)]),
    ("z = x * 2\n    w = z @ y", [(2,), (1,)]),  # of Python 3.13, stored and loaded at once
]


@pytest.mark.parametrize(("text", "expected"), SNIPPETS, ids=[one[0] for one in SNIPPETS])
def test_what_an_instruction_reads(text: str, expected: list[tuple[object, ...]]) -> None:
    code, last = worked_in(text, "x, y")
    taken = bytecode.taken(code, last)
    assert taken is not None
    assert bytecode.paths(code, taken) == expected


def array(shape: tuple[int, ...], dtype: str, item_bytes: int, strides: Any = None) -> Array:
    """An array at an address where nothing is read."""
    return Array("array", dtype, "native", 4096, shape).laid_out(item_bytes, strides)


def test_pieces_lie_inside_the_array() -> None:
    whole = array((3000, 100), "float64", 8)
    assert all(at >= 4096 and at + size <= 4096 + 2400000 for at, size in whole.pieces())
    apart = array((1000, 50), "float64", 8, (1600, 8))
    offsets = {(at - 4096) % 1600 for at, _ in apart.pieces()}
    assert max(offsets) < 400
    assert apart.layout == "strided"
    assert array((20, 30), "float32", 4, (4, 80)).layout == "columns"


def test_equal_contents_of_another_shape_are_not_the_same() -> None:
    content = struct.pack("4f", 1, 2, 3, 4)
    one, other = array((4,), "float32", 4), array((2, 2), "float32", 4)
    assert operand_arrays.digest(one, content) == operand_arrays.digest(one, bytes(content))
    assert operand_arrays.digest(one, content) != operand_arrays.digest(other, content)


@pytest.mark.parametrize(
    ("together", "pieces"), [(64, 0.5), (1, 0.0), (64 * 32, 1.0)], ids=["rows", "scattered", "all"]
)
def test_pieces_that_are_zero_throughout(together: int, pieces: float) -> None:
    """32 pieces of 64 values, of which so many in turn are zero and are not."""
    values = [float(place // together % 2) for place in range(64 * 32)]
    large = array((4000, 64), "float32", 4)
    found = operand_arrays.facts(large, struct.pack(f"{len(values)}f", *values))
    assert found["zero_pieces"] == pieces
