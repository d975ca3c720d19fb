"""Columns of what is read of a process and its node while it runs."""

import numpy as np

PROCESS_SAMPLE_DTYPE = np.dtype(
    [
        ("t", "i8"),
        ("rss_bytes", "i8"),
        ("cpu_ns", "i8"),
        ("queue_delay_ns", "i8"),
        ("threads", "i4"),
        ("runnable", "i4"),
        ("blocked", "i4"),  # threads that wait for a device, -1 unknown
    ]
)
SYSTEM_SAMPLE_DTYPE = np.dtype(
    [
        ("t", "i8"),
        ("read_bytes", "i8"),
        ("written_bytes", "i8"),
        ("voluntary_switches", "i8"),
        ("involuntary_switches", "i8"),
        ("major_faults", "i8"),
        ("oom_kills", "i8"),
    ]
)
NODE_SAMPLE_DTYPE = np.dtype(
    [
        ("t", "i8"),
        ("available_bytes", "i8"),
        ("total_bytes", "i8"),
        ("cgroup_bytes", "i8"),
        ("runnable", "i4"),
    ]
)
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
CLOCK_SAMPLE_DTYPE = np.dtype([("t", "i8"), ("cpu_ns", "i8")])
"""CPU time of the main thread, told where it begins and ends calls: exact, and often enough to tell
which of many short steps waited for a CPU."""
WORKER_SAMPLE_DTYPE = np.dtype(
    [
        ("t", "i8"),
        ("pid", "u4"),  # of a process that works for the rank
        ("cpu_ns", "i8"),
        ("queue_delay_ns", "i8"),
    ]
)
WORKER_STACK_DTYPE = np.dtype(
    [("t", "i8"), ("pid", "u4"), ("tid", "u4"), ("stack", "i4")]
)  # stack: index in Trace.stacks; the main thread of a process has its number
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
LOOP_TURN_DTYPE = np.dtype(
    [
        ("t", "i8"),
        ("loop", "i4"),  # place in what the metadata tells as `loop_turns`
        ("value", "i8"),  # of the variable that counts its turns
    ]
)
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
