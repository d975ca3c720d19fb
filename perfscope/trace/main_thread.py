"""Columns of what the main thread of a rank used, and what it had to wait for."""

import numpy as np

MAIN_SAMPLE_DTYPE = np.dtype(
    [
        ("t", "i8"),
        ("cpu_ns", "i8"),  # of the main thread
        ("queue_delay_ns", "i8"),  # in which the main thread could run and had no CPU
        ("kernel_ns", "i8"),  # CPU time of the whole process in the kernel
        ("minor_faults", "i8"),  # of the whole process, since the first sample
        ("throttled_ns", "i8"),  # in which the limit of its cgroup withheld CPUs; -1 unknown
    ]
)
