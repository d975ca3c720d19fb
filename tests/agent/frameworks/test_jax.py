"""JAX: steps, samples and evaluations of programs that call compiled functions."""

import itertools
import socket
from collections.abc import Callable

import pytest

from perfscope.agent.perfscope_agent import recorder
from tests.agent.jobs import RANK_ZERO, Job
from tests.support.environments import REPOSITORY, Environment

pytestmark = pytest.mark.long

SOLVER = """
import jax, jax.numpy as jnp
@jax.jit
def relax(field):
    return 0.5 * (jnp.roll(field, 1) + jnp.roll(field, -1))
field = jnp.arange(8.0)
for turn in range(30):
    field = relax(field)
print(float(field.sum()))
"""

TWO_FUNCTIONS = """
import functools, jax, jax.numpy as jnp
def loss(params, x, y):
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)
gradient = jax.jit(jax.value_and_grad(loss))
@functools.partial(jax.jit, static_argnames="rate")
def apply(params, gradients, rate):
    return jax.tree.map(lambda p, g: p - rate * g, params, gradients)
@jax.jit
def error(params, worst, x, y):
    return params, jnp.maximum(worst, jnp.abs(x @ params["w"] + params["b"] - y).max())
params = {"w": jnp.zeros((4, 1)), "b": jnp.zeros(1)}
x = jnp.ones((6, 4))
for epoch in range(3):
    for turn in range(5):
        value, gradients = gradient(params, x, jnp.ones((6, 1)))
        params = apply(params, gradients, rate=0.1)
    jax.block_until_ready(params)
    worst = jnp.zeros(())
    for turn in range(3):
        _, worst = error(params, worst, x, jnp.ones((6, 1)))
    print(float(value), float(worst))
"""

ACCUMULATING = """
import jax, jax.numpy as jnp
def loss(params, x, y):
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)
gradient = jax.jit(jax.grad(loss))
@jax.jit
def update(params, gradients):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)
@jax.jit
def error(params, x, y):
    return jnp.abs(x @ params["w"] + params["b"] - y).max()
params = {"w": jnp.zeros((4, 1)), "b": jnp.zeros(1)}
for step in range(12):
    total = jax.tree.map(jnp.zeros_like, params)
    for part in range(6):
        x, y = jnp.full((8, 4), part / 6), jnp.ones((8, 1))
        total = jax.tree.map(jnp.add, total, gradient(params, x, y))
    params = update(params, total)
    if step % 4 == 3:
        print(float(error(params, x, y)))
"""

READS = """
import jax, jax.numpy as jnp, time
def loss(w, x):
    return jnp.mean((x @ w) ** 2)
@jax.jit
def update(w, x):
    value, gradient = jax.value_and_grad(loss)(w, x)
    return w - 0.1 * gradient, value
@jax.jit
def error(w, x):
    return jnp.abs(x @ w).max()
w, x = jnp.ones((4, 1)), jnp.ones((6, 4))
for epoch in range(3):
    for turn in range(6):
        w, value = update(w, x)
    w.block_until_ready()
    worst = error(w, x)
    print(float(value), float(worst), float(worst))
"""

AS_BEFORE = """
import copy, functools, inspect, jax, jax.numpy as jnp, pickle
def scaled(by):
    def double(x: int, times: int = by) -> int:
        "Times two."
        return x * times
    double.note = "a note"
    return double
double = scaled(2)
class Model:
    shape = (3,)
    @functools.partial(jax.jit, static_argnums=0)
    def forward(self, x):
        return x + 1
class Odd(Model):
    shape, dtype = 3, float
made = jax.jit(double)
factory = jax.jit(static_argnames="times")(double)
print(made.__name__, made.__doc__, inspect.signature(made), made is copy.copy(made))
print(made.__qualname__, made.__module__, made.__annotations__, made.note, sorted(dir(made)))
print(made.__getstate__()["function_name"])
print(isinstance(made, jax.stages.Wrapped), made.lower(1.0).compile()(1.0), made.trace(1.0).jaxpr)
print(made.__class__, isinstance(made, type(jax.jit(len))))
try:
    pickle.dumps(made)
except Exception as error:
    print(error)
print(factory(1.0, times=3), Model().forward(1.0), jax.vmap(made)(jnp.arange(3.0)))
print(Odd().forward(1.0))
print(jax.grad(made)(2.0), jax.jit(made)(2.0), jax.eval_shape(made, 2.0), repr(made)[:40])
print(jax.export.export(made)(1.0).fun_name)
"""


PROGRAM = REPOSITORY / "benchmarks" / "corpus" / "programs" / "jax_processes.py"
START = """
import subprocess, sys
started = [
    subprocess.Popen([*sys.argv[1:], str(number), "2", "{address}"]) for number in range(2)
]
sys.exit(max(process.wait() for process in started))
"""


def recorded(
    text: str, job: Callable[..., Job], environment: Callable[[str], Environment]
) -> tuple[Job, Job]:
    """A program with and without the agent."""
    python = environment("ecosystem").python
    plain = job(text, python=python, recorded=False)
    done = job(text, python=python, variables=RANK_ZERO)
    assert (done.exit_code, done.stdout) == (plain.exit_code, plain.stdout), done.stderr
    assert done.exit_code == 0, done.stderr
    return plain, done


def test_a_function_that_is_given_again_what_it_returned_is_a_step(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    _, done = recorded(SOLVER, job, environment)
    (rank,) = done.of_role("rank")
    found = rank.steps()
    assert [step.seq for step in found] == list(range(30))
    assert all(one.t1 <= other.t0 for one, other in itertools.pairwise(found))
    wait = ("perfscope.wait", recorder.Phase.TRAIN)  # for the sum
    assert rank.phases() == [("relax", recorder.Phase.TRAIN)] * 29 + [wait]
    assert rank.metadata["frameworks"]["jax"]["gradients"] is False


def test_gradients_and_their_use_are_one_step_and_what_looks_on_evaluates(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    _, done = recorded(TWO_FUNCTIONS, job, environment)
    (rank,) = done.of_role("rank")
    found = rank.steps()
    assert [step.seq for step in found] == list(range(15))
    assert {step.sent for step in found} == {6}
    assert rank.metadata["frameworks"]["jax"]["gradients"] is True
    assert {record.op for record in rank.phase_records("apply")} == {recorder.Phase.TRAIN}
    evaluations = rank.phase_records("error")
    assert [record.op for record in evaluations] == [recorder.Phase.EVALUATE] * 9
    assert not any(s.t0 < e.t1 and e.t0 < s.t1 for s in found for e in evaluations)
    waits = rank.phase_records("block_until_ready")
    ends = {step.t1 for step in found}
    assert [wait.op for wait in waits] == [recorder.Phase.TRAIN] * 3
    assert {wait.t1 for wait in waits} <= ends


def test_an_update_after_several_gradients_is_part_of_their_step(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    _, done = recorded(ACCUMULATING, job, environment)
    (rank,) = done.of_role("rank")
    assert [(step.seq, step.sent) for step in rank.steps()] == [(at, 48) for at in range(12)]
    evaluations = [name for name, kind in rank.phases() if kind == recorder.Phase.EVALUATE]
    assert evaluations == ["error"] * 3


def test_what_is_read_of_a_result_is_a_wait_for_it(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    _, done = recorded(READS, job, environment)
    (rank,) = done.of_role("rank")
    found = rank.steps()
    assert len(found) == 18
    ends = {step.t1 for step in found}
    (first, second, third) = (record.t1 for record in rank.phase_records("block_until_ready"))
    assert {first, second, third} <= ends
    # one for `w`; what is read of `value` is no evaluation, and it ends no later than it is cut
    waits = rank.phase_records("perfscope.wait")
    assert [wait.t1 for wait in waits] == [first, second, third]
    evaluations = rank.phase_records("error")
    assert [record.op for record in evaluations] == [recorder.Phase.EVALUATE] * 3
    assert not any(s.t0 < e.t1 and e.t0 < s.t1 for s in found for e in evaluations)


def test_a_compiled_function_is_as_without(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    recorded(AS_BEFORE, job, environment)


def test_processes_that_jax_numbers_are_ranks(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    with socket.socket() as chosen:
        chosen.bind(("localhost", 0))
        address = f"localhost:{chosen.getsockname()[1]}"
    python, text = environment("ecosystem").python, START.format(address=address)
    done = job(text, arguments=(str(python), str(PROGRAM)))
    assert done.exit_code == 0, done.stderr
    ranks = [one for one in done.processes if one.recording and one.steps()]
    told = [rank.metadata["frameworks"]["jax"] for rank in ranks]
    assert sorted((one["rank"], one["size"]) for one in told) == [(0, 2), (1, 2)]
    for rank in ranks:
        assert [step.sent for step in rank.steps()] == [64] * 60
        assert [kind for _, kind in rank.phases()].count(recorder.Phase.EVALUATE) == 3
