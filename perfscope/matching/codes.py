"""What an operation code means for the matching of calls."""

from enum import IntFlag, auto

import numpy as np
import numpy.typing as npt

from perfscope.trace.framework_codes import BLOCKING_FORM, asynchronous_codes
from perfscope.trace.operations import (
    FIRST_FRAMEWORK_CODE,
    IS_COLLECTIVE,
    MAX_OPERATIONS,
    OperationClass,
    codes_mask,
    codes_of,
)

_I_TO_ALL = codes_of(*(f"MPI_I{name}" for name in ("bcast", "scatter", "scatterv")))
_I_TO_ALL += asynchronous_codes(OperationClass.ONE_TO_N)
_I_TO_ROOT = codes_of(*(f"MPI_I{name}" for name in ("reduce", "gather", "gatherv")))
_I_TO_ROOT += asynchronous_codes(OperationClass.N_TO_ONE)
_I_SCAN = codes_of("MPI_Iscan", "MPI_Iexscan")

N_TO_N_CODES = codes_mask([OperationClass.N_TO_N, OperationClass.I_COLLECTIVE])
N_TO_N_CODES[_I_TO_ALL + _I_TO_ROOT + _I_SCAN] = False
TO_ALL_CODES = codes_mask([OperationClass.ONE_TO_N])
TO_ALL_CODES[_I_TO_ALL] = True
TO_ROOT_CODES = codes_mask([OperationClass.N_TO_ONE])
TO_ROOT_CODES[_I_TO_ROOT] = True
SCAN_CODES = codes_mask([OperationClass.SCAN])
SCAN_CODES[_I_SCAN] = True
NONBLOCKING_CODES = codes_mask([OperationClass.I_COLLECTIVE])
IGNORED_CODES = codes_mask([OperationClass.COMMUNICATOR])

SYNCHRONOUS = codes_of(
    "MPI_Ssend", "MPI_Issend", "torch.distributed.send", "torch.distributed.isend"
)
"""Sends that wait for their receivers, however small they are: gloo's do."""


class CallTrait(IntFlag):
    """Bits of a code's traits, as `native/core/matching/calls.h` reads them."""

    SEND = auto()
    ISEND = auto()
    SENDRECV = auto()
    RECV = auto()
    IRECV = auto()
    PROBE = auto()
    WAIT = auto()
    TEST = auto()
    FINALIZE = auto()
    COLLECTIVE = auto()
    N_TO_N = auto()
    TO_ALL = auto()
    TO_ROOT = auto()
    SCAN = auto()
    NONBLOCKING = auto()
    SYNCHRONOUS = auto()
    FRAMEWORK = auto()


def _traits() -> npt.NDArray[np.uint32]:
    codes = np.arange(MAX_OPERATIONS)
    masks = {
        CallTrait.COLLECTIVE: IS_COLLECTIVE & ~IGNORED_CODES,
        CallTrait.N_TO_N: N_TO_N_CODES,
        CallTrait.TO_ALL: TO_ALL_CODES,
        CallTrait.TO_ROOT: TO_ROOT_CODES,
        CallTrait.SCAN: SCAN_CODES,
        CallTrait.NONBLOCKING: NONBLOCKING_CODES,
        CallTrait.SYNCHRONOUS: np.isin(codes, SYNCHRONOUS),
        CallTrait.FRAMEWORK: codes >= FIRST_FRAMEWORK_CODE,
    }
    traits = np.zeros(MAX_OPERATIONS, np.uint32)
    for name, trait in CallTrait.__members__.items():
        mask = masks[trait] if trait in masks else codes_mask([OperationClass[name]])
        traits[mask] |= np.uint32(trait)
    return traits


CODES = _traits(), BLOCKING_FORM.astype(np.uint16)
"""Of each code its traits, and the collective that a framework's asynchronous call is."""
