"""What the driver said of the GPUs while the job ran: how busy, how full, how fast, how hot."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Ints
from perfscope.attribution.preparation import Prepared
from perfscope.metrics.devices.gpu_users import Source, may_use, unknown, users
from perfscope.schema.common import Series
from perfscope.structures import dataclass
from perfscope.trace.devices import FAULTS, REASONS_UNKNOWN, Gpu, Throttling
from perfscope.trace.model import Table, Trace
from perfscope.units import NS_PER_S

MAX_POINTS = 300


@dataclass(frozen=True)
class GpuUse:
    """One GPU over the focus of analysis; what the driver did not tell is None."""

    gpu: Gpu  # which
    ranks: tuple[int, ...]  # that use it
    known_by: tuple[Source, ...]  # how that is known; empty where no rank is known to
    samples: int  # in the focus
    watched_s: float  # from the first to the last of them
    busy: float | None  # mean share of time in which a kernel ran
    memory_busy: float | None  # mean share of time in which its memory was read or written
    memory_peak_bytes: int | None  # most in use, of all processes together
    peak_phase: str  # what the first of its ranks did then; "" outside any phase or not known
    memory_by_rank: Mapping[int, int]  # most that each rank held, where the driver tells
    sm_mhz: float | None  # mean clock of its processors while it was busy
    power_w: float | None  # mean
    celsius: float | None  # highest
    # share of the busy samples with each reason to clock lower
    throttled: Mapping[Throttling, float]
    # by how much longer it worked for heat or a power brake than at its usual clock
    slowed_s: float
    judged_samples: int  # busy ones in which the driver told these reasons
    may_be_used: bool  # whether a rank of its node may use it
    series: Mapping[str, Series]  # busy, memory_bytes, power_w and sm_mhz over time

    @property
    def how_known(self) -> str:
        """What tells which ranks use it, in words; "" where no rank is known to."""
        return "; ".join(source.value for source in self.known_by)


@dataclass(frozen=True)
class GpusResult:
    """All GPUs that were sampled, and why there are none."""

    gpus: tuple[GpuUse, ...]  # by host and index
    reason: str  # why none was sampled; "" where some were
    # whether any node has a driver that a process asked, so that there may be GPUs
    has_driver: bool
    # of which nothing tells what they use, or only an assumption
    unknown_ranks: tuple[int, ...] = ()

    @property
    def used(self) -> tuple[GpuUse, ...]:
        """Those that a rank uses."""
        return tuple(use for use in self.gpus if use.ranks)


TOO_OLD = "the trace was recorded by a version that did not sample GPUs"
OLD_S = 2.0
"""Processes that were sampled for longer say what they know of GPUs."""
TOO_SHORT = "GPUs are sampled from half a second after the start of a process, by perfscope run"


def gpus(prepared: Prepared) -> GpusResult:
    """What was sampled of each GPU in the focus of analysis."""
    trace = prepared.trace
    told = users(trace)
    usable = may_use(trace)
    found = [
        _use(prepared, number, told[number], may_be_used=number in usable)
        for number in range(len(trace.gpus))
    ]
    known = sorted(
        (use for use in found if use is not None),
        key=lambda use: (use.gpu.host, use.gpu.index, use.gpu.uuid),
    )
    reasons = list(dict.fromkeys(rank.gpu_reason for rank in trace.ranks if rank.gpu_reason))
    reason = "" if known else _reason(trace, reasons)
    has_driver = bool(known) or any(rank.has_gpu_driver for rank in trace.ranks)
    return GpusResult(tuple(known), reason, has_driver, unknown(trace))


def _reason(trace: Trace, reasons: Sequence[str]) -> str:
    if trace.gpus:
        return "no sample lies in the focus of analysis"
    if reasons:
        return "; ".join(reasons[:3])
    sampled = [rank.process_samples["t"] for rank in trace.ranks if len(rank.process_samples)]
    is_old = any((times.max() - times.min()) / NS_PER_S > OLD_S for times in sampled)
    return TOO_OLD if is_old else TOO_SHORT


def _use(
    prepared: Prepared, number: int, ranks: Mapping[int, Source], *, may_be_used: bool
) -> GpuUse | None:
    """One GPU; None where no sample lies in the focus."""
    rows = _rows(prepared, "gpu_samples", number)
    if not len(rows):
        return None
    gpu, busy = prepared.trace.gpus[number], rows["busy"].astype(np.float64)
    working = rows[~(busy <= 0)]
    judged = working[working["throttling"] != REASONS_UNKNOWN]
    memory = rows["memory_bytes"]
    peak = int(np.argmax(memory))
    return GpuUse(
        gpu=gpu,
        ranks=tuple(sorted(ranks)),
        known_by=tuple(dict.fromkeys(ranks.values())),
        samples=len(rows),
        watched_s=float(rows["t"][-1] - rows["t"][0]) / NS_PER_S,
        busy=_mean(busy),
        memory_busy=_mean(rows["memory_busy"]),
        memory_peak_bytes=int(memory[peak]) or None,
        peak_phase=_phase_at(prepared, min(ranks), int(rows["t"][peak])) if ranks else "",
        memory_by_rank=_memory_by_rank(prepared, number, ranks),
        sm_mhz=_mean(working["sm_mhz"]),
        power_w=_mean(rows["power_w"]),
        celsius=_most(rows["celsius"]),
        throttled=_throttled(judged),
        slowed_s=_slowed_s(rows, gpu.sm_mhz),
        judged_samples=len(judged),
        may_be_used=may_be_used,
        series={
            name: _series(rows["t"], rows[name])
            for name in ("busy", "memory_bytes", "power_w", "sm_mhz")
        },
    )


def _rows(prepared: Prepared, table: str, number: int) -> Table:
    """Samples of one GPU in the focus; a moment that two processes sampled counts once."""
    every = [prepared.focus.within(getattr(rank, table)) for rank in prepared.trace.ranks]
    joined = np.concatenate([rows[rows["gpu"] == number] for rows in every])
    found: Table = joined[np.argsort(joined["t"], kind="stable")]
    return found


def _mean(values: npt.NDArray[np.floating]) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean(dtype=np.float64)) if len(known) else None


def _most(values: npt.NDArray[np.floating]) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.max()) if len(known) else None


def _throttled(rows: Table) -> dict[Throttling, float]:
    if not len(rows):
        return {}
    shares = {
        reason: float(np.count_nonzero(rows["throttling"] & int(reason))) / len(rows)
        for reason in Throttling
    }
    return {reason: share for reason, share in shares.items() if share > 0}


def _slowed_s(rows: Table, most_mhz: float | None) -> float:
    """Seconds of work beyond what it had taken at the clock of samples that nothing slows down.

    Where there are none, at the highest clock of the GPU. A sample stands for the time until the
    next one.
    """
    busy = np.nan_to_num(rows["busy"][:-1].astype(np.float64))
    clock, reasons = rows["sm_mhz"][:-1].astype(np.float64), rows["throttling"][:-1]
    known = (busy > 0) & (clock > 0) & (reasons != REASONS_UNKNOWN)
    slowed = known & ((reasons & int(FAULTS)) != 0)
    free = known & ~slowed
    usual = float(np.median(clock[free])) if free.any() else most_mhz or 0.0
    worked_s = busy[slowed] * np.diff(rows["t"])[slowed] / NS_PER_S
    return float((worked_s * np.maximum(0.0, 1.0 - clock[slowed] / max(usual, 1.0))).sum())


def _memory_by_rank(prepared: Prepared, number: int, ranks: Mapping[int, Source]) -> dict[int, int]:
    rows = _rows(prepared, "gpu_processes", number)
    found = {}
    for rank in prepared.trace.ranks:
        own = rows["memory_bytes"][rows["pid"] == rank.pid]
        if rank.number in ranks and len(own) and int(own.max()) > 0:
            found[rank.number] = int(own.max())
    return found


def _phase_at(prepared: Prepared, rank: int, moment_ns: int) -> str:
    place = [part.rank.number for part in prepared.parts].index(rank)
    phase = prepared.timelines[place].phase_at(moment_ns)
    return prepared.catalog.ids[phase] if phase >= 0 else ""


def _series(times: Ints, values: npt.NDArray[np.floating]) -> Series:
    """Means of equally many samples, at most MAX_POINTS of them; unknown values are left out."""
    known = ~np.isnan(values.astype(np.float64))
    times, values = times[known], values[known].astype(np.float64)
    if not len(times):
        return Series((), ())
    step = -(-len(times) // MAX_POINTS)
    starts = np.arange(0, len(times), step)
    counts = np.diff(np.append(starts, len(times)))
    means = np.add.reduceat(values, starts) / counts
    return Series(tuple((times[starts] / NS_PER_S).tolist()), tuple(means.tolist()))
