"""What the machine offers, from /sys: sockets, cores, hardware threads, NUMA nodes."""

from __future__ import annotations

import os

from .network import network

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CPU = "/sys/devices/system/cpu"
_NODE = "/sys/devices/system/node"


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
    return {
        "sockets": len(sockets) or None,
        "cores": len(cores) or None,
        "smt": smt == "1" if smt else None,
        "numa_nodes": len(cpu_list(_text(_NODE + "/online"))) or None,
        "cpus": len(online) or os.cpu_count(),
        "cpus_allowed": allowed,
        **network(),
    }
