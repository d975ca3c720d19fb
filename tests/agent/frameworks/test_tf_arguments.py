"""Which argument has TensorFlow trace a function again: a program that changes one of each kind."""

from collections.abc import Callable

from tests.agent.jobs import RANK_ZERO, Job
from tests.support.environments import Environment

PROGRAM = """
import tensorflow as tf

@tf.function
def of_values(batch, temperature, flag=True):
    inputs, named = batch
    return tf.reduce_sum(inputs) * temperature + tf.reduce_sum(named["weights"])

@tf.function
def of_shapes(batch, temperature):
    inputs, named = batch
    return tf.reduce_sum(inputs) * temperature + tf.reduce_sum(named["weights"])

@tf.function
def alike(batch):
    return tf.reduce_sum(batch)

for step in range(8):
    ones = tf.ones(3)
    of_values((ones, {"weights": ones}), 1.5 + step)
    of_shapes((ones, {"weights": tf.ones(4 + step)}), tf.constant(1.5))
    alike(ones)
"""


def test_the_argument_that_changes(
    job: Callable[..., Job], environment: Callable[[str], Environment]
) -> None:
    done = job(PROGRAM, python=environment("tensorflow").python, variables=RANK_ZERO)
    assert done.exit_code == 0, done.stderr
    (process,) = done.of_role("rank")
    assert process.metadata["agent_notes"] == []
    rows = {row["name"]: row for row in process.metadata["frameworks"]["tensorflow"]["tracing"]}
    found = {
        name: (row["argument"], row["changes"], row["again"])
        for name, row in rows.items()
        if "argument" in row
    }
    assert found == {"of_values": ("temperature", "value", 7), "of_shapes": ("batch", "shape", 7)}
