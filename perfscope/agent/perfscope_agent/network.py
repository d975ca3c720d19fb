"""What connects this machine to others, from /sys: fabrics and the speed of the links."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

_CLASS = "/sys/class"
_FABRICS = ("infiniband", "cxi")
"""InfiniBand, Omni-Path, RoCE and EFA devices; Slingshot."""

_MOST = 16


def _entries(path: str) -> list[str]:
    try:
        return sorted(os.listdir(path))[:_MOST]
    except OSError:
        return []


def _line(path: str) -> str:
    """First line of a small file, "" when it cannot be read: that of a link that is down."""
    try:
        with open(path) as stream:
            return stream.readline(100).strip()
    except (OSError, ValueError):
        return ""


def fabrics() -> list[str]:
    """Devices of a fast fabric with rate and link layer: `mlx5_0 100 Gb/sec (4X EDR) InfiniBand`.

    Those of the layer Ethernet are cards that can do RDMA where the network is set up for it.
    """
    found = []
    for kind in _FABRICS:
        for device in _entries("%s/%s" % (_CLASS, kind)):
            ports = "%s/%s/%s/ports" % (_CLASS, kind, device)
            words = [device]
            for port in _entries(ports)[:1]:
                words += [
                    _line("%s/%s/%s" % (ports, port, name)) for name in ("rate", "link_layer")
                ]
            found.append(" ".join(word for word in words if word))
    return found


def link_mbit_s() -> Optional[int]:
    """Speed of the fastest network interface in Mbit/s, None where none tells it."""
    speeds = [_line("%s/net/%s/speed" % (_CLASS, name)) for name in _entries(_CLASS + "/net")]
    return max([int(speed) for speed in speeds if speed.isdecimal()], default=None)


def network() -> dict[str, Any]:
    """Both, as part of what is noted about the machine."""
    return {"fabrics": fabrics(), "link_mbit_s": link_mbit_s()}
