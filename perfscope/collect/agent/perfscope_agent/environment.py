"""The environment variables that say something about performance; no others are ever written."""

from __future__ import annotations

import os

from .redact import redact_variable
from .roles import RANK_VARIABLES

_PREFIXES = (
    "OMP_",
    "GOMP_",
    "KMP_",
    "MKL_",
    "OPENBLAS_",
    "BLIS_",
    "NUMEXPR_",
    "VECLIB_",
    "I_MPI_",
    "FI_",
    "UCX_",
    "OMPI_MCA_",
    "MPICH_",
    "MPIR_CVAR_",
    "HYDRA_",
    "HOROVOD_",
    "TF_",
    "XLA_",
    "KERAS_",
    "CUDA_",
    "NVIDIA_",
    "NCCL_",
    "GLOO_",
    "TORCH_",
    "PYTORCH_",
    "TORCHELASTIC_",
    "SLURM_",
    "PMI_",
    "PMIX_",
    "PYTHON",
    "MALLOC_",
    "MASTER_",
)
_NAMES = ("LD_PRELOAD", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "ATEN_CPU_CAPABILITY")
_LONGEST = 2000


def performance_environment() -> dict[str, str]:
    """The allow-listed variables of this process with secrets replaced, sorted by name."""
    return {
        name: redact_variable(name, value)[:_LONGEST]
        for name, value in sorted(os.environ.items())
        if name.startswith(_PREFIXES) or name in _NAMES
    }


def rank_environment() -> dict[str, str]:
    """The variables by which launchers number their processes."""
    return {
        name: redact_variable(name, os.environ[name])[:_LONGEST]
        for name in RANK_VARIABLES
        if name in os.environ
    }
