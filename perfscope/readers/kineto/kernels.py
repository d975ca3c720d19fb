"""What kernels are called."""

import numpy as np

from perfscope.trace.devices import DeviceKind
from perfscope.trace.model import Table

DESCRIPTORS = (" [clone .kd]", ".kd")
"""Behind a kernel's name what AMD's compiler calls its descriptor by: some tools give that name."""


def plain_kernels(names: list[str], device: Table) -> list[str]:
    """The names, of kernels among them without their descriptors: one kernel has one name."""
    is_kernel = np.isin(device["kind"], (DeviceKind.COMPUTE, DeviceKind.COMMUNICATION))
    for place in np.unique(device["name"][is_kernel]).tolist():
        if 0 <= place < len(names):
            names[place] = _plain(names[place])
    return names


def _plain(kernel: str) -> str:
    for suffix in DESCRIPTORS:
        kernel = kernel.removesuffix(suffix)
    return kernel
