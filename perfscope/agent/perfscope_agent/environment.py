"""The environment variables that say something about performance; no others are ever written.

A family of variables is taken as a whole only where every member is a setting of one library. Where
other programs, schedulers or people use the same beginning, the variables are named one by one.
"""

from __future__ import annotations

import os

from .roles import RANK_VARIABLES
from .secrets.redact import redact_variable

_PREFIXES = (
    "OMP_",
    "GOMP_",
    "KMP_",
    "MKL_",
    "OPENBLAS_",
    "BLIS_",
    "NUMEXPR_",
    "VECLIB_",
    "MALLOC_",
    "I_MPI_ADJUST_",
    "I_MPI_ASYNC_PROGRESS",
    "I_MPI_COLL_",
    "I_MPI_FABRICS",
    "I_MPI_OFI_",
    "I_MPI_PIN",
    "I_MPI_SHM_",
    "I_MPI_THREAD_",
    "FI_CXI_",
    "FI_EFA_",
    "FI_HMEM_",
    "FI_OFI_RXM_",
    "FI_OPX_",
    "FI_PSM2_",
    "FI_PSM3_",
    "FI_SHM_",
    "FI_TCP_",
    "FI_VERBS_",
    "UCX_",
    "OMPI_MCA_accelerator",
    "OMPI_MCA_btl",
    "OMPI_MCA_coll",
    "OMPI_MCA_hwloc_base_",
    "OMPI_MCA_mpi_",
    "OMPI_MCA_mtl",
    "OMPI_MCA_opal_",
    "OMPI_MCA_osc",
    "OMPI_MCA_pml",
    "OMPI_MCA_rmaps_base_",
    "OMPI_MCA_topo",
    "MPICH_",
    "MPIR_CVAR_",
    "NCCL_",
    "GLOO_",
    "TORCH_NCCL_",
    "HOROVOD_AUTOTUNE",
    "HOROVOD_HIERARCHICAL_",
    "HOROVOD_STALL_CHECK_",
    "HOROVOD_TIMELINE",
    "TF_CUDNN_",
    "TF_GPU_",
    "TF_XLA_",
    "SLURM_CPU_BIND",
    "SLURM_CPUS_",
    "SLURM_GPUS",
    "SLURM_MEM_",
    "SLURM_NTASKS",
)
_NAMES = frozenset(
    """
    LD_PRELOAD LD_LIBRARY_PATH VIRTUAL_ENV CONDA_PREFIX ATEN_CPU_CAPABILITY
    PYTHONPATH PYTHONHOME PYTHONHASHSEED PYTHONUNBUFFERED PYTHONOPTIMIZE PYTHONMALLOC
    PYTHONNOUSERSITE PYTHONDONTWRITEBYTECODE PYTHONFAULTHANDLER PYTHONDEVMODE PYTHON_GIL
    PYTHON_JIT PYTHON_CPU_COUNT
    MASTER_ADDR MASTER_PORT
    I_MPI_DEBUG I_MPI_DEVICE I_MPI_EAGER_THRESHOLD I_MPI_LIBRARY_KIND I_MPI_PERHOST I_MPI_ROOT
    I_MPI_SPIN_COUNT I_MPI_WAIT_MODE
    FI_PROVIDER FI_PROVIDER_PATH FI_LOG_LEVEL FI_UNIVERSE_SIZE FI_MR_CACHE_MONITOR
    HYDRA_BINDING HYDRA_IFACE HYDRA_LAUNCHER HYDRA_RMK HYDRA_TOPOLIB
    HOROVOD_BATCH_D2D_MEMCOPIES HOROVOD_CACHE_CAPACITY HOROVOD_CONTROLLER HOROVOD_CPU_OPERATIONS
    HOROVOD_CYCLE_TIME HOROVOD_FUSION_THRESHOLD HOROVOD_GPU_ALLREDUCE HOROVOD_GPU_OPERATIONS
    HOROVOD_LOCAL_RANK HOROVOD_LOCAL_SIZE HOROVOD_LOG_LEVEL HOROVOD_MPI_THREADS_DISABLE
    HOROVOD_NUM_NCCL_STREAMS HOROVOD_RANK HOROVOD_SIZE HOROVOD_THREAD_AFFINITY
    TF_AUTOTUNE_THRESHOLD TF_CPP_MAX_VLOG_LEVEL TF_CPP_MIN_LOG_LEVEL TF_DETERMINISTIC_OPS
    ONEDNN_MAX_CPU_ISA DNNL_MAX_CPU_ISA NPY_DISABLE_CPU_FEATURES
    TF_DISABLE_MKL TF_ENABLE_AUTO_MIXED_PRECISION TF_ENABLE_ONEDNN_OPTS TF_FORCE_GPU_ALLOW_GROWTH
    TF_FORCE_UNIFIED_MEMORY TF_NUM_INTEROP_THREADS TF_NUM_INTRAOP_THREADS TF_USE_LEGACY_KERAS
    XLA_FLAGS XLA_PYTHON_CLIENT_ALLOCATOR XLA_PYTHON_CLIENT_MEM_FRACTION
    XLA_PYTHON_CLIENT_PREALLOCATE
    KERAS_BACKEND
    CUDA_CACHE_DISABLE CUDA_CACHE_MAXSIZE CUDA_DEVICE_MAX_CONNECTIONS CUDA_DEVICE_ORDER CUDA_HOME
    CUDA_LAUNCH_BLOCKING CUDA_MODULE_LOADING CUDA_VERSION CUDA_VISIBLE_DEVICES
    NVIDIA_DRIVER_CAPABILITIES NVIDIA_TF32_OVERRIDE NVIDIA_VISIBLE_DEVICES
    TORCH_CPP_LOG_LEVEL TORCH_DISTRIBUTED_DEBUG TORCH_SHOW_CPP_STACKTRACES
    TORCHELASTIC_MAX_RESTARTS TORCHELASTIC_RESTART_COUNT TORCHELASTIC_RUN_ID
    PYTORCH_ALLOC_CONF PYTORCH_CUDA_ALLOC_CONF PYTORCH_JIT PYTORCH_NO_CUDA_MEMORY_CACHING
    SLURM_CLUSTER_NAME SLURM_DISTRIBUTION SLURM_HINT SLURM_JOB_CPUS_PER_NODE SLURM_JOB_ID
    SLURM_JOB_NUM_NODES SLURM_JOB_PARTITION SLURM_LOCALID SLURM_MPI_TYPE SLURM_NNODES SLURM_NODEID
    SLURM_NPROCS SLURM_PROCID SLURM_STEP_ID SLURM_STEP_NUM_NODES SLURM_STEP_NUM_TASKS
    SLURM_TASKS_PER_NODE SLURM_THREADS_PER_CORE
    PMI_LOCAL_RANK PMI_LOCAL_SIZE PMI_RANK PMI_SIZE PMIX_RANK PMIX_VERSION
    """.split()
)
_LONGEST = 2000
_RECORDER = "libperfscope_recorder.so"


def performance_environment() -> dict[str, str]:
    """The allow-listed variables of this process with secrets replaced, sorted by name.

    What recording itself put into search paths is left out: it is no setting of the user's.
    """
    found = {}
    for name, value in sorted(os.environ.items()):
        if name in _NAMES or name.startswith(_PREFIXES):
            own = _without_recording(name, value)
            if own is not None:
                found[name] = redact_variable(name, own)[:_LONGEST]
    return found


def _without_recording(name: str, value: str) -> str | None:
    """The variable as the user set it; None when only recording set it."""
    if name == "LD_PRELOAD":
        entries = value.replace(" ", os.pathsep).split(os.pathsep)
        kept = [entry for entry in entries if os.path.basename(entry) != _RECORDER]
    elif name == "PYTHONPATH":
        entries = value.split(os.pathsep)
        kept = [entry for entry in entries if not _is_agent(entry)]
    else:
        return value
    if len(kept) == len(entries):
        return value
    return os.pathsep.join(kept) if kept else None


def _is_agent(entry: str) -> bool:
    """Whether a directory is the one that holds this package, under whatever path."""
    return bool(entry) and os.path.isfile(os.path.join(entry, "perfscope_agent", "environment.py"))


def rank_environment() -> dict[str, str]:
    """The variables by which launchers number their processes."""
    return {
        name: redact_variable(name, os.environ[name])[:_LONGEST]
        for name in RANK_VARIABLES
        if name in os.environ
    }
