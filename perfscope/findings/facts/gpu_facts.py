"""What findings about sampled GPUs have in common."""

from perfscope.findings.core.finding import Quiet, not_applicable, not_measured
from perfscope.findings.facts.device_facts import torch_devices
from perfscope.metrics.devices.gpus import GpuUse
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence

FRAMEWORKS = {"torch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX"}
"""Whose programs are expected to use a GPU where there is one."""

WORKED = 0.02
"""Of the time with a kernel, from which on a GPU was used by somebody."""

MOST_GPUS = 4
"""That are shown one by one."""

WHAT_TELLS = (
    "Set CUDA_VISIBLE_DEVICES to one GPU for each rank, or let containers see the processes of "
    "the node (--pid=host)."
)


def has_gpus(results: Results) -> bool:
    """Whether a node has GPUs, or a driver that should show some, or a rank told of one."""
    found = results.gpus
    told = any(torch_devices(rank.metadata) for rank in results.trace.ranks)
    return bool(found.gpus) or found.has_driver or told


def not_sampled(results: Results) -> Quiet | None:
    """The outcome where no GPU of the job was sampled; None where some were."""
    found = results.gpus
    if found.used:
        return None
    if not found.gpus:
        return not_measured(
            f"GPUs were not sampled: {found.reason}. perfscope run samples them through NVIDIA's "
            "driver (--gpu-hz 2, the default); perfscope doctor says what is missing."
        )
    if any((use.busy or 0.0) >= WORKED for use in found.gpus):
        return not_measured(f"GPUs worked, and it is not known which ranks used them. {WHAT_TELLS}")
    return not_applicable(
        f"None of the {len(found.gpus)} sampled GPUs is known to be used by a rank: neither the "
        "driver's process lists nor PyTorch nor CUDA_VISIBLE_DEVICES names one.",
        Confidence.MEDIUM,
    )


def named(use: GpuUse) -> str:
    """How a GPU is called in sentences."""
    number = f"GPU {use.gpu.index}" if use.gpu.index >= 0 else "GPU"
    part = f", instance {use.gpu.uuid[:12]}" if use.gpu.board else ""
    return f"{number} of host {use.gpu.host}{part}"


def ranks_of(uses: tuple[GpuUse, ...] | list[GpuUse]) -> tuple[int, ...]:
    """The ranks that use these GPUs."""
    return tuple(sorted({rank for use in uses for rank in use.ranks}))


def loaded_frameworks(results: Results) -> list[str]:
    """Frameworks for GPUs that a rank had loaded, as people call them."""
    return [text for name, text in FRAMEWORKS.items() if name in results.libraries]
