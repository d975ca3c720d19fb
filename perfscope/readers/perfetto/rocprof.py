"""Slices that rocprofv3 writes into Perfetto's format (`--output-format pftrace`), as Kineto's.

Source: rocprofiler-sdk, generatePerfetto.cpp: categories are those of its records, and facts beside
each slice name agents, queues and the correlation id.
"""

from collections.abc import Mapping
from typing import Any

from perfscope.readers.rocprof import records

RUNTIME = ("hip_api", "hsa_api", "rccl_api")
MARKERS = "marker_api"
KERNELS, COPIES = "kernel_dispatch", "memory_copy"


def as_kineto(category: str, name: str, facts: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The category and the arguments that Kineto would give a slice; as they are where unknown.

    Args:
        category: of the slice.
        name: of it, which for a copy is its direction.
        facts: its annotations.
    """
    told = dict(facts)
    if category in RUNTIME:
        return "cuda_runtime", told | _numbers(facts, correlation="corr_id")
    if category == MARKERS:
        return "user_annotation", told
    if category == KERNELS:
        named = _numbers(facts, correlation="corr_id", device="agent", stream="queue")
        return "kernel", told | {"stream": 0} | named
    if category == COPIES:
        side = "src_agent" if records.is_to_host(name) else "dst_agent"
        named = _numbers(facts, correlation="corr_id", device=side, bytes="copy_bytes")
        return "gpu_memcpy", told | {"stream": 0} | named
    return category, told


def _numbers(facts: Mapping[str, Any], **names: str) -> dict[str, int]:
    """What is a whole number of the facts, under other names."""
    return {key: facts[name] for key, name in names.items() if type(facts.get(name)) is int}
