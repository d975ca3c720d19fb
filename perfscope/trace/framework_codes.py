"""What a collective of a framework is: its blocking form, and whether its bytes are known."""

import numpy as np

from perfscope.arrays import Ints
from perfscope.trace.operations import (
    ASYNCHRONOUS,
    ASYNCHRONOUS_OPERATIONS,
    BY_NAME,
    FIRST_FRAMEWORK_CODE,
    MAX_OPERATIONS,
    STARTED,
    OperationClass,
    codes_of,
)


def _blocking_forms() -> Ints:
    forms = np.arange(MAX_OPERATIONS)
    for operation in ASYNCHRONOUS_OPERATIONS:
        forms[operation.code] = BY_NAME[operation.name.removesuffix(ASYNCHRONOUS)].code
    return forms


BLOCKING_FORM: Ints = _blocking_forms()
"""By code: the collective that a framework's asynchronous call is; all others are themselves.

One rank may block in a collective that another one has only started.
"""


ALLREDUCES = codes_of(
    "MPI_Allreduce", "torch.distributed.all_reduce", "torch.distributed.all_reduce_coalesced"
)
"""Blocking calls after which all ranks have what all of them gave, combined, of MPI or PyTorch."""


def asynchronous_codes(cls: OperationClass) -> list[int]:
    """Codes of the frameworks' asynchronous calls whose blocking form is of a class."""
    return [
        operation.code
        for operation, blocking in zip(ASYNCHRONOUS_OPERATIONS, STARTED, strict=True)
        if blocking.cls is cls
    ]


def tells_bytes(code: int, moved: int) -> bool:
    """Whether the bytes of an operation are known: of frameworks' only where some were told."""
    return code < FIRST_FRAMEWORK_CODE or moved > 0
