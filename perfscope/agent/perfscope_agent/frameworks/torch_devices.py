"""Threads and devices that a PyTorch program used, as it knows them; nothing initializes CUDA."""

from __future__ import annotations

import warnings

from .. import metadata
from ..kinds import Any

_MOST_DEVICES = 16


def finish(torch: Any) -> None:
    """At exit: notes the threads in effect, for which CPUs there is code, and the devices."""
    inside, between = torch.get_num_threads(), torch.get_num_interop_threads()
    metadata.framework("torch", threads=inside, interop_threads=between)
    capability = getattr(getattr(torch.backends, "cpu", None), "get_cpu_capability", None)
    if capability is not None:
        metadata.framework("torch", cpu_capability=str(capability()))
    collect(torch)


def collect(torch: Any) -> None:
    """Notes devices, peaks of memory and the precision of multiplying, where CUDA was used."""
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return
    # A warning of PyTorch's must not appear in the program's output.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        metadata.framework("torch", devices=_devices(cuda))
        metadata.framework(
            "torch", float32_matmul_precision=str(torch.get_float32_matmul_precision())
        )


def _devices(cuda: Any) -> list[dict[str, Any]]:
    """Those on which this process ever held memory."""
    found = []
    for number in range(min(cuda.device_count(), _MOST_DEVICES)):
        reserved = cuda.max_memory_reserved(number)
        if not reserved:
            continue
        properties = cuda.get_device_properties(number)
        found.append(
            {
                "number": number,
                "uuid": str(getattr(properties, "uuid", "")),
                "name": str(properties.name),
                "reserved_bytes": int(reserved),
                "allocated_bytes": int(cuda.max_memory_allocated(number)),
                "total_bytes": int(properties.total_memory),
            }
        )
    return found
