"""Columns of what the main thread of a rank used and waited for, and of what its CPUs did."""

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
CPU_SAMPLE_DTYPE = np.dtype(
    [
        ("t", "i8"),
        ("busy_ns", "i8"),  # of all CPUs that the rank may use, for whomever
        ("stolen_ns", "i8"),  # that the host of a virtual machine withheld from them
        ("used_ns", "i8"),  # CPU time of the rank with its recorder, and of its descendants
        ("cpus", "i4"),
        ("changes", "i4"),  # how often the CPUs that it may use had changed
    ]
)
