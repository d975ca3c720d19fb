"""Slices that rocprofv3 writes into Perfetto's format (`--output-format pftrace`), as Kineto's.

Source: rocprofiler-sdk, generatePerfetto.cpp: categories are those of its records, and facts beside
each slice name agents, queues and the correlation id.
"""

from typing import NamedTuple

from perfscope.readers.rocprof import records

RUNTIME = ("hip_api", "hsa_api", "rccl_api")
MARKERS = "marker_api"
KERNELS, COPIES = "kernel_dispatch", "memory_copy"
CALL = {"correlation": "corr_id"}


class Meaning(NamedTuple):
    """What slices of a category and name are in a profile of Kineto's."""

    category: str  # theirs there
    fixed: dict[str, int]  # arguments that all of them have
    renamed: dict[str, str]  # arguments by the names of the facts that tell them as whole numbers


def meaning_of(category: str, name: str) -> Meaning:
    """What slices are; as they are where the category is unknown.

    The name of a copy is its direction.
    """
    if category in RUNTIME:
        return Meaning("cuda_runtime", {}, CALL)
    if category == MARKERS:
        return Meaning("user_annotation", {}, {})
    if category == KERNELS:
        return Meaning("kernel", {"stream": 0}, {**CALL, "device": "agent", "stream": "queue"})
    if category == COPIES:
        side = "src_agent" if records.is_to_host(name) else "dst_agent"
        told = {**CALL, "device": side, "bytes": "copy_bytes"}
        return Meaning("gpu_memcpy", {"stream": 0}, told)
    return Meaning(category, {}, {})
