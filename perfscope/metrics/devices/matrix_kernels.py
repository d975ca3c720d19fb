"""Kernels that multiply matrices, by whether tensor cores do it, told by their names."""

import re
from collections.abc import Iterable

from perfscope.structures import dataclass

_TENSOR_CORES = re.compile(
    r"tensorop|[shi](884|1688|16816|8816)|hmma|imma|dmma|gmma|nvjet|tcgen05|flash_fwd|flash_bwd"
    r"|fmha|(gemm|fprop|dgrad|wgrad)\w*(tf32|bf16|f16f16|e4m3|e5m2)",
    re.IGNORECASE,
)
"""Shapes of instructions of tensor cores (884, 1688, 16816), and types that only they multiply."""
_PLAIN_SINGLE = re.compile(r"sgemm|scudnn|f32f32_f32f32_f32", re.IGNORECASE)
"""Single precision on the ordinary units: cuBLAS, CUTLASS (simt) and cuDNN call them so."""


@dataclass(frozen=True)
class MatrixTime:
    """Seconds in kernels that multiply matrices or convolve, all devices together."""

    single_s: float  # in single precision without tensor cores
    tensor_s: float  # with tensor cores
    compute_s: float  # in all kernels that compute
    example: str  # the longest kernel without tensor cores, "" none


def uses_tensor_cores(name: str) -> bool | None:
    """Whether a kernel of this name multiplies on tensor cores; None where it says nothing.

    A kernel in single precision that names an instruction of tensor cores rounds to TF32.
    """
    if _TENSOR_CORES.search(name):
        return True
    return False if _PLAIN_SINGLE.search(name) else None


def matrix_time(kernels: Iterable[tuple[str, float]]) -> MatrixTime:
    """Sums over computing kernels, given as (name, seconds)."""
    single = tensor = compute = most = 0.0
    example = ""
    for name, seconds in kernels:
        compute += seconds
        kind = uses_tensor_cores(name)
        if kind:
            tensor += seconds
        elif kind is False:
            single += seconds
            if seconds > most:
                most, example = seconds, name
    return MatrixTime(single, tensor, compute, example)
