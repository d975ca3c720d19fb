"""What perfscope's operations, phases and steps are in the words of OTF2."""

from typing import Any

import _otf2

from perfscope.trace.devices import DeviceKind
from perfscope.trace.operations import BY_CODE, OperationClass, name_of

_ROLES = {
    OperationClass.N_TO_N: "COLL_ALL2ALL",
    OperationClass.ONE_TO_N: "COLL_ONE2ALL",
    OperationClass.N_TO_ONE: "COLL_ALL2ONE",
    OperationClass.SCAN: "COLL_OTHER",
    OperationClass.I_COLLECTIVE: "COLL_OTHER",
    OperationClass.COMMUNICATOR: "COLL_OTHER",
    OperationClass.NEIGHBORHOOD: "COLL_OTHER",
    OperationClass.I_NEIGHBORHOOD: "COLL_OTHER",
    OperationClass.ONE_SIDED: "RMA",
    OperationClass.FILE: "FILE_IO",
    **dict.fromkeys(
        (
            OperationClass.SEND,
            OperationClass.RECV,
            OperationClass.SENDRECV,
            OperationClass.ISEND,
            OperationClass.IRECV,
            OperationClass.PROBE,
            OperationClass.PERSISTENT,
        ),
        "POINT2POINT",
    ),
}
_OTHER_NAMES = {
    "all_reduce_coalesced": "ALLREDUCE",
    "gradient_exchange": "ALLREDUCE",
    "monitored_barrier": "BARRIER",
    "broadcast_buffers": "BCAST",
    "broadcast": "BCAST",
    "broadcast_object_list": "BCAST",
    "Comm_free": "DESTROY_HANDLE",
}
"""Names whose letters do not tell the collective."""

_BY_PREFIX = (
    *("ALLREDUCE", "ALLGATHERV", "ALLGATHER", "ALLTOALLV", "ALLTOALLW", "ALLTOALL"),
    *("REDUCESCATTERBLOCK", "REDUCESCATTER", "BARRIER", "BCAST", "REDUCE", "GATHERV", "GATHER"),
    *("SCATTERV", "SCATTER", "EXSCAN", "SCAN"),
)


def operation_region(code: int) -> tuple[str, str, Any, Any]:
    """Name, description, role and paradigm of an operation."""
    name = name_of(code)
    operation = BY_CODE.get(code)
    role = _ROLES.get(operation.cls, "FUNCTION") if operation else "FUNCTION"
    role = "BARRIER" if name.lower().endswith("barrier") else role
    paradigm = _otf2.Paradigm.MPI if name.startswith("MPI_") else _otf2.Paradigm.USER
    return name, "", getattr(_otf2.RegionRole, role), paradigm


def collective_operation(code: int) -> Any:
    """The collective that an operation is."""
    short = name_of(code).removeprefix("MPI_").removeprefix("torch.distributed.")
    if short in _OTHER_NAMES:
        return getattr(_otf2.CollectiveOp, _OTHER_NAMES[short])
    operation = BY_CODE.get(code)
    if operation is not None and operation.cls is OperationClass.COMMUNICATOR:
        return _otf2.CollectiveOp.CREATE_HANDLE
    if operation is not None and operation.cls is OperationClass.I_COLLECTIVE:
        short = short[1:]
    letters = short.replace("_", "").upper()
    found = next((name for name in _BY_PREFIX if letters.startswith(name)), "ALLREDUCE")
    words = {"REDUCESCATTER": "REDUCE_SCATTER", "REDUCESCATTERBLOCK": "REDUCE_SCATTER_BLOCK"}
    return getattr(_otf2.CollectiveOp, words.get(found, found))


def phase_region(name: str, *, sampled: bool) -> tuple[str, str, Any, Any]:
    """Name, description, role and paradigm of a phase."""
    text = "found by the stack sampler: its ends are not exact" if sampled else ""
    paradigm = _otf2.Paradigm.SAMPLING if sampled else _otf2.Paradigm.USER
    return name, text, _otf2.RegionRole.CODE, paradigm


def step_region() -> tuple[str, str, Any, Any]:
    """Name, description, role and paradigm of a step."""
    return "step", "one iteration of the training loop", _otf2.RegionRole.LOOP, _otf2.Paradigm.USER


def kernel_region(name: str, kind: DeviceKind) -> tuple[str, str, Any, Any]:
    """Name, description, role and paradigm of what an accelerator did."""
    roles = {
        DeviceKind.COMPUTE: _otf2.RegionRole.KERNEL,
        DeviceKind.COMMUNICATION: _otf2.RegionRole.COLL_OTHER,
    }
    return name, "", roles.get(kind, _otf2.RegionRole.DATA_TRANSFER), _otf2.Paradigm.CUDA
