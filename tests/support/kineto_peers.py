"""How other tools reduce a Kineto trace, so that a difference to their numbers can be explained.

HolisticTraceAnalysis (MIT, 0.5.0) rounds starts up and ends down to microseconds
(trace_parser.round_down_time_stamps), leaves out what was launched from the last ProfilerStep on
(trace._filter_irrelevant_gpu_kernels), and takes only names that begin with `nccl` for
communication. TraceLens leaves out device events whose launch is not in the file.
"""

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfscope.readers.kineto.file import KinetoContents
from perfscope.readers.kineto.host import host_tables
from perfscope.trace.devices import LAUNCH_UNKNOWN
from perfscope.trace.model import Table

Times = npt.NDArray[np.int64]
_NO_KERNEL = re.compile(r"^nccl|.*Memcpy|.*Memset|.*dma|^.*Sync|cuda.*LaunchKernel|^runFunction")


def union(starts: npt.NDArray[np.generic], ends: npt.NDArray[np.generic]) -> list[list[float]]:
    """Disjoint intervals that cover the same time; plain Python, to be an oracle."""
    covered: list[list[float]] = []
    for start, end in sorted(zip(starts.tolist(), ends.tolist(), strict=True)):
        if covered and start <= covered[-1][1]:
            covered[-1][1] = max(covered[-1][1], end)
        else:
            covered.append([start, end])
    return covered


def length(covered: list[list[float]]) -> float:
    """Their length in all."""
    return sum(end - start for start, end in covered)


def common(one: list[list[float]], other: list[list[float]]) -> float:
    """The length of what both cover."""
    total, i, j = 0.0, 0, 0
    while i < len(one) and j < len(other):
        total += max(0.0, min(one[i][1], other[j][1]) - max(one[i][0], other[j][0]))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return total


@dataclass(frozen=True)
class Hta:
    """Device rows as HolisticTraceAnalysis sees them, in microseconds."""

    starts: Times
    ends: Times
    launches: npt.NDArray[np.float64]
    streams: Times
    is_compute: npt.NDArray[np.bool_]
    is_communication: npt.NDArray[np.bool_]

    def temporal(self) -> dict[str, float]:
        """Its temporal breakdown."""
        busy = union(self.starts, self.ends)
        compute = length(union(self.starts[self.is_compute], self.ends[self.is_compute]))
        total = busy[-1][1] - busy[0][0]
        idle = total - length(busy)
        return {
            "idle": idle,
            "compute": compute,
            "non_compute": total - compute - idle,
            "total": total,
        }

    def overlap_pct(self) -> float:
        """Its overlap of communication with computation, in percent."""
        chosen = self.is_communication
        talking = union(self.starts[chosen], self.ends[chosen])
        compute = union(self.starts[self.is_compute], self.ends[self.is_compute])
        return round(100 * common(talking, compute) / length(talking), 2)

    def idle_of_stream(self, stream: int, *, threshold_us: float = 30.0) -> dict[str, float]:
        """Its idle breakdown of one stream, by the gap to the row before."""
        chosen = np.flatnonzero(self.streams == stream)
        chosen = chosen[np.argsort(self.starts[chosen], kind="stable")]
        before = self.ends[chosen[:-1]]
        gap = self.starts[chosen[1:]] - before
        late = self.launches[chosen[1:]] > before
        short = ~late & (gap < threshold_us)
        return {
            "host_wait": float(gap[late].sum()),
            "kernel_wait": float(gap[short].sum()),
            "other": float(gap[~late & ~short].sum()),
        }


def as_hta(contents: KinetoContents, base_ns: int, *, no_stream: int = -1) -> Hta:
    """The rows of a file that HolisticTraceAnalysis keeps, rounded as it does.

    Args:
        contents: the file.
        base_ns: its baseTimeNanoseconds.
        no_stream: the thread of rows without an argument `stream`, which it takes for host events.
    """
    rows = contents.device[contents.device["stream"] != no_stream]
    steps = host_tables(contents).steps
    if len(steps) > 1:
        last = steps["t0"].max()
        known = rows["launch"] != LAUNCH_UNKNOWN
        rows = rows[known & (rows["launch"] < last)]
    names = contents.names
    starts, ends = in_floating_point(rows, base_ns)
    compute = np.array([_NO_KERNEL.match(name) is None for name in names])
    talks = np.array([name.startswith("nccl") for name in names])
    known = rows["launch"] != LAUNCH_UNKNOWN
    launches = np.full(len(rows), np.nan)
    launches[known] = np.ceil(_doubles(rows["launch"][known] - base_ns))
    return Hta(
        starts=np.ceil(starts).astype(np.int64),
        ends=np.floor(ends).astype(np.int64),
        launches=launches,
        streams=rows["stream"].astype(np.int64),
        is_compute=compute[rows["name"]],
        is_communication=talks[rows["name"]],
    )


def in_floating_point(rows: Table, base_ns: int) -> tuple[npt.NDArray[np.float64], ...]:
    """Starts and ends in microseconds as a reader has them that parses numbers into doubles."""
    starts = _doubles(rows["t0"] - base_ns)
    return starts, starts + _doubles(rows["t1"] - rows["t0"])


def _doubles(ns: Times) -> npt.NDArray[np.float64]:
    """The double next to each number of microseconds, as a JSON parser gives it."""
    texts = (f"{value // 1000}.{value % 1000:03d}" for value in ns.tolist())
    return np.array([float(text) for text in texts], np.float64)
