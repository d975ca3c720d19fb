"""Writes Kineto traces by hand: jobs whose devices do what a test knows."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BASE_NS = 1_790_000_000_000_000_000
PID, MAIN, STREAM, TALK = 4000, 4000, 7, 20


def us(ns: int) -> float:
    """Microseconds with three decimals, as Kineto writes times."""
    return float(f"{'-' if ns < 0 else ''}{abs(ns) // 1000}.{abs(ns) % 1000:03d}")


@dataclass
class KinetoWriter:
    """Collects the events of one rank; times in ns from `base_ns`."""

    rank: int = 0
    world_size: int = 1
    host: str = "node0"
    device: int = 0
    capability: tuple[int, int] = (9, 0)
    base_ns: int = BASE_NS
    pid: int = PID
    is_distributed: bool = True
    events: list[dict[str, Any]] = field(default_factory=list)
    _correlation: int = 0

    def event(self, phase: str, category: str, name: str, start: int, **more: Any) -> KinetoWriter:
        """Any event."""
        self.events.append({"ph": phase, "cat": category, "name": name, "ts": us(start), **more})
        return self

    def host_event(
        self, name: str, start: int, end: int, category: str = "user_annotation"
    ) -> None:
        """An annotation or operator on the main thread."""
        self.event("X", category, name, start, dur=us(end - start), pid=self.pid, tid=MAIN)

    def step(self, number: int, start: int, end: int) -> None:
        """A step of the profiler's schedule."""
        self.host_event(f"ProfilerStep#{number}", start, end)

    def kernel(
        self,
        name: str,
        start: int,
        end: int,
        *,
        launch: int | None = None,
        stream: int = STREAM,
        category: str = "kernel",
        arguments: Mapping[str, object] | None = None,
    ) -> None:
        """Work of the device; with its launch on the main thread, where that is told."""
        self._correlation += 1
        told = {"device": self.device, "stream": stream, "correlation": self._correlation}
        if launch is not None:
            self.event(
                "X",
                "cuda_runtime",
                "cudaLaunchKernel",
                launch,
                dur=1.5,
                pid=self.pid,
                tid=MAIN,
                args={"correlation": self._correlation},
            )
        self.event(
            "X",
            category,
            name,
            start,
            dur=us(end - start),
            pid=self.device,
            tid=stream,
            args={**told, **(arguments or {})},
        )

    def allreduce(self, start: int, end: int, *, launch: int | None = None) -> None:
        """A collective of NCCL on a stream of its own."""
        self.kernel(
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            start,
            end,
            launch=launch,
            stream=TALK,
            arguments={
                "Collective name": "allreduce",
                "Process Group Name": "0",
                "Group size": self.world_size,
                "In msg nelems": 1000,
                "Out msg nelems": 1000,
                "dtype": "Float",
            },
        )

    def document(self) -> dict[str, Any]:
        """The file as an object."""
        group = {"pg_name": "0", "pg_desc": "default_pg", "ranks": list(range(self.world_size))}
        properties = {"id": self.device, "name": "A GPU", "totalGlobalMem": 1 << 34}
        properties |= dict(zip(("computeMajor", "computeMinor"), self.capability, strict=True))
        job = {"backend": "nccl", "rank": self.rank, "world_size": self.world_size}
        return {
            "schemaVersion": 1,
            "deviceProperties": [properties],
            **({"distributedInfo": {**job, "pg_config": [group]}} if self.is_distributed else {}),
            "host_name": self.host,
            "baseTimeNanoseconds": self.base_ns,
            "traceEvents": self.events,
        }

    def write(self, path: Path) -> Path:
        """Writes the file, compressed where its name says so."""
        text = json.dumps(self.document()).encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
        return path


def small(rank: int = 0, world_size: int = 1) -> KinetoWriter:
    """A step with launches, a kernel, a copy and a collective, and the rarer sorts of events."""
    writer = KinetoWriter(rank, world_size)
    writer.step(1, 0, 100_000)
    writer.kernel("gemm", 10_001, 50_002, launch=5_000)
    writer.kernel("Memcpy HtoD", 60_000, 70_003, launch=55_000, category="gpu_memcpy")
    writer.allreduce(45_000, 90_000, launch=40_000)
    writer.event("B", "user_annotation", "a \u00e9\t name", 1_000, pid=PID, tid=MAIN)
    writer.event("C", "", "memory", 2_000, pid=PID, args={"used": 5})
    writer.event("s", "ac2g", "ac2g", 3_000, id=9, pid=PID, tid=MAIN)
    writer.events.append({"ph": "M", "name": "thread_name", "pid": 1, "args": {"name": "main"}})
    writer.event("E", "", "", 60_000, pid=PID, tid=MAIN)
    return writer


if __name__ == "__main__":
    small().write(Path(sys.argv[1]))
