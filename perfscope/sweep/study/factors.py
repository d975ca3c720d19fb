"""What the speed of a configuration is made of, and what it costs: medians over its runs.

speed = ranks × parallel efficiency × work speed, exactly: the work speed is the work that a rank
does in a second outside communication. So a ratio of two speeds is the product of three ratios.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from statistics import median

from perfscope.schema.sweep_result import SpeedFactors
from perfscope.studies.common.runs import StudyRun


def factors_of(runs: Sequence[tuple[StudyRun, float | None]]) -> SpeedFactors:
    """The factors of a configuration, each a median over its runs and their speeds."""
    rows = [_of_run(run) for run, _ in runs]
    found = SpeedFactors(
        **{
            one.name: _median_of_known([getattr(row, one.name) for row in rows])
            for one in fields(SpeedFactors)
        }
    )
    speeds = [speed for _, speed in runs if speed]
    divisor = (found.ranks or 0.0) * (found.parallel_efficiency or 0.0)
    # of medians, so that speed is exactly the product: a median of quotients would not be
    return replace(found, work_speed=median(speeds) / divisor if speeds and divisor else None)


def _median_of_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _of_run(run: StudyRun) -> SpeedFactors:
    efficiency = run.metric("parallel_efficiency").value
    if efficiency is None and run.ranks == 1:
        efficiency = 1.0  # by definition: one process divides its work among no others
    return SpeedFactors(
        ranks=float(run.ranks) or None,
        parallel_efficiency=efficiency,
        load_balance=run.metric("load_balance").value,
        communication_efficiency=run.metric("communication_efficiency").value,
        work_speed=None,
        **_of_threads(run),
        **_of_memory(run),
    )


def _of_threads(run: StudyRun) -> dict[str, float | None]:
    rows, nodes = run.result.threads.ranks, run.result.threads.nodes
    per_cpu = [
        node.runnable_mean / node.cpus
        for node in nodes
        if node.cpus and node.runnable_mean is not None
    ]
    cpu_s = [row.cpu_s for row in rows]
    queued_s = [row.queue_delay_s for row in rows]
    life_s = run.focus_s
    return {
        "threads": max((row.threads_max for row in rows), default=None),
        "runnable_per_cpu": max(per_cpu, default=None),
        "cpus_busy": sum(cpu_s) / life_s if cpu_s and life_s else None,
        "cpus": sum(node.cpus for node in nodes) or None,
        "queue_share": sum(queued_s) / (life_s * len(queued_s)) if queued_s and life_s else None,
    }


def _of_memory(run: StudyRun) -> dict[str, float | None]:
    memory = run.result.memory
    peaks = {row.rank: row.peak_bytes for row in memory.ranks}
    shares = []
    for node in memory.nodes:
        known = [peaks[rank] for rank in node.ranks if rank in peaks]
        if node.total_bytes and known and len(known) == len(node.ranks):
            shares.append(sum(known) / node.total_bytes)
    return {
        "peak_bytes": max(peaks.values(), default=None),
        "memory_share": max(shares, default=None),
    }
