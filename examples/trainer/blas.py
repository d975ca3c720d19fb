"""The number of threads that numpy's matrix products use."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SETTERS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads",
)


def choose_blas_threads(count: int | None) -> None:
    """Sets the thread count before numpy loads: `count`, else the user's environment, else 1."""
    for variable in VARIABLES:
        if count is None:
            os.environ.setdefault(variable, "1")
        else:
            os.environ[variable] = str(count)


def force_blas_threads(count: int) -> None:
    """Sets the thread count in the loaded OpenBLAS, which by itself starts no more than cores."""
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    paths = {line.split(maxsplit=5)[5].strip() for line in lines if "openblas" in line}
    for path in sorted(paths):
        library = ctypes.CDLL(path)
        for name in SETTERS:
            if hasattr(library, name):
                getattr(library, name)(ctypes.c_int(count))
                return
