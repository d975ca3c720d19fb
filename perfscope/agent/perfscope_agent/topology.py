"""What the machine offers: sockets, cores, hardware threads, NUMA nodes, instructions."""

from __future__ import annotations

import os

from .kinds import Any
from .network import network

_CPU = "/sys/devices/system/cpu"
_NODE = "/sys/devices/system/node"
_CPUINFO = "/proc/cpuinfo"
_MOST_NODES = 256
_FEATURES = frozenset(
    """
    sse2 sse4_2 avx avx2 fma f16c avx512f avx512bw avx512vl avx512_vnni avx512_bf16 avx512_fp16
    avx_vnni amx_tile amx_int8 amx_bf16 amx_fp16 asimd asimdhp bf16 i8mm sve sve2
    """.split()
)
"""Vector and matrix instructions, by the names of the kernel."""


def _text(path: str) -> str:
    """Contents of a small file, "" when it cannot be read."""
    try:
        with open(path) as stream:
            return stream.read().strip()
    except (OSError, ValueError):
        return ""


def cpu_list(text: str) -> list[int]:
    """The numbers in a kernel list such as 0-3,8."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if first.isdigit() and (not dash or last.isdigit()):
            numbers.extend(range(int(first), int(last if dash else first) + 1))
    return numbers


def topology() -> dict[str, Any]:
    """Counts of the machine and the CPUs this process may use; None where /sys does not say."""
    online = cpu_list(_text(_CPU + "/online"))
    sockets, cores = set(), set()
    for cpu in online:
        socket = _text("%s/cpu%d/topology/physical_package_id" % (_CPU, cpu))
        core = _text("%s/cpu%d/topology/core_id" % (_CPU, cpu))
        if socket and core:
            sockets.add(socket)
            cores.add((socket, core))
    smt = _text(_CPU + "/smt/active")
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    nodes = numa_nodes()
    return {
        "sockets": len(sockets) or None,
        "cores": len(cores) or None,
        "smt": smt == "1" if smt else None,
        "numa_nodes": len(cpu_list(_text(_NODE + "/online"))) or None,
        "numa": nodes if len(nodes) > 1 else {},
        "cpu_features": cpu_features(),
        "cpus": len(online) or os.cpu_count(),
        "cpus_allowed": allowed,
        **network(),
    }


def numa_nodes() -> dict[str, str]:
    """The CPUs of each NUMA node as a kernel list; nodes without CPUs are left out."""
    online = cpu_list(_text(_NODE + "/online"))[:_MOST_NODES]
    lists = {str(node): _text("%s/node%d/cpulist" % (_NODE, node)) for node in online}
    return {node: cpus for node, cpus in lists.items() if cpus}


def cpu_features() -> list[str]:
    """The vector and matrix instructions of the first CPU; empty where the kernel does not say."""
    try:
        with open(_CPUINFO) as stream:
            for line in stream:
                name, _, flags = line.partition(":")
                if name.strip() in ("flags", "Features"):
                    return sorted(_FEATURES.intersection(flags.split()))
    except (OSError, ValueError):
        pass
    return []
