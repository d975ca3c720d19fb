"""Columns of memory and garbage-collector measurements that go beyond the samples of a process."""

import numpy as np

TREE_SAMPLE_DTYPE = np.dtype(
    [
        ("t", "i8"),
        ("own_bytes", "i8"),  # proportional memory (PSS) of the process
        ("descendants_bytes", "i8"),  # of its descendants together
        ("descendants", "i4"),
    ]
)
CALL_SAMPLE_DTYPE = np.dtype(
    [
        ("t", "i8"),
        ("name", "i4"),  # index in Trace.names: the function of a framework
        ("calls", "i8"),  # so far
        ("measured", "i8"),  # calls of which memory was measured
        ("compiled", "i8"),  # compiled functions that they called, so far
        ("kept_bytes", "i8"),  # by which the process's own memory was larger after these
        ("private_bytes", "i8"),  # the process's own memory now
        ("set_up_ns", "i8"),  # before the first compiled function of each call began, so far
    ]
)
HEAP_SAMPLE_DTYPE = np.dtype(
    [
        ("t", "i8"),
        ("allocated_bytes", "i8"),  # with malloc and not freed; 0 unknown
        ("held_bytes", "i8"),  # that malloc has of the system; 0 unknown
        ("anonymous_bytes", "i8"),  # resident, with what malloc holds
        ("file_bytes", "i8"),  # resident, of mapped files
        ("shared_bytes", "i8"),  # resident, of shared memory and tmpfs
    ]
)
PYTHON_SAMPLE_DTYPE = np.dtype([("t", "i8"), ("blocks", "i8")])
"""Blocks that Python's allocator has given out: how many Python objects there are, roughly."""
GARBAGE_COLLECTION_DTYPE = np.dtype(
    [
        ("t0", "i8"),
        ("t1", "i8"),
        ("tid", "u4"),  # the thread whose allocation began it; all others wait
        ("generation", "i4"),  # -1 unknown
        ("shorter_ns", "i8"),  # what others took that ended since the row before and have none
        ("shorter_count", "i8"),
    ]
)
"""A collection of Python's garbage that took long, or the first after a second without a row."""
