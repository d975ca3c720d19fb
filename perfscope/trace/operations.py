"""The operations a program can spend communication time in, and how each one waits.

The codes are those of `native/recorder/operations.def`; a test compares the two lists.
"""

from collections.abc import Iterable
from enum import Enum
from functools import cache

import numpy as np
import numpy.typing as npt

from perfscope.structures import dataclass


class OperationClass(Enum):
    """Who waits for whom in an operation (need rules of docs/metrics.md)."""

    INIT = "init"
    FINALIZE = "finalize"
    ABORT = "abort"
    SEND = "send"
    RECV = "recv"
    SENDRECV = "sendrecv"
    ISEND = "isend"
    IRECV = "irecv"
    WAIT = "wait"
    TEST = "test"
    PROBE = "probe"
    N_TO_N = "n_to_n"
    ONE_TO_N = "one_to_n"
    N_TO_ONE = "n_to_one"
    SCAN = "scan"
    I_COLLECTIVE = "i_collective"
    COMMUNICATOR = "communicator"
    PERSISTENT = "persistent"
    NEIGHBORHOOD = "neighborhood"
    I_NEIGHBORHOOD = "i_neighborhood"
    ONE_SIDED = "one_sided"
    FILE = "file"
    CONTROL = "control"
    LOCAL = "local"


@dataclass(frozen=True)
class Operation:
    """One function of MPI or of a framework."""

    code: int
    name: str
    cls: OperationClass


MAX_OPERATIONS = 512
"""Codes are below this; lookup arrays have this length. Those of recordings are below 256."""

OPERATIONS: tuple[Operation, ...] = (
    Operation(1, "MPI_Init", OperationClass.INIT),
    Operation(2, "MPI_Init_thread", OperationClass.INIT),
    Operation(3, "MPI_Finalize", OperationClass.FINALIZE),
    Operation(4, "MPI_Abort", OperationClass.ABORT),
    Operation(10, "MPI_Send", OperationClass.SEND),
    Operation(11, "MPI_Bsend", OperationClass.SEND),
    Operation(12, "MPI_Ssend", OperationClass.SEND),
    Operation(13, "MPI_Rsend", OperationClass.SEND),
    Operation(14, "MPI_Recv", OperationClass.RECV),
    Operation(15, "MPI_Sendrecv", OperationClass.SENDRECV),
    Operation(16, "MPI_Sendrecv_replace", OperationClass.SENDRECV),
    Operation(17, "MPI_Isend", OperationClass.ISEND),
    Operation(18, "MPI_Ibsend", OperationClass.ISEND),
    Operation(19, "MPI_Issend", OperationClass.ISEND),
    Operation(20, "MPI_Irsend", OperationClass.ISEND),
    Operation(21, "MPI_Irecv", OperationClass.IRECV),
    Operation(22, "MPI_Mrecv", OperationClass.RECV),
    Operation(23, "MPI_Imrecv", OperationClass.IRECV),
    Operation(24, "MPI_Isendrecv", OperationClass.ISEND),
    Operation(25, "MPI_Isendrecv_replace", OperationClass.ISEND),
    Operation(30, "MPI_Wait", OperationClass.WAIT),
    Operation(31, "MPI_Waitall", OperationClass.WAIT),
    Operation(32, "MPI_Waitany", OperationClass.WAIT),
    Operation(33, "MPI_Waitsome", OperationClass.WAIT),
    Operation(34, "MPI_Test", OperationClass.TEST),
    Operation(35, "MPI_Testall", OperationClass.TEST),
    Operation(36, "MPI_Testany", OperationClass.TEST),
    Operation(37, "MPI_Testsome", OperationClass.TEST),
    Operation(38, "MPI_Probe", OperationClass.PROBE),
    Operation(39, "MPI_Iprobe", OperationClass.TEST),
    Operation(40, "MPI_Mprobe", OperationClass.PROBE),
    Operation(41, "MPI_Improbe", OperationClass.TEST),
    Operation(42, "MPI_Start", OperationClass.PERSISTENT),
    Operation(43, "MPI_Startall", OperationClass.PERSISTENT),
    Operation(44, "MPI_Start_send", OperationClass.ISEND),
    Operation(45, "MPI_Start_recv", OperationClass.IRECV),
    Operation(50, "MPI_Barrier", OperationClass.N_TO_N),
    Operation(51, "MPI_Bcast", OperationClass.ONE_TO_N),
    Operation(52, "MPI_Reduce", OperationClass.N_TO_ONE),
    Operation(53, "MPI_Allreduce", OperationClass.N_TO_N),
    Operation(54, "MPI_Gather", OperationClass.N_TO_ONE),
    Operation(55, "MPI_Gatherv", OperationClass.N_TO_ONE),
    Operation(56, "MPI_Scatter", OperationClass.ONE_TO_N),
    Operation(57, "MPI_Scatterv", OperationClass.ONE_TO_N),
    Operation(58, "MPI_Allgather", OperationClass.N_TO_N),
    Operation(59, "MPI_Allgatherv", OperationClass.N_TO_N),
    Operation(60, "MPI_Alltoall", OperationClass.N_TO_N),
    Operation(61, "MPI_Alltoallv", OperationClass.N_TO_N),
    Operation(62, "MPI_Alltoallw", OperationClass.N_TO_N),
    Operation(63, "MPI_Reduce_scatter", OperationClass.N_TO_N),
    Operation(64, "MPI_Reduce_scatter_block", OperationClass.N_TO_N),
    Operation(65, "MPI_Scan", OperationClass.SCAN),
    Operation(66, "MPI_Exscan", OperationClass.SCAN),
    Operation(70, "MPI_Ibarrier", OperationClass.I_COLLECTIVE),
    Operation(71, "MPI_Ibcast", OperationClass.I_COLLECTIVE),
    Operation(72, "MPI_Ireduce", OperationClass.I_COLLECTIVE),
    Operation(73, "MPI_Iallreduce", OperationClass.I_COLLECTIVE),
    Operation(74, "MPI_Iallgather", OperationClass.I_COLLECTIVE),
    Operation(75, "MPI_Iallgatherv", OperationClass.I_COLLECTIVE),
    Operation(76, "MPI_Igather", OperationClass.I_COLLECTIVE),
    Operation(77, "MPI_Igatherv", OperationClass.I_COLLECTIVE),
    Operation(78, "MPI_Iscatter", OperationClass.I_COLLECTIVE),
    Operation(79, "MPI_Iscatterv", OperationClass.I_COLLECTIVE),
    Operation(80, "MPI_Ialltoall", OperationClass.I_COLLECTIVE),
    Operation(81, "MPI_Ialltoallv", OperationClass.I_COLLECTIVE),
    Operation(82, "MPI_Ialltoallw", OperationClass.I_COLLECTIVE),
    Operation(83, "MPI_Ireduce_scatter", OperationClass.I_COLLECTIVE),
    Operation(84, "MPI_Ireduce_scatter_block", OperationClass.I_COLLECTIVE),
    Operation(85, "MPI_Iscan", OperationClass.I_COLLECTIVE),
    Operation(86, "MPI_Iexscan", OperationClass.I_COLLECTIVE),
    Operation(90, "MPI_Comm_dup", OperationClass.COMMUNICATOR),
    Operation(91, "MPI_Comm_split", OperationClass.COMMUNICATOR),
    Operation(92, "MPI_Comm_create", OperationClass.COMMUNICATOR),
    Operation(93, "MPI_Comm_create_group", OperationClass.COMMUNICATOR),
    Operation(94, "MPI_Comm_split_type", OperationClass.COMMUNICATOR),
    Operation(95, "MPI_Comm_free", OperationClass.COMMUNICATOR),
    Operation(96, "MPI_Comm_dup_with_info", OperationClass.COMMUNICATOR),
    Operation(97, "MPI_Comm_idup", OperationClass.COMMUNICATOR),
    Operation(100, "MPI_Send_init", OperationClass.PERSISTENT),
    Operation(101, "MPI_Bsend_init", OperationClass.PERSISTENT),
    Operation(102, "MPI_Ssend_init", OperationClass.PERSISTENT),
    Operation(103, "MPI_Rsend_init", OperationClass.PERSISTENT),
    Operation(104, "MPI_Recv_init", OperationClass.PERSISTENT),
    Operation(110, "MPI_Win_create", OperationClass.ONE_SIDED),
    Operation(111, "MPI_Win_create_dynamic", OperationClass.ONE_SIDED),
    Operation(112, "MPI_Win_allocate", OperationClass.ONE_SIDED),
    Operation(113, "MPI_Win_allocate_shared", OperationClass.ONE_SIDED),
    Operation(114, "MPI_Win_free", OperationClass.ONE_SIDED),
    Operation(115, "MPI_Win_fence", OperationClass.ONE_SIDED),
    Operation(116, "MPI_Win_lock", OperationClass.ONE_SIDED),
    Operation(117, "MPI_Win_lock_all", OperationClass.ONE_SIDED),
    Operation(118, "MPI_Win_unlock", OperationClass.ONE_SIDED),
    Operation(119, "MPI_Win_unlock_all", OperationClass.ONE_SIDED),
    Operation(120, "MPI_Win_flush", OperationClass.ONE_SIDED),
    Operation(121, "MPI_Win_flush_all", OperationClass.ONE_SIDED),
    Operation(122, "MPI_Win_flush_local", OperationClass.ONE_SIDED),
    Operation(123, "MPI_Win_flush_local_all", OperationClass.ONE_SIDED),
    Operation(124, "MPI_Win_post", OperationClass.ONE_SIDED),
    Operation(125, "MPI_Win_start", OperationClass.ONE_SIDED),
    Operation(126, "MPI_Win_complete", OperationClass.ONE_SIDED),
    Operation(127, "MPI_Win_wait", OperationClass.ONE_SIDED),
    Operation(128, "MPI_Win_test", OperationClass.TEST),
    Operation(129, "MPI_Win_sync", OperationClass.ONE_SIDED),
    Operation(130, "MPI_Put", OperationClass.ONE_SIDED),
    Operation(131, "MPI_Get", OperationClass.ONE_SIDED),
    Operation(132, "MPI_Accumulate", OperationClass.ONE_SIDED),
    Operation(133, "MPI_Get_accumulate", OperationClass.ONE_SIDED),
    Operation(134, "MPI_Fetch_and_op", OperationClass.ONE_SIDED),
    Operation(135, "MPI_Compare_and_swap", OperationClass.ONE_SIDED),
    Operation(136, "MPI_Rput", OperationClass.ONE_SIDED),
    Operation(137, "MPI_Rget", OperationClass.ONE_SIDED),
    Operation(138, "MPI_Raccumulate", OperationClass.ONE_SIDED),
    Operation(139, "MPI_Rget_accumulate", OperationClass.ONE_SIDED),
    Operation(140, "MPI_Cart_create", OperationClass.COMMUNICATOR),
    Operation(141, "MPI_Cart_sub", OperationClass.COMMUNICATOR),
    Operation(142, "MPI_Graph_create", OperationClass.COMMUNICATOR),
    Operation(143, "MPI_Dist_graph_create", OperationClass.COMMUNICATOR),
    Operation(144, "MPI_Dist_graph_create_adjacent", OperationClass.COMMUNICATOR),
    Operation(145, "MPI_Intercomm_create", OperationClass.COMMUNICATOR),
    Operation(146, "MPI_Intercomm_merge", OperationClass.COMMUNICATOR),
    Operation(147, "MPI_Comm_create_from_group", OperationClass.COMMUNICATOR),
    Operation(148, "MPI_Comm_spawn", OperationClass.COMMUNICATOR),
    Operation(149, "MPI_Comm_spawn_multiple", OperationClass.COMMUNICATOR),
    Operation(150, "MPI_File_open", OperationClass.FILE),
    Operation(151, "MPI_File_close", OperationClass.FILE),
    Operation(152, "MPI_File_sync", OperationClass.FILE),
    Operation(153, "MPI_File_set_view", OperationClass.FILE),
    Operation(154, "MPI_File_set_size", OperationClass.FILE),
    Operation(155, "MPI_File_preallocate", OperationClass.FILE),
    Operation(156, "MPI_File_delete", OperationClass.FILE),
    Operation(157, "MPI_File_read", OperationClass.FILE),
    Operation(158, "MPI_File_read_all", OperationClass.FILE),
    Operation(159, "MPI_File_read_at", OperationClass.FILE),
    Operation(160, "MPI_File_read_at_all", OperationClass.FILE),
    Operation(161, "MPI_File_read_shared", OperationClass.FILE),
    Operation(162, "MPI_File_read_ordered", OperationClass.FILE),
    Operation(163, "MPI_File_write", OperationClass.FILE),
    Operation(164, "MPI_File_write_all", OperationClass.FILE),
    Operation(165, "MPI_File_write_at", OperationClass.FILE),
    Operation(166, "MPI_File_write_at_all", OperationClass.FILE),
    Operation(167, "MPI_File_write_shared", OperationClass.FILE),
    Operation(168, "MPI_File_write_ordered", OperationClass.FILE),
    Operation(169, "MPI_File_iread", OperationClass.FILE),
    Operation(170, "MPI_File_iread_all", OperationClass.FILE),
    Operation(171, "MPI_File_iread_at", OperationClass.FILE),
    Operation(172, "MPI_File_iread_at_all", OperationClass.FILE),
    Operation(173, "MPI_File_iread_shared", OperationClass.FILE),
    Operation(174, "MPI_File_iwrite", OperationClass.FILE),
    Operation(175, "MPI_File_iwrite_all", OperationClass.FILE),
    Operation(176, "MPI_File_iwrite_at", OperationClass.FILE),
    Operation(177, "MPI_File_iwrite_at_all", OperationClass.FILE),
    Operation(178, "MPI_File_iwrite_shared", OperationClass.FILE),
    Operation(179, "MPI_File_read_all_begin", OperationClass.FILE),
    Operation(180, "MPI_File_read_all_end", OperationClass.FILE),
    Operation(181, "MPI_File_read_at_all_begin", OperationClass.FILE),
    Operation(182, "MPI_File_read_at_all_end", OperationClass.FILE),
    Operation(183, "MPI_File_read_ordered_begin", OperationClass.FILE),
    Operation(184, "MPI_File_read_ordered_end", OperationClass.FILE),
    Operation(185, "MPI_File_write_all_begin", OperationClass.FILE),
    Operation(186, "MPI_File_write_all_end", OperationClass.FILE),
    Operation(187, "MPI_File_write_at_all_begin", OperationClass.FILE),
    Operation(188, "MPI_File_write_at_all_end", OperationClass.FILE),
    Operation(189, "MPI_File_write_ordered_begin", OperationClass.FILE),
    Operation(190, "MPI_File_write_ordered_end", OperationClass.FILE),
    Operation(191, "MPI_File_seek_shared", OperationClass.FILE),
    Operation(192, "MPI_Comm_accept", OperationClass.COMMUNICATOR),
    Operation(193, "MPI_Comm_connect", OperationClass.COMMUNICATOR),
    Operation(194, "MPI_Comm_join", OperationClass.COMMUNICATOR),
    Operation(195, "MPI_Comm_disconnect", OperationClass.COMMUNICATOR),
    Operation(196, "MPI_Intercomm_create_from_groups", OperationClass.COMMUNICATOR),
    Operation(197, "MPI_Comm_idup_with_info", OperationClass.COMMUNICATOR),
    Operation(200, "Horovod_control", OperationClass.CONTROL),
    Operation(210, "MPI_Neighbor_allgather", OperationClass.NEIGHBORHOOD),
    Operation(211, "MPI_Neighbor_allgatherv", OperationClass.NEIGHBORHOOD),
    Operation(212, "MPI_Neighbor_alltoall", OperationClass.NEIGHBORHOOD),
    Operation(213, "MPI_Neighbor_alltoallv", OperationClass.NEIGHBORHOOD),
    Operation(214, "MPI_Neighbor_alltoallw", OperationClass.NEIGHBORHOOD),
    Operation(215, "MPI_Ineighbor_allgather", OperationClass.I_NEIGHBORHOOD),
    Operation(216, "MPI_Ineighbor_allgatherv", OperationClass.I_NEIGHBORHOOD),
    Operation(217, "MPI_Ineighbor_alltoall", OperationClass.I_NEIGHBORHOOD),
    Operation(218, "MPI_Ineighbor_alltoallv", OperationClass.I_NEIGHBORHOOD),
    Operation(219, "MPI_Ineighbor_alltoallw", OperationClass.I_NEIGHBORHOOD),
)

GRADIENT_EXCHANGE = "gradient_exchange"

_TORCH: tuple[tuple[OperationClass, tuple[str, ...]], ...] = (
    (
        OperationClass.N_TO_N,
        (
            GRADIENT_EXCHANGE,
            "all_reduce",
            "all_reduce_coalesced",
            "all_gather",
            "all_gather_object",
            "all_gather_single",
            "all_gather_into_tensor",
            "all_gather_coalesced",
            "all_to_all",
            "all_to_all_single",
            "barrier",
            "monitored_barrier",
            "reduce_scatter",
            "reduce_scatter_single",
            "reduce_scatter_tensor",
        ),
    ),
    (
        OperationClass.ONE_TO_N,
        (
            "broadcast_buffers",
            "broadcast",
            "broadcast_object_list",
            "scatter",
            "scatter_object_list",
        ),
    ),
    (OperationClass.N_TO_ONE, ("reduce", "gather", "gather_object")),
)
FIRST_FRAMEWORK_CODE = 224
"""From here on codes are given by the reader, and stand in no recording."""

FRAMEWORK_OPERATIONS: tuple[Operation, ...] = tuple(
    Operation(FIRST_FRAMEWORK_CODE + place, f"torch.distributed.{name}", cls)
    for place, (cls, name) in enumerate((cls, name) for cls, names in _TORCH for name in names)
)
"""Collectives of frameworks, which the agent records; their bytes are known where it told them."""

FIRST_ASYNCHRONOUS_CODE = 256
"""From here on codes are those of frameworks' calls that return before they are complete."""

ASYNCHRONOUS = " (async)"
"""How the name of an asynchronous call ends; what it waits for is in the call that completes it."""

STARTED: tuple[tuple[OperationClass, str], ...] = tuple(
    (cls, name) for cls, names in _TORCH for name in names if name != GRADIENT_EXCHANGE
)
"""Class and name of the collectives of torch.distributed that can be started asynchronously."""

ASYNCHRONOUS_OPERATIONS: tuple[Operation, ...] = tuple(
    Operation(
        FIRST_ASYNCHRONOUS_CODE + place,
        f"torch.distributed.{name}{ASYNCHRONOUS}",
        OperationClass.I_COLLECTIVE,
    )
    for place, (_, name) in enumerate(STARTED)
)
"""The same collectives with `async_op=True`, and functional collectives."""

TORCH_WAIT = Operation(
    FIRST_ASYNCHRONOUS_CODE + len(STARTED), "torch.distributed.wait", OperationClass.WAIT
)
"""Where a rank waits until an asynchronous collective is complete."""

HOROVOD_EXPOSED = 254
"""Derived: time in which a rank had nothing left to do but to wait for Horovod."""

MPI_OTHER = 253
"""Of foreign traces: functions of MPI that the recorder leaves out (MPI_Comm_rank), and MPI calls
that are too many to be kept one by one."""

ALL_OPERATIONS = (
    *OPERATIONS,
    *FRAMEWORK_OPERATIONS,
    *ASYNCHRONOUS_OPERATIONS,
    TORCH_WAIT,
    Operation(MPI_OTHER, "MPI_other", OperationClass.LOCAL),
    Operation(HOROVOD_EXPOSED, "Horovod_exposed", OperationClass.N_TO_N),
)
BY_CODE: dict[int, Operation] = {operation.code: operation for operation in ALL_OPERATIONS}
BY_NAME: dict[str, Operation] = {operation.name: operation for operation in ALL_OPERATIONS}

COLLECTIVE_CLASSES = frozenset(
    {
        OperationClass.N_TO_N,
        OperationClass.ONE_TO_N,
        OperationClass.N_TO_ONE,
        OperationClass.SCAN,
        OperationClass.I_COLLECTIVE,
        OperationClass.COMMUNICATOR,
    }
)
"""Classes whose calls carry a communicator and a sequence number on it."""


def codes_mask(classes: Iterable[OperationClass]) -> npt.NDArray[np.bool_]:
    """Which codes belong to the classes: booleans to be indexed with a column of codes."""
    return _mask(frozenset(classes)).copy()  # some who ask add codes to theirs


@cache
def _mask(wanted: frozenset[OperationClass]) -> npt.NDArray[np.bool_]:
    mask = np.zeros(MAX_OPERATIONS, dtype=np.bool_)
    mask[[operation.code for operation in ALL_OPERATIONS if operation.cls in wanted]] = True
    return mask


HOROVOD_CONTROL = BY_NAME["Horovod_control"].code
"""Cycles in which Horovod's thread agrees with the other ranks on what is ready, joined."""

KNOWN: npt.NDArray[np.bool_] = codes_mask(OperationClass)
"""Which codes name an operation."""

IS_COLLECTIVE: npt.NDArray[np.bool_] = codes_mask(COLLECTIVE_CLASSES)
"""Which codes are collective operations, nonblocking ones and communicator creation included."""


def codes_of(*names: str) -> list[int]:
    """The codes of MPI names."""
    return [code_of(name) for name in names]


def in_classes(codes: npt.NDArray[np.integer], *classes: OperationClass) -> npt.NDArray[np.bool_]:
    """Which rows of a column of codes are of one of the classes."""
    rows: npt.NDArray[np.bool_] = codes_mask(classes)[codes]
    return rows


def name_of(code: int) -> str:
    """The MPI name of a code, `operation <code>` when it is not known."""
    operation = BY_CODE.get(code)
    return operation.name if operation else f"operation {code}"


def code_of(name: str) -> int:
    """The code of an MPI name.

    Raises:
        KeyError: no operation has this name.
    """
    return BY_NAME[name].code
