"""A measured sweep: the speed of each configuration, its spread, and its factors.

speed = ranks × parallel efficiency × work speed, exactly: the work speed is the work that a rank
does in a second outside communication. So a ratio of two speeds is the product of three ratios.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from statistics import median

from perfscope.schema.sweep_result import SpeedFactors
from perfscope.structures import dataclass
from perfscope.studies.common.runs import StudyRun
from perfscope.sweep.study.noise import Contenders, contenders
from perfscope.sweep.study.objective import Objective, caution, choose, no_best, speed
from perfscope.sweep.study.run import SweepRun
from perfscope.sweep.study.stored import Axis, Configuration, StoredPlan


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


MEASURED, FAILED, REFUSED, MISSING = "measured", "failed", "refused", "missing"


@dataclass(frozen=True)
class Result:
    """One configuration."""

    configuration: Configuration  # what it is
    runs: tuple[SweepRun, ...]  # its finished runs
    speeds: tuple[float, ...]  # of those that were measured, by repeat
    status: str  # `measured`, `failed`, `refused` (not run), `missing` (not run yet)
    reason: str  # why it is not measured, or what became of some of its runs; "" when all is well
    # what its speed is made of, medians over its runs; None when not measured
    factors: SpeedFactors | None
    quality: float | None  # median of the final values, None when there is none

    @property
    def number(self) -> int:
        """Of the configuration."""
        return self.configuration.number

    @property
    def speed(self) -> float | None:
        """The median over its runs; None when none was measured."""
        return median(self.speeds) if self.speeds else None


@dataclass(frozen=True)
class Sweep:
    """A sweep as its diagnoses see it."""

    plan: StoredPlan  # what was asked for
    runs: tuple[SweepRun, ...]  # every finished run
    objective: Objective  # what is compared
    objective_reason: str  # why it is not samples a second; "" when it is
    caution: str  # what may make the speeds incomparable; "" when nothing does
    no_best: str  # why none of them is named the best although they were measured; "" when one is
    results: tuple[Result, ...]  # one a configuration, in the order of the grid
    noise: Contenders  # which configurations may be the best

    @property
    def measured(self) -> list[Result]:
        """The configurations that were measured, fastest first."""
        found = [result for result in self.results if result.speed is not None]
        return sorted(found, key=lambda result: (-(result.speed or 0.0), result.number))

    @property
    def best(self) -> Result | None:
        """The fastest configuration; None when none was measured or none may be named."""
        return None if self.no_best else next(iter(self.measured), None)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """What was varied."""
        return self.plan.axes

    def result(self, number: int) -> Result:
        """The configuration of a number."""
        return next(result for result in self.results if result.number == number)


def measure(plan: StoredPlan, runs: Sequence[SweepRun]) -> Sweep:
    """What the runs of a plan measured."""
    usable = [run for run in runs if run.is_measured]
    objective, reason = choose(plan, usable)
    results = tuple(
        _result(
            configuration,
            [run for run in runs if run.stored.configuration == configuration.number],
            objective,
            plan,
        )
        for configuration in plan.configurations
    )
    unnamed = no_best(plan, usable, objective)
    noise = noise_of(results, unnamed)
    careful = caution(plan, usable, objective)
    return Sweep(plan, tuple(runs), objective, reason, careful, unnamed, results, noise)


def noise_of(results: Sequence[Result], unnamed: str) -> Contenders:
    """Which configurations may be the best; none where none may be named."""
    noise = contenders({result.number: result.speeds for result in results if result.speeds})
    return replace(noise, numbers=(), repeats_needed=None, reason=unnamed) if unnamed else noise


def _result(
    configuration: Configuration, runs: Sequence[SweepRun], objective: Objective, plan: StoredPlan
) -> Result:
    good = [run for run in runs if run.is_measured]
    speeds = [value for run in good if (value := speed(run, objective)) is not None]
    qualities = [run.quality.value for run in runs if run.is_measured and run.quality is not None]
    failures = [run.failure for run in runs if run.failure]
    known = [(run.run, speed(run, objective)) for run in good if run.run is not None]
    if speeds:
        status = MEASURED
        reason = f"{len(failures)} of {len(runs)} runs failed: {failures[0]}" if failures else ""
    elif failures:
        status, reason = FAILED, failures[0]
    elif configuration.refused:
        status, reason = REFUSED, configuration.refused
    else:
        status, reason = MISSING, _why_missing(plan)
    return Result(
        configuration,
        tuple(runs),
        tuple(speeds),
        status,
        reason,
        factors_of(known) if known and speeds else None,
        median(qualities) if qualities else None,
    )


def _why_missing(plan: StoredPlan) -> str:
    if plan.search is not None:
        return "the search did not try it"
    return "its job has not finished" if plan.batch else "it has not been run yet"
