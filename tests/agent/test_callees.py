"""What a line calls is told without running any of the program's code."""

import dis
import subprocess
import sys
import textwrap
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from perfscope.agent.perfscope_agent import bytecode
from tests.agent.jobs import LOOKS, RANK_ZERO, Job

KINDS = (
    LOOKS
    + """
import gc, json, os, pickle, sqlite3, sys, threading, time
from time import sleep as rest
junk = [[i] for i in range(200000)]
LOCK = threading.Lock()
LOCK.acquire()
class Holder:
    def __getattribute__(self, name):
        touched.append(name)
        return object.__getattribute__(self, name)
touched = []
holder = Holder()
class Hidden:
    def __del__(self):
        ended.append(threading.get_ident() == main)
ended, main = [], threading.get_ident()
def repeat(action):
    last = after(3)
    while looks["samples"] < last:
        action()
def collecting():
    gc.collect()
def resting():
    rest(0.05)
def locking():
    LOCK.acquire(True, 0.05)
def pickling():
    pickle.dumps(junk)
def splitting():
    text = "ab cd " * 300000
    text.split(" ")
def sharing():
    text = "ab cd " * 300000
    text.split(" ")
    def inner():
        text.split(" ")
    inner()
    inner()
def writing():
    with open(os.devnull, "wb") as file:
        for _ in range(500):
            os.fstatvfs(file.fileno())
def starting():
    os.system("sleep 0.05")
class Log:
    def __init__(self):
        self.base = sqlite3.connect(":memory:")
    def counting(self):
        self.base.execute(COUNT)
class Server:
    def __init__(self):
        self.log = Log()
COUNT = "with recursive n(x) as (select 1 union all select x + 1 from n limit 40000) "
COUNT += "select sum(x) from n"
server = Server()
def asking():
    server.log.counting()
def asking_far():
    server.log.base.execute(COUNT)
def holding():
    local = Hidden()
    for _ in range(20):
        rest(0.0005)
actions = (collecting, resting, locking, pickling, splitting, sharing, writing, starting, holding)
for action in (*actions, asking, asking_far):
    repeat(action)
while len(ended) <= 10:
    holding()
print(touched, all(ended))
"""
)


def calls(job: Job, function: str) -> set[str]:
    """What was seen to be called by one function."""
    found = set()
    for stack in job.process.functions():
        for (caller, _, _), (callee, file, _) in pairwise(stack):
            if caller == function and file == "<built-in>":
                found.add(callee)
    return found


def test_names_what_has_no_frame_and_what_it_waits_in(job: Callable[..., Job]) -> None:
    done = job(KINDS, variables=RANK_ZERO)
    assert (done.exit_code, done.stdout) == (0, b"[] True\n"), done.stderr
    assert calls(done, "collecting") == {"gc.collect"}
    assert calls(done, "resting") == {"time.sleep"}
    assert calls(done, "locking") == {"_thread.lock.acquire"}
    assert calls(done, "pickling") == {"_pickle.dumps"}
    for function in ("splitting", "sharing", "sharing.<locals>.inner"):
        assert "builtins.str.split" in calls(done, function)
    assert calls(done, "starting") == {"os.system"}
    for function in ("Log.counting", "asking_far"):  # of what objects keep
        assert "sqlite3.Connection.execute" in calls(done, function)
    assert calls(done, "holding") <= {"time.sleep"}
    blocked = {
        (stack[-2][0], stack[-1][0])
        for stack in done.process.functions()
        if stack[-1][1] == "<system-call>"
    }
    if Path("/proc/self/syscall").exists():  # not every kernel tells system calls
        assert ("os.system", "wait4") in blocked
        naps = {call for callee, call in blocked if callee == "time.sleep"}
        assert naps & {"clock_nanosleep", "pselect6"}


REPLACED = (
    LOOKS
    + """
import gc
from perfscope_agent import recorder
from perfscope_agent.frameworks import wrap
wrap.phase(gc, "collect", recorder.Phase.TRAIN, "collect")
class Text(str):
    split = str.split
wrap.phase(Text, "split", recorder.Phase.TRAIN, "split")
junk = [[i] for i in range(200000)]
text = Text("ab cd " * 300000)
def repeat(action):
    last = after(10)
    while looks["samples"] < last:
        action()
def collecting():
    gc.collect()
def splitting():
    local = text
    local.split(" ")
def counting():
    return sum(i for i in range(20000))
def wrapped():
    Owner.counting()
class Owner:
    counting = staticmethod(counting)
wrap.phase(Owner, "counting", recorder.Phase.TRAIN, "counting")
for action in (collecting, splitting, wrapped):
    repeat(action)
"""
)


def test_what_the_agent_has_replaced_is_still_what_a_line_calls(job: Callable[..., Job]) -> None:
    """Its own frames are not shown: without a name the time would be that of Python code."""
    done = job(REPLACED, variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    assert calls(done, "collecting") == {"gc.collect"}
    # looked up late, in a later call of it that has no `local` yet, it is told without its owner
    assert {"__main__.Text.split"} <= calls(done, "splitting") <= {"__main__.Text.split", ".split"}
    seen = [[name for name, _, _ in stack] for stack in done.process.functions()]
    assert any("counting" in stack for stack in seen)
    assert calls(done, "wrapped") == set()


SNIPPETS = [
    ("gc.collect()", ("global", "gc"), ("collect",)),
    ("gc.collect(2)", ("global", "gc"), ("collect",)),
    ("np.linalg.svd(x, full_matrices=False)", ("global", "np"), ("linalg", "svd")),
    ("open(x)", ("global", "open"), ()),
    ("open(x).read()", ("unknown", None), ("read",)),
    ("x.dot(y)", ("local", 0), ("dot",)),
    ("x.a.b(y, 1, z=gc.get(3))", ("local", 0), ("a", "b")),
    ("dump(*x)", ("global", "dump"), ()),
    ("dump(*x, **y)", ("global", "dump"), ()),
    ("dump(x, *y, k=1)", ("global", "dump"), ()),
    ("x[0].read(y[1])", ("unknown", None), ("read",)),
    ("outer(inner(x))", ("global", "outer"), ()),
    ("', '.join(x)", ("constant", ", "), ("join",)),
    ("outer(x.a, [x, y], {'a': x}, (y, x), -x, x + y)", ("global", "outer"), ()),
    ("outer(f'{x} and {y!r}')", ("global", "outer"), ()),
    ("outer(x)(y)", ("unknown", None), ()),
]
CALLS = ("CALL", "CALL_KW", "CALL_FUNCTION", "CALL_FUNCTION_KW", "CALL_FUNCTION_EX", "CALL_METHOD")


@pytest.mark.parametrize(("text", "root", "attributes"), SNIPPETS, ids=[s[0] for s in SNIPPETS])
def test_follows_the_stack_of_values_back(
    text: str, root: tuple[str, object], attributes: tuple[str, ...]
) -> None:
    scope: dict[str, Callable[..., None]] = {}
    exec(f"def function(x, y):\n    {text}\n", scope)
    code = scope["function"].__code__
    last = [one.offset for one in dis.get_instructions(code) if one.opname in CALLS][-1]
    found = bytecode.called(code, last)
    assert found is not None
    assert (found.root, found.attributes) == (root, attributes)


def _called(statement: str) -> bytecode.Expression | None:
    """What the last call of a statement is found to call."""
    scope: dict[str, Callable[..., None]] = {}
    exec(f"def function(x, y):\n    if x:\n        y()\n    {statement}\n", scope)
    code = scope["function"].__code__
    last = [one.offset for one in dis.get_instructions(code) if one.opname in CALLS][-1]
    return bytecode.called(code, last)


CONDITIONS = (
    "outer.a(x if y else gc)",
    "outer.a(x and y)",
    "outer.a(x or gc.a())",
    "outer.a(x if y and not x else gc.a(y), 1, k=x or y)",
    "outer.a((x if y else gc) if x else 3 < y < 5)",
    "return outer.a(x if y == 0 else None)",
    "return outer.a(1, *(x if y == 0 else ()))",
)


@pytest.mark.parametrize("text", CONDITIONS)
def test_conditions_among_the_arguments_do_not_change_what_is_called(text: str) -> None:
    found = _called(text)
    assert found is not None
    assert (found.root, found.attributes) == (("global", "outer"), ("a",))


@pytest.mark.parametrize(
    "text",
    [
        "(outer if y else gc)(x if y else 1)",
        "(outer or gc)(x if y else 1)",
        "(outer if y else gc).a(x and 1)",
        "outer(x if y else 1)(x if y else 1)",
    ],
)
def test_which_of_several_is_called_is_not_guessed_at(text: str) -> None:
    found = _called(text)
    assert found is None or found.root == ("unknown", None)


def test_operators_name_all_that_they_work_on() -> None:
    code = compile("def f(x, w):\n    return x @ w\n", "f", "exec").co_consts[0]
    last = next(i.offset for i in dis.get_instructions(code) if i.opname.startswith("BINARY"))
    found = bytecode.called(code, last)
    assert found is not None
    assert set(found.operands) == {("local", 0), ("local", 1)}


@pytest.mark.parametrize(
    ("searched", "root", "attributes"),
    [
        ("y", ("local", 1), ("__contains__",)),
        ("y.seen", ("local", 1), ("seen", "__contains__")),
        ("KEPT", ("global", "KEPT"), ("__contains__",)),
    ],
)
def test_a_search_is_a_call_of_what_is_searched(
    searched: str, root: tuple[str, object], attributes: tuple[str, ...]
) -> None:
    code = compile(f"def f(x, y):\n    return x in {searched}\n", "f", "exec").co_consts[0]
    last = next(i.offset for i in dis.get_instructions(code) if i.opname == "CONTAINS_OP")
    found = bytecode.called(code, last)
    assert found is not None
    assert (found.root, found.attributes) == (root, attributes)


@pytest.mark.parametrize(
    ("iterated", "root", "attributes"),
    [
        ("re.finditer(y, x)", ("global", "re"), ("finditer",)),
        ("x.items(y, 1)", ("local", 0), ("items",)),
        ("range(y)", ("global", "range"), ()),
        ("y", ("local", 1), ()),
    ],
)
def test_the_end_of_a_loop_tells_what_an_inner_one_has_just_asked_for_more(
    iterated: str, root: tuple[str, object], attributes: tuple[str, ...]
) -> None:
    """C code keeps the lock while it is asked for the next item, and lets go at the jump back."""
    scope: dict[str, Callable[..., None]] = {}
    text = f"for y in x:\n        for z in {iterated}:\n            n = z + 1"
    exec(f"def function(x, y):\n    {text}\n", scope)
    code = scope["function"].__code__
    ends = [i.offset for i in dis.get_instructions(code) if i.opname in bytecode._LOOP_ENDS]
    inner, outer = (bytecode.called(code, end) for end in ends)
    assert inner is None
    assert outer is not None
    assert outer.is_iterated
    assert (outer.root, outer.attributes) == (root, attributes)


def test_instructions_of_whole_libraries_are_read_without_a_failure() -> None:
    """Every instruction of some large modules: nothing raises, and most calls are told."""
    script = """
        import argparse, ast, dis, inspect, tarfile, types, sys
        sys.path.insert(0, sys.argv[1])
        from perfscope_agent import bytecode
        told = seen = 0
        def walk(code):
            global told, seen
            for one in dis.get_instructions(code):
                found = bytecode.called(code, one.offset)
                if one.opname in %r:
                    seen += 1
                    told += found is not None and bool(found.attributes or found.root[1])
            for inner in code.co_consts:
                if isinstance(inner, types.CodeType):
                    walk(inner)
        for module in (argparse, tarfile, inspect):
            walk(compile(inspect.getsource(module), module.__name__, "exec"))
        print(told / seen > 0.85, seen > 1000)
    """
    agent = Path(bytecode.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script % (CALLS,)), str(agent)],
        capture_output=True,
        check=False,
    )
    assert done.stdout == b"True True\n", done.stderr


def test_the_table_of_instructions_is_there_before_a_sampler_reads_bytecode() -> None:
    """A thread that imports what the program imports as well may wait for it for good."""
    script = """
        import sys
        sys.path.insert(0, sys.argv[1])
        from perfscope_agent import bytecode
        before = {*sys.modules}
        def called():
            print(len("a"))
        code = called.__code__
        for last in range(0, len(code.co_code), 2):
            bytecode.called(code, last), bytecode.works(code, last)
        print({*sys.modules} - before)
    """
    agent = Path(bytecode.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-S", "-c", textwrap.dedent(script), str(agent)],
        capture_output=True,
        check=False,
    )
    assert done.stdout == b"set()\n", done.stderr
