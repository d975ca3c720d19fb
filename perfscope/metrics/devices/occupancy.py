"""How long each kind of work of a device ran in a window, alone and beside others."""

from collections.abc import Sequence

import numpy as np

from perfscope.engine import engine
from perfscope.structures import dataclass
from perfscope.trace.devices import DeviceKind
from perfscope.trace.model import Table

COMPUTE, COMMUNICATION = 1 << DeviceKind.COMPUTE, 1 << DeviceKind.COMMUNICATION
MEMCPY, MEMSET = 1 << DeviceKind.MEMCPY, 1 << DeviceKind.MEMSET
MEMORY = MEMCPY | MEMSET


@dataclass(frozen=True)
class Occupancy:
    """How long each combination of kinds was at work in a window, in ns.

    `states[s]` is the time in which exactly the kinds of the set bits of s (bit k: DeviceKind k)
    ran; it adds up to the window. All sums are exact.
    """

    states: tuple[int, ...]
    rows: tuple[int, ...]  # that begin in the window, by DeviceKind

    def any_of(self, kinds: int) -> int:
        """Time in which something of these kinds (bits) ran: the union of its intervals."""
        return sum(ns for state, ns in enumerate(self.states) if state & kinds)

    def without(self, kinds: int, others: int) -> int:
        """Time in which something of these kinds ran and nothing of the others: what is exposed."""
        return sum(
            ns for state, ns in enumerate(self.states) if state & kinds and not state & others
        )

    @property
    def window_ns(self) -> int:
        """Length of the window."""
        return sum(self.states)

    @property
    def idle_ns(self) -> int:
        """Time in which nothing ran."""
        return self.states[0]

    @property
    def busy_ns(self) -> int:
        """Time in which anything ran."""
        return self.window_ns - self.idle_ns

    @property
    def compute_ns(self) -> int:
        """Union of the kernels that compute."""
        return self.any_of(COMPUTE)

    @property
    def communication_ns(self) -> int:
        """Union of the kernels that communicate."""
        return self.any_of(COMMUNICATION)

    @property
    def memcpy_ns(self) -> int:
        """Union of the copies."""
        return self.any_of(MEMCPY)

    @property
    def memset_ns(self) -> int:
        """Union of the fills."""
        return self.any_of(MEMSET)

    @property
    def exposed_communication_ns(self) -> int:
        """Communication while nothing computes."""
        return self.without(COMMUNICATION, COMPUTE)

    @property
    def exposed_memory_ns(self) -> int:
        """Copies and fills while no kernel runs."""
        return self.without(MEMORY, COMPUTE | COMMUNICATION)

    @property
    def overlap(self) -> float | None:
        """Share of the communication that computation hides; None without communication."""
        whole = self.communication_ns
        return (whole - self.exposed_communication_ns) / whole if whole else None


def occupancy(rows: Table, windows: Sequence[tuple[int, int]]) -> dict[int, list[Occupancy]]:
    """Of each device that worked, what it did in each window."""
    found = engine.device_use(rows.view(np.uint8), windows)
    return {
        device: [
            Occupancy(tuple(ns), tuple(number)) for ns, number in zip(states, counts, strict=True)
        ]
        for device, states, counts in found
    }
