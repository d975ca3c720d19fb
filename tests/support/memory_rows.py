"""What the builder of a rank knows of memory: of its processes, of calls, of Python's objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Protocol, Self

    class Names(Protocol):
        """Who numbers the names of a trace."""

        def name(self, text: str) -> int:
            """Index of an interned name."""


def to_ns(seconds: float) -> int:
    """Seconds as integer nanoseconds, rounded."""
    return round(seconds * 1e9)


class MemoryRows:
    """Adds rows to the tables of memory; times in seconds of the trace's clock."""

    if TYPE_CHECKING:

        def _add(self, table: str, row: tuple[Any, ...]) -> None: ...

        @property
        def _names(self) -> Names: ...

    def tree_sample(
        self, at_s: float, *, own_bytes: int, descendants_bytes: int = 0, descendants: int = 0
    ) -> Self:
        """Proportional memory of the process and its descendants at one moment."""
        self._add("tree_samples", (to_ns(at_s), own_bytes, descendants_bytes, descendants))
        return self

    def main_sample(
        self,
        at_s: float,
        *,
        cpu_s: float,
        queue_delay_s: float = 0.0,
        kernel_s: float = 0.0,
        minor_faults: int = 0,
        throttled_s: float = 0.0,
    ) -> Self:
        """What the main thread used and waited for so far."""
        times = [to_ns(one) for one in (at_s, cpu_s, queue_delay_s, kernel_s)]
        self._add("main_samples", (*times, minor_faults, to_ns(throttled_s)))
        return self

    def cpu_sample(self, at_s: float, *, busy_s: float, used_s: float, cpus: int) -> Self:
        """What the CPUs that the rank may use did so far, for whomever and for the rank."""
        self._add("cpu_samples", (to_ns(at_s), to_ns(busy_s), 0, to_ns(used_s), cpus, 1))
        return self

    def heap_sample(
        self,
        at_s: float,
        *,
        allocated_bytes: int = 0,
        held_bytes: int = 0,
        anonymous_bytes: int = 0,
        file_bytes: int = 0,
        shared_bytes: int = 0,
    ) -> Self:
        """What the memory of the process consists of at one moment."""
        kinds = (allocated_bytes, held_bytes, anonymous_bytes, file_bytes, shared_bytes)
        self._add("heap_samples", (to_ns(at_s), *kinds))
        return self

    def call_sample(
        self,
        name: str,
        at_s: float,
        calls: int,
        *,
        kept_bytes: int = 0,
        private_bytes: int = 0,
        set_up_s: float = 0.0,
    ) -> Self:
        """What calls of a framework's function kept so far; each calls one compiled function."""
        label = self._names.name(name)
        row = (to_ns(at_s), label, calls, calls, calls, kept_bytes, private_bytes, to_ns(set_up_s))
        self._add("call_samples", row)
        return self

    def python_sample(self, at_s: float, blocks: int) -> Self:
        """Blocks of Python's allocator at one moment."""
        self._add("python_samples", (to_ns(at_s), blocks))
        return self

    def collection(
        self, start_s: float, end_s: float, *, shorter_s: float = 0.0, tid: int = 0
    ) -> Self:
        """A garbage collection of Python, and what shorter ones took since the one before."""
        row = (to_ns(start_s), to_ns(end_s), tid, 2, to_ns(shorter_s), int(shorter_s > 0))
        self._add("garbage_collections", row)
        return self
