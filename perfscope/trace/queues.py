"""Batches on their way through the input queues of a program."""

import numpy as np

QUEUE_DTYPE = np.dtype(
    [
        ("t0", "i8"),  # the batch was ready, or was asked for
        ("t1", "i8"),  # it was in the queue, or was taken
        ("tid", "u4"),
        ("queue", "i4"),  # number of the queue in the program
        ("depth", "i4"),  # batches that the queue holds at most
        ("is_get", "?"),  # else a put
    ]
)
"""A batch that a producer put into an input queue, or the program took out of it."""
