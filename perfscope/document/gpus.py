"""GPUs as the driver saw them, as an object of analysis.json."""

from perfscope.metrics.devices.gpus import GpuUse
from perfscope.metrics.results import Results
from perfscope.schema.common import Series
from perfscope.schema.devices import Gpu, GpuMemoryOfRank, GpuSeries, SampledGpus


def sampled(results: Results) -> SampledGpus:
    """What was sampled of every GPU; `value`: mean share of time in which those in use worked."""
    found = results.gpus
    shares = [use.busy for use in found.used if use.busy is not None]
    reason = found.reason
    if not reason and not shares:
        reason = "no rank is known to use a GPU" if not found.used else "the driver does not tell"
    return SampledGpus(
        value=sum(shares) / len(shares) if shares else None,
        reason=reason or None,
        gpus=tuple(_gpu(use) for use in found.gpus),
    )


def capability(pair: tuple[int, int] | None) -> str | None:
    """A CUDA capability as people write it."""
    return None if pair is None else f"{pair[0]}.{pair[1]}"


def _gpu(use: GpuUse) -> Gpu:
    gpu = use.gpu
    return Gpu(
        host=gpu.host,
        uuid=gpu.uuid,
        index=gpu.index,
        name=gpu.name,
        board=gpu.board,
        driver=gpu.driver,
        capability=capability(gpu.capability),
        is_lost=gpu.is_lost,
        ranks=tuple(use.ranks),
        known_by=use.how_known,
        samples=use.samples,
        watched_s=use.watched_s,
        busy=use.busy,
        memory_busy=use.memory_busy,
        memory_total_bytes=gpu.memory_bytes or None,
        memory_peak_bytes=use.memory_peak_bytes,
        memory_peak_phase=use.peak_phase,
        memory_peak_bytes_by_rank=tuple(
            GpuMemoryOfRank(rank, size) for rank, size in sorted(use.memory_by_rank.items())
        ),
        sm_mhz=use.sm_mhz,
        sm_mhz_most=gpu.sm_mhz,
        power_w=use.power_w,
        power_limit_w=gpu.power_w,
        celsius_most=use.celsius,
        throttled={
            (reason.name or "other").lower(): share for reason, share in use.throttled.items()
        },
        series=GpuSeries(
            **{
                name: Series(tuple(series.seconds), tuple(series.values))
                for name, series in use.series.items()
            }
        ),
    )
