"""What a program's own classes and threads do in a hook never reaches the program."""

from collections.abc import Callable
from pathlib import Path

import pytest

from perfscope.agent.perfscope_agent.frameworks import keras
from tests.agent.jobs import RANK_ZERO, Job
from tests.support.environments import Environment

ATTEMPT = """
def attempt(name, action):
    try:
        print(name, action())
    except BaseException as error:
        print(name, "raised", type(error).__name__, str(error)[:60])
"""

QUEUES = """
import queue, threading
class Lazy(queue.Queue):
    def __getattr__(self, name):
        raise KeyError(name)
def passed(made):
    thread = threading.Thread(target=lambda: [made.put(number) for number in range(3)])
    thread.start()
    found = [made.get(timeout=30) for _ in range(3)]
    thread.join()
    return found
attempt("plain", lambda: passed(queue.Queue(5)))
attempt("lazy", lambda: passed(Lazy(5)))
"""

MODELS = """
import torch, torch.nn as nn
class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 1)
    def forward(self, x):
        return self.inner(x)
    def __getattribute__(self, name):
        if name == "training":
            raise KeyError(name)
        return super().__getattribute__(name)
class NoTruth:
    def __bool__(self):
        raise RuntimeError("neither")
def trained(model):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for turn in range(5):
        optimizer.zero_grad()
        model.forward(torch.ones(3, 2)).sum().backward()
        optimizer.step()
        model(torch.ones(3, 2))
    return "trained"
attempt("no mode", lambda: trained(Odd()))
for mode in (NoTruth(), torch.ones(2), None, 1):
    attempt("mode", lambda: nn.Linear(2, 1).train(mode))
attempt("eval", lambda: nn.Linear(2, 1).eval().training)
"""

GRADIENTS = """
import torch, torch.nn as nn, torch.distributed as dist
dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
class Strict(nn.Parameter):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if "expand" in str(function):
            raise RuntimeError("not expanded")
        return super().__torch_function__(function, types, args, kwargs or {})
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = Strict(torch.ones(2))
    def forward(self, x):
        return x * self.weight
def below(context, model):
    parallel = nn.parallel.DistributedDataParallel(model)
    loss = parallel(torch.ones(3, 2)).sum()
    with context():
        loss.backward()
    return model.weight.grad.sum().item()
attempt("no gradients", lambda: below(torch.no_grad, nn.Linear(2, 1)))
attempt("inference", lambda: below(torch.inference_mode, nn.Linear(2, 1)))
attempt("strict parameters", lambda: below(torch.enable_grad, Scale()))
def after_the_end():
    model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    loss = model.module(torch.ones(3, 2)).sum()
    dist.destroy_process_group()
    loss.backward()
    return "done"
attempt("no group any more", after_the_end)
"""

THREADS = """
import sys, threading, torch, torch.nn as nn
sys.setswitchinterval(1e-6)
failed = []
def train():
    pairs = []
    for _ in range(2):
        model = nn.Linear(4, 1)
        pairs.append((model, torch.optim.SGD(model.parameters(), 0.01)))
    try:
        for turn in range(150):
            for model, optimizer in pairs:
                optimizer.zero_grad()
                model(torch.ones(8, 4)).sum().backward()
                optimizer.step()
            model.eval()
            model.train()
    except BaseException as error:
        failed.append(error)
threads = [threading.Thread(target=train) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(failed)
"""

KERAS = """
import collections, keras, numpy
ones = numpy.ones((8, 3), "float32"), numpy.ones((8, 1), "float32")
def made(kind=keras.Model):
    given = keras.Input((3,))
    model = kind(given, keras.layers.Dense(1)(given))
    model.compile("sgd", "mse")
    return model
class Count(keras.callbacks.Callback):
    batches = 0
    def on_train_batch_end(self, batch, logs=None):
        self.batches += 1
model = made()
def fitted(callbacks):
    return [model.fit(*ones, batch_size=4, verbose=0, callbacks=callbacks).epoch for _ in range(3)]
def of(container):
    epochs = fitted(container)
    return epochs, len(container)
attempt("deque", lambda: of(collections.deque([Count()])))
attempt("empty deque", lambda: of(collections.deque()))
attempt("tuple", lambda: of((Count(),)))
attempt("mapping", lambda: of({"count": Count()}))
attempt("nested", lambda: of([[Count()], Count()]))
attempt("generator", lambda: fitted(one for one in [Count()]))
class Incomparable(Count):
    __hash__ = Count.__hash__
    def __eq__(self, other):
        raise RuntimeError("not compared")
def of_list(kind):
    count = kind()
    held = keras.callbacks.CallbackList([count], model=model, add_history=True, epochs=1)
    for turn in range(3):
        model.fit(*ones, batch_size=4, verbose=2, callbacks=held)
    return count.batches, [type(one).__name__ for one in held.callbacks]
attempt("list of Keras", lambda: of_list(Count))
attempt("incomparable", lambda: of_list(Incomparable))
class NoNumber:
    def __float__(self):
        raise RuntimeError("no number")
class Logs(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        logs["odd"] = NoNumber()
attempt("odd logs", lambda: fitted([Logs()]))
attempt("training", lambda: made()(ones[0], training=numpy.array([True, False])).shape)
"""

JAX = """
import jax, jax.numpy as jnp
class NoValues(dict):
    def values(self):
        raise RuntimeError("no values")
class NoItems(tuple):
    def __getitem__(self, place):
        raise RuntimeError("no items")
register = jax.tree_util.register_pytree_node
register(NoValues, lambda one: ((dict.get(one, "w"),), None), lambda _, held: NoValues(w=held[0]))
register(NoItems, lambda one: (tuple(iter(one)), None), lambda _, held: NoItems(held))
@jax.jit
def of_values(state):
    return NoValues(w=dict.get(state, "w") + 1)
@jax.jit
def of_items(state):
    return NoItems(iter([next(iter(state)) + 1]))
def repeated(function, state):
    for turn in range(6):
        state = function(state)
    return [float(leaf.sum()) for leaf in jax.tree.leaves(state)]
attempt("values", lambda: repeated(of_values, NoValues(w=jnp.ones(3))))
attempt("items", lambda: repeated(of_items, NoItems((jnp.ones(3),))))
class NoLeaves:
    def __init__(self, held):
        self.held = held
flattened = []
def leaves(one):
    flattened.append(one)
    if len(flattened) > 1:
        raise RuntimeError("flattened already")
    return (one.held,), None
register(NoLeaves, leaves, lambda _, held: NoLeaves(held[0]))
made = jax.jit(lambda x: NoLeaves(x + 1))
attempt("leaves", lambda: [float(made(x).held) for x in (1.0, 2.0, 3.0)])
class Named:
    __name__ = 5
    def __call__(self, x):
        return x + 1
attempt("named by a number", lambda: float(jax.jit(Named())(1.0)))
"""


def undisturbed(text: str, python: Path, job: Callable[..., Job]) -> None:
    """Runs a program with and without the agent: it prints the same."""
    plain = job(ATTEMPT + text, python=python, recorded=False)
    done = job(ATTEMPT + text, python=python, variables=RANK_ZERO)
    assert plain.exit_code == 0, plain.stderr
    assert (done.exit_code, done.stdout) == (plain.exit_code, plain.stdout), done.stderr
    assert done.of_role("rank")


def test_queues_with_attributes_of_their_own(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    undisturbed(QUEUES, environment("mpich").python, job)


def test_models_of_pytorch(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    undisturbed(MODELS + GRADIENTS + THREADS, environment("torch").python, job)


def test_callbacks_and_models_of_keras(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    undisturbed(KERAS, environment("tensorflow").python, job)


@pytest.mark.long
def test_callbacks_and_models_of_keras_on_jax(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    """Where Keras asks each callback of a list whether training may go on without it."""
    text = f'import os\nos.environ["KERAS_BACKEND"] = "jax"\n{KERAS}'
    undisturbed(text, environment("ecosystem").python, job)


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ([1, [2]], [1, [2], 0]),
        ((1,), [1, 0]),
        ([], [0]),
        (None, [0]),
        ({"a": 1}, {"given": {"a": 1}, "recording": 0}),
    ],
)
@pytest.mark.parametrize("is_positional", [True, False])
def test_callbacks_of_a_list_stay_its_elements(
    given: object, passed: object, *, is_positional: bool
) -> None:
    args, kwargs = ((given,), {}) if is_positional else ((), {"callbacks": given})
    found = keras._with_callback(0, 0, args, kwargs)
    assert found == (((passed,), {}, []) if is_positional else ((), {"callbacks": passed}, []))


@pytest.mark.long
def test_values_that_jax_hands_through(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    undisturbed(JAX, environment("ecosystem").python, job)
