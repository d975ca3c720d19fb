"""The operations a program can spend communication time in, and how each one waits.

The codes are those of `native/recorder/operations.def`; a test compares the two lists.
"""

from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools
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
    """One function of MPI or of a framework.

    Attributes:
        reduces: it combines what the ranks give.
        makes_windows: it makes or frees the memory that one-sided communication works on.
    """

    code: int
    name: str
    cls: OperationClass
    reduces: bool = False
    makes_windows: bool = False


MAX_OPERATIONS = 512
"""Codes are below this; lookup arrays have this length. Those of recordings are below 256."""

_MPI = {
    OperationClass.INIT: "1 Init 2 Init_thread",
    OperationClass.FINALIZE: "3 Finalize",
    OperationClass.ABORT: "4 Abort",
    OperationClass.SEND: "10 Send 11 Bsend 12 Ssend 13 Rsend",
    OperationClass.RECV: "14 Recv 22 Mrecv",
    OperationClass.SENDRECV: "15 Sendrecv 16 Sendrecv_replace",
    OperationClass.ISEND: """
        17 Isend 18 Ibsend 19 Issend 20 Irsend 24 Isendrecv 25 Isendrecv_replace 44 Start_send
    """,
    OperationClass.IRECV: "21 Irecv 23 Imrecv 45 Start_recv",
    OperationClass.WAIT: "30 Wait 31 Waitall 32 Waitany 33 Waitsome",
    OperationClass.TEST: """
        34 Test 35 Testall 36 Testany 37 Testsome 39 Iprobe 41 Improbe 128 Win_test
    """,
    OperationClass.PROBE: "38 Probe 40 Mprobe",
    OperationClass.PERSISTENT: """
        42 Start 43 Startall 100 Send_init 101 Bsend_init 102 Ssend_init 103 Rsend_init
        104 Recv_init
    """,
    OperationClass.N_TO_N: """
        50 Barrier 53 Allreduce+ 58 Allgather 59 Allgatherv 60 Alltoall 61 Alltoallv
        62 Alltoallw 63 Reduce_scatter+ 64 Reduce_scatter_block+
    """,
    OperationClass.ONE_TO_N: "51 Bcast 56 Scatter 57 Scatterv",
    OperationClass.N_TO_ONE: "52 Reduce+ 54 Gather 55 Gatherv",
    OperationClass.SCAN: "65 Scan+ 66 Exscan+",
    OperationClass.I_COLLECTIVE: """
        70 Ibarrier 71 Ibcast 72 Ireduce+ 73 Iallreduce+ 74 Iallgather 75 Iallgatherv 76 Igather
        77 Igatherv 78 Iscatter 79 Iscatterv 80 Ialltoall 81 Ialltoallv 82 Ialltoallw
        83 Ireduce_scatter+ 84 Ireduce_scatter_block+ 85 Iscan+ 86 Iexscan+
    """,
    OperationClass.COMMUNICATOR: """
        90 Comm_dup 91 Comm_split 92 Comm_create 93 Comm_create_group 94 Comm_split_type
        95 Comm_free 96 Comm_dup_with_info 97 Comm_idup 140 Cart_create 141 Cart_sub
        142 Graph_create 143 Dist_graph_create 144 Dist_graph_create_adjacent
        145 Intercomm_create 146 Intercomm_merge 147 Comm_create_from_group 148 Comm_spawn
        149 Comm_spawn_multiple 192 Comm_accept 193 Comm_connect 194 Comm_join
        195 Comm_disconnect 196 Intercomm_create_from_groups 197 Comm_idup_with_info
    """,
    OperationClass.ONE_SIDED: """
        110 Win_create* 111 Win_create_dynamic* 112 Win_allocate* 113 Win_allocate_shared*
        114 Win_free* 115 Win_fence 116 Win_lock 117 Win_lock_all 118 Win_unlock
        119 Win_unlock_all 120 Win_flush 121 Win_flush_all 122 Win_flush_local
        123 Win_flush_local_all 124 Win_post 125 Win_start 126 Win_complete 127 Win_wait
        129 Win_sync 130 Put 131 Get 132 Accumulate 133 Get_accumulate 134 Fetch_and_op
        135 Compare_and_swap 136 Rput 137 Rget 138 Raccumulate 139 Rget_accumulate
    """,
    OperationClass.FILE: """
        150 File_open 151 File_close 152 File_sync 153 File_set_view 154 File_set_size
        155 File_preallocate 156 File_delete 157 File_read 158 File_read_all 159 File_read_at
        160 File_read_at_all 161 File_read_shared 162 File_read_ordered 163 File_write
        164 File_write_all 165 File_write_at 166 File_write_at_all 167 File_write_shared
        168 File_write_ordered 169 File_iread 170 File_iread_all 171 File_iread_at
        172 File_iread_at_all 173 File_iread_shared 174 File_iwrite 175 File_iwrite_all
        176 File_iwrite_at 177 File_iwrite_at_all 178 File_iwrite_shared 179 File_read_all_begin
        180 File_read_all_end 181 File_read_at_all_begin 182 File_read_at_all_end
        183 File_read_ordered_begin 184 File_read_ordered_end 185 File_write_all_begin
        186 File_write_all_end 187 File_write_at_all_begin 188 File_write_at_all_end
        189 File_write_ordered_begin 190 File_write_ordered_end 191 File_seek_shared
    """,
    OperationClass.NEIGHBORHOOD: """
        210 Neighbor_allgather 211 Neighbor_allgatherv 212 Neighbor_alltoall
        213 Neighbor_alltoallv 214 Neighbor_alltoallw
    """,
    OperationClass.I_NEIGHBORHOOD: """
        215 Ineighbor_allgather 216 Ineighbor_allgatherv 217 Ineighbor_alltoall
        218 Ineighbor_alltoallv 219 Ineighbor_alltoallw
    """,
}
"""By class: code and name behind `MPI_`, with + where it reduces, * where it makes windows."""


def _operations() -> Iterator[Operation]:
    for cls, text in _MPI.items():
        words = text.split()
        for code, name in zip(words[::2], words[1::2], strict=True):
            yield Operation(
                int(code),
                f"MPI_{name.rstrip('+*')}",
                cls,
                reduces=name.endswith("+"),
                makes_windows=name.endswith("*"),
            )
    yield Operation(200, "Horovod_control", OperationClass.CONTROL)


OPERATIONS: tuple[Operation, ...] = tuple(sorted(_operations(), key=attrgetter("code")))

GRADIENT_EXCHANGE = "gradient_exchange"
_TORCH = {
    OperationClass.N_TO_N: """
        gradient_exchange+ all_reduce+ all_reduce_coalesced+ all_gather all_gather_object
        all_gather_single all_gather_into_tensor all_gather_coalesced all_to_all
        all_to_all_single barrier monitored_barrier reduce_scatter+ reduce_scatter_single+
        reduce_scatter_tensor+
    """,
    OperationClass.ONE_TO_N: """
        broadcast_buffers broadcast broadcast_object_list scatter scatter_object_list
    """,
    OperationClass.N_TO_ONE: "reduce+ gather gather_object",
}
"""Collectives of torch.distributed in the order of their codes, with + where they reduce."""

FIRST_FRAMEWORK_CODE = 224
"""From here on codes are given by the reader, and stand in no recording."""

FRAMEWORK_OPERATIONS: tuple[Operation, ...] = tuple(
    Operation(
        FIRST_FRAMEWORK_CODE + place,
        f"torch.distributed.{name.rstrip('+')}",
        cls,
        reduces=name.endswith("+"),
    )
    for place, (cls, name) in enumerate(
        (cls, name) for cls, names in _TORCH.items() for name in names.split()
    )
)
"""Collectives of frameworks, which the agent records; their bytes are known where it told them."""

FIRST_ASYNCHRONOUS_CODE = 256
"""From here on codes are those of frameworks' calls that return before they are complete."""

ASYNCHRONOUS = " (async)"
"""How the name of an asynchronous call ends; what it waits for is in the call that completes it."""

STARTED = tuple(one for one in FRAMEWORK_OPERATIONS if not one.name.endswith(GRADIENT_EXCHANGE))
"""The collectives of torch.distributed that can be started asynchronously."""

ASYNCHRONOUS_OPERATIONS: tuple[Operation, ...] = tuple(
    Operation(
        FIRST_ASYNCHRONOUS_CODE + place,
        started.name + ASYNCHRONOUS,
        OperationClass.I_COLLECTIVE,
        reduces=started.reduces,
    )
    for place, started in enumerate(STARTED)
)
"""The same collectives with `async_op=True`, and functional collectives."""

TORCH_WAIT = Operation(
    FIRST_ASYNCHRONOUS_CODE + len(STARTED), "torch.distributed.wait", OperationClass.WAIT
)
"""Where a rank waits until an asynchronous collective, or a message, is complete."""

TORCH_MESSAGES: tuple[Operation, ...] = tuple(
    Operation(code, f"torch.distributed.{cls.value}", cls)
    for code, cls in (
        (FRAMEWORK_OPERATIONS[-1].code + 1, OperationClass.SEND),
        (FRAMEWORK_OPERATIONS[-1].code + 2, OperationClass.RECV),
        (TORCH_WAIT.code + 1, OperationClass.ISEND),
        (TORCH_WAIT.code + 2, OperationClass.IRECV),
    )
)
"""What one rank of torch.distributed says to another; the last two are waited for later."""

HOROVOD_EXPOSED = 254
"""Derived: time in which a rank had nothing left to do but to wait for Horovod."""

MPI_OTHER = 253
"""Of foreign traces: functions of MPI that the recorder leaves out (MPI_Comm_rank), and MPI calls
that are too many to be kept one by one."""

LEFT_OUT = 252
"""Between the parts of a thinned run: time that is no part of it, and no work."""

ALL_OPERATIONS = (
    *OPERATIONS,
    *FRAMEWORK_OPERATIONS,
    *ASYNCHRONOUS_OPERATIONS,
    TORCH_WAIT,
    *TORCH_MESSAGES,
    Operation(MPI_OTHER, "MPI_other", OperationClass.LOCAL),
    Operation(HOROVOD_EXPOSED, "Horovod (exposed)", OperationClass.N_TO_N),
    Operation(LEFT_OUT, "Left_out", OperationClass.LOCAL),
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


def codes_mask(classes: Iterable[OperationClass]) -> Bools:
    """Which codes belong to the classes: booleans to be indexed with a column of codes."""
    return _mask(frozenset(classes)).copy()  # some who ask add codes to theirs


@cache
def _mask(wanted: frozenset[OperationClass]) -> Bools:
    mask = np.zeros(MAX_OPERATIONS, dtype=np.bool_)
    mask[[operation.code for operation in ALL_OPERATIONS if operation.cls in wanted]] = True
    return mask


HOROVOD_CONTROL = BY_NAME["Horovod_control"].code
"""Cycles in which Horovod's thread agrees with the other ranks on what is ready, joined."""

KNOWN: Bools = codes_mask(OperationClass)
"""Which codes name an operation."""

IS_COLLECTIVE: Bools = codes_mask(COLLECTIVE_CLASSES)
"""Which codes are collective operations, nonblocking ones and communicator creation included."""

REDUCES: Bools = np.zeros(MAX_OPERATIONS, np.bool_)
"""Which codes combine what the ranks give, as sums of gradients do."""
REDUCES[[operation.code for operation in ALL_OPERATIONS if operation.reduces]] = True


def codes_of(*names: str) -> list[int]:
    """The codes of MPI names."""
    return [code_of(name) for name in names]


def in_classes(codes: npt.NDArray[np.integer], *classes: OperationClass) -> Bools:
    """Which rows of a column of codes are of one of the classes."""
    rows: Bools = codes_mask(classes)[codes]
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
