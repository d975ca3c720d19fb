"""Data-parallel training in JAX, a process a device: `jax_processes.py ID COUNT [ADDRESS]`."""

import itertools
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

BATCH, EPOCHS, EXAMPLES, CLASSES = 64, 3, 1280, 10

index, count = int(sys.argv[1]), int(sys.argv[2])
address = sys.argv[3] if len(sys.argv) > 3 else "localhost:12357"
jax.distributed.initialize(address, num_processes=count, process_id=index)
mesh = Mesh(np.array(jax.devices()), ("data",))
by_sample, whole = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())


def init_params(sizes):
    """Weights and biases of a multilayer perceptron."""
    random = np.random.RandomState(0)
    shapes = itertools.pairwise(sizes)
    return [
        (random.randn(m, n).astype(np.float32) * 0.05, np.zeros(n, np.float32)) for m, n in shapes
    ]


def predict(params, images):
    """Logits."""
    for weight, bias in params[:-1]:
        images = jnp.tanh(images @ weight + bias)
    weight, bias = params[-1]
    return images @ weight + bias


def loss(params, images, labels):
    """Cross entropy."""
    logits = jax.nn.log_softmax(predict(params, images))
    return -jnp.mean(jnp.sum(logits * jax.nn.one_hot(labels, CLASSES), axis=1))


@jax.jit
def update(params, images, labels):
    """One step of stochastic gradient descent."""
    value, gradients = jax.value_and_grad(loss)(params, images, labels)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value


@jax.jit
def accuracy(params, images, labels):
    """Share of right answers."""
    return jnp.mean(jnp.argmax(predict(params, images), axis=1) == labels)


def to_devices(part):
    """An array over all processes of which this one has its part."""
    return jax.make_array_from_process_local_data(by_sample, part)


random = np.random.RandomState(index)
images = random.rand(EXAMPLES, 784).astype(np.float32)
labels = (images[:, :CLASSES].argmax(axis=1)).astype(np.int32)
params = jax.device_put(init_params([784, 256, 256, CLASSES]), whole)
steps, seconds = 0, []
for epoch in range(EPOCHS):
    begin = time.time()
    order = random.permutation(EXAMPLES)
    for start in range(0, EXAMPLES, BATCH):
        rows = order[start : start + BATCH]
        params, value = update(params, to_devices(images[rows]), to_devices(labels[rows]))
        steps += 1
    jax.block_until_ready(params)
    seconds.append(time.time() - begin)
    right = accuracy(params, to_devices(images), to_devices(labels))
    if index == 0:
        print(f"epoch {epoch}: loss {float(value):.3f}, accuracy {float(right):.3f}", flush=True)
if index == 0:
    print("steps", steps)
    print("rate from step", steps // EPOCHS)
    print(f"samples/s {count * EXAMPLES * (EPOCHS - 1) / sum(seconds[1:]):.1f}", flush=True)
