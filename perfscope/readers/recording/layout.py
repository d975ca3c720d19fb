"""The recording format as numpy sees it: a mirror of native/recorder/format.h."""

from enum import IntEnum, IntFlag

import numpy as np

MAGIC = b"PERFSCP1"
DEFINITIONS_MAGIC = b"PERFSCD1"
FORMAT_VERSION = 1
HEADER_BYTES = 65536
RECORD_BYTES = 64
MAX_OPERATIONS = 256
MAX_THREADS = 256
MAX_CELLS = 512
MAX_BLOCKS = 128
KEPT_NOTHING = 1 << 40
"""What a sample of calls adds to the bytes that they kept, which may be fewer than none."""

NO_ID = 0xFFFFFFFF
"""Stands for "none" in the unsigned fields of a record."""


class RecordKind(IntEnum):
    """What a record is (ps_kind)."""

    NONE = 0
    OPERATION = 1
    COMPLETION = 2
    PHASE = 3
    STEP = 4
    SAMPLE = 5
    STACK = 6
    METRIC = 7
    READINESS = 8
    WINDOW = 9
    THINNED = 10


class SampleKind(IntEnum):
    """Which counters a sample holds (ps_sample)."""

    PROCESS = 1
    SYSTEM = 2
    NODE = 3
    DEVICE = 4
    DEVICE_PROCESS = 5
    TREE = 6
    CALLS = 7
    PYTHON = 8
    MAIN = 9
    HEAP = 10
    COLLECTION = 11
    CPUS = 12
    CLOCK = 13


class HeaderFlag(IntFlag):
    """What happened to the process (ps_flag)."""

    MPI = 1
    FINALIZE_ENTERED = 2
    FINALIZED = 4
    ABORTED = 8
    EXITED = 16
    DISK_FULL = 32
    SIZE_LIMIT = 64
    AGENT = 128
    MPI_PROVIDED_MULTIPLE = 256


class CellFlag(IntFlag):
    """What a cell of totals is of (ps_cell_flag)."""

    USED = 1
    MAIN = 2
    PHASE = 4


class DefinitionType(IntEnum):
    """What a definition defines (ps_definition_type)."""

    NAME = 1
    COMMUNICATOR = 2
    STACK = 3
    LIBRARY = 4
    AFFINITY = 5
    NOTE = 6
    DEVICE = 7


RECORD_DTYPE = np.dtype(
    [
        ("t0_ns", "<u8"),
        ("t1_ns", "<u8"),
        ("kind", "<u2"),
        ("op", "<u2"),
        ("tid", "<u4"),
        ("comm", "<u4"),
        ("seq", "<u4"),
        ("peer", "<i4"),
        ("tag", "<i4"),
        ("sent", "<u8"),
        ("received", "<u8"),
        ("request", "<u8"),
    ]
)
TOTAL_DTYPE = np.dtype([("count", "<u8"), ("ns", "<u8"), ("sent", "<u8"), ("received", "<u8")])
THREAD_DTYPE = np.dtype(
    [
        ("tid", "<u4"),
        ("seen", "<u4"),
        ("name", "S16"),
        ("cpu_ns", "<u8"),
        ("queue_ns", "<u8"),
        ("runnable_seen", "<u4"),
        ("last_cpu", "<u4"),
    ]
)
CELL_DTYPE = np.dtype(
    [
        ("key", "<u8"),
        ("total", TOTAL_DTYPE),
    ]
)
BLOCK_DTYPE = np.dtype(
    [
        ("t0_ns", "<u8"),
        ("t1_ns", "<u8"),
        ("count", "<u8"),
        ("ns", "<u8"),
        ("samples", "<u8"),
        ("shortest_ns", "<u8"),
        ("longest_ns", "<u8"),
        ("first", "<u4"),
        ("longest", "<u4"),
    ]
)
THINNING_DTYPE = np.dtype(
    [
        ("level", "<u4"),
        ("sample_level", "<u4"),
        ("source", "<u4"),
        ("is_reusing", "<u4"),
        ("cursor", "<u8"),
        ("windows", "<u8", (4,)),
        ("records", "<u8"),
        ("broken", "<u8"),
        ("lost_calls", "<u8"),
        ("block_steps", "<u4"),
        ("blocks", "<u4"),
        ("merging", "<u4"),
        ("is_total_in_cells", "<u4"),
    ]
)
HEADER_DTYPE = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("header_bytes", "<u4"),
        ("record_bytes", "<u4"),
        ("pid", "<u4"),
        ("start_ticks", "<u8"),
        ("process_start_ns", "<u8"),
        ("mono0_ns", "<u8"),
        ("real0_ns", "<u8"),
        ("time_namespace", "<u8"),
        ("boot_id", "S40"),
        ("host", "S64"),
        ("rank", "<i4"),
        ("size", "<i4"),
        ("abi", "<u4"),
        ("flags", "<u4"),
        ("exit_code", "<i4"),
        ("main_tid", "<u4"),
        ("capacity", "<u8"),
        ("claimed", "<u8"),
        ("dropped", "<u8"),
        ("first_drop_ns", "<u8"),
        ("init_exit_ns", "<u8"),
        ("finalize_enter_ns", "<u8"),
        ("alive_ns", "<u8"),
        ("exit_ns", "<u8"),
        ("cpus_allowed", "<u4"),
        ("sampler_hz", "<u4"),
        ("cgroup_cpu_quota_us", "<i8"),
        ("cgroup_memory_limit", "<i8"),
        ("sampler_cpu_ns", "<u8"),
        ("totals", TOTAL_DTYPE, (MAX_OPERATIONS,)),
        ("threads", THREAD_DTYPE, (MAX_THREADS,)),
        ("thinning", THINNING_DTYPE),
        ("cells", CELL_DTYPE, (MAX_CELLS,)),
        ("blocks", BLOCK_DTYPE, (MAX_BLOCKS,)),
    ],
    align=True,
)
DEFINITION_DTYPE = np.dtype([("type", "<u2"), ("reserved", "<u2"), ("id", "<u4"), ("bytes", "<u4")])
COMMUNICATOR_DTYPE = np.dtype(
    [
        ("identity", "<u8"),
        ("parent", "<u4"),
        ("ordinal", "<u4"),
        ("size", "<u4"),
        ("my_rank", "<u4"),
    ]
)
