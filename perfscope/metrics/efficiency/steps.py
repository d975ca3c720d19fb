"""Steps and throughput: how fast the job trained."""

from dataclasses import field

import numpy as np
import numpy.typing as npt

from perfscope.attribution.patterns import find_periods
from perfscope.attribution.phase_catalog import is_hooked
from perfscope.attribution.preparation import Prepared
from perfscope.metrics.efficiency.step_kinds import step_kinds
from perfscope.metrics.efficiency.throughput import rate_of, samples_of
from perfscope.schema.common import TOLD_STEPS, Metric
from perfscope.schema.run import StepKind
from perfscope.structures import dataclass
from perfscope.trace.model import Table, Trace


@dataclass(frozen=True)
class StepsResult:
    """Step times and throughput over the focus of analysis.

    `source` says what a step is here: `marker`, `framework`, or one period of what repeats where
    neither is there: `collectives` of all ranks, the `communication` of each, or its `samples`.
    Series are per step: numbers (S,), seconds by rank (S, P) flattened by step, thinned to at
    most 2,000 steps. `count` has the first step of what repeats, too, whose beginning nothing shows
    and which therefore has no time.
    """

    source: str | None
    count: int
    samples: int | None  # of all ranks
    samples_per_s: Metric
    step_s_mean: Metric
    step_s_median: Metric
    step_s_p95: Metric
    epoch_s_median: Metric
    time_to_solution_s: Metric
    numbers: tuple[int, ...]
    max_seconds: tuple[float, ...]  # slowest rank of each step
    min_seconds: tuple[float, ...]
    metric_series: dict[
        str, tuple[tuple[float, float], ...]
    ]  # loss, accuracy, ...: (seconds, value)
    starts_ns: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """When the steps of the first rank began, all of them and in order."""
    start_numbers: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """Their numbers."""
    spent_s: float | None = None  # all steps together, mean of the ranks; None without any
    kinds: tuple[StepKind, ...] = ()  # where they are of two kinds, of which one takes longer


MAX_SERIES = 2000
NO_STEPS = (
    "no steps were detected: no known framework, no step markers, and no repeating pattern in the "
    "communication or the stack samples"
)


@dataclass(frozen=True)
class _Step:
    """Steps of all ranks: seconds by (step, rank), NaN where a rank does not have the step."""

    source: str
    count: int
    numbers: npt.NDArray[np.int64]
    seconds: npt.NDArray[np.float64]
    starts_ns: npt.NDArray[np.int64]  # on the first rank, with their numbers
    start_numbers: npt.NDArray[np.int64]


def steps(prepared: Prepared) -> StepsResult:
    """Step times and throughput of a run."""
    found = _told_steps(prepared) or _pattern_steps(prepared)
    trace = prepared.trace
    wall = Metric((trace.whole or trace).wall_ns / 1e9, "s", foa="run")
    series = _metric_series(trace)
    if found is None or not len(found.numbers):
        missing = Metric(None, "s", NO_STEPS)
        rate = Metric(None, "samples/s", NO_STEPS)
        epoch = _epoch_s(prepared)
        none = (rate, missing, missing, missing)
        return StepsResult(None, 0, None, *none, epoch, wall, (), (), (), series)
    slowest = np.nanmax(found.seconds, axis=1)
    fastest = np.nanmin(found.seconds, axis=1)
    thin = slice(None, None, max(1, -(-len(found.numbers) // MAX_SERIES)))
    foa, taken = prepared.focus.kind, slowest
    if found.source not in TOLD_STEPS:
        # they follow each other without a gap, and are at other times on each rank
        taken = found.seconds.mean(axis=1)
    tables = [np.sort(prepared.focus.ending(rank.steps), order="t0") for rank in trace.ranks]
    done = np.count_nonzero(~np.isnan(found.seconds), axis=0).tolist()
    samples = samples_of(trace.ranks, tables, done)
    rate, mean = rate_of(prepared, tables, samples)
    return StepsResult(
        source=found.source,
        count=found.count,
        samples=None if samples is None else samples.total,
        samples_per_s=rate,
        step_s_mean=mean,
        step_s_median=Metric(float(np.median(taken)), "s", foa=foa),
        step_s_p95=Metric(float(np.percentile(taken, 95)), "s", foa=foa),
        epoch_s_median=_epoch_s(prepared),
        time_to_solution_s=wall,
        numbers=tuple(found.numbers[thin].tolist()),
        max_seconds=tuple(slowest[thin].tolist()),
        min_seconds=tuple(fastest[thin].tolist()),
        metric_series=series,
        starts_ns=found.starts_ns,
        start_numbers=found.start_numbers,
        spent_s=float(np.nansum(found.seconds, axis=0).mean()),
        kinds=step_kinds(taken),
    )


def _told_steps(prepared: Prepared) -> _Step | None:
    tables = [prepared.focus.ending(rank.steps) for rank in prepared.trace.ranks]
    if not any(len(table) for table in tables):
        return None
    hooked = any(is_hooked(rank.metadata) for rank in prepared.trace.ranks)
    numbers = [step_numbers(table) for table in tables]
    every = np.unique(np.concatenate(numbers))
    seconds = np.full((len(every), len(tables)), np.nan)
    for column, (table, number) in enumerate(zip(tables, numbers, strict=True)):
        spent = (table["t1"] - table["t0"]) / 1e9
        seconds[np.searchsorted(every, number), column] = spent
    order = np.argsort(tables[0]["t0"], kind="stable")
    starts = tables[0]["t0"][order].astype(np.int64)
    source = "framework" if hooked else "marker"
    return _Step(source, len(every), every, seconds, starts, numbers[0][order])


def step_numbers(table: Table) -> npt.NDArray[np.int64]:
    """The steps' numbers, or their ordinals where the numbers repeat or are missing."""
    numbers: npt.NDArray[np.int64] = table["number"].astype(np.int64)
    if np.any(numbers < 0) or len(np.unique(numbers)) != len(numbers):
        return np.arange(len(numbers), dtype=np.int64)
    return numbers


def _epoch_s(prepared: Prepared) -> Metric:
    """Median time of an epoch: from its first step or phase on any rank to its last end."""
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    for rank in prepared.trace.ranks:
        table = rank.steps if np.any(rank.steps["epoch"] >= 0) else rank.phases
        table = table[(table["epoch"] >= 0) & (table["t1"] <= prepared.focus.end_ns)]
        for epoch in np.unique(table["epoch"]).tolist():
            rows = table[table["epoch"] == epoch]
            starts[epoch] = min(starts.get(epoch, 1 << 62), int(rows["t0"].min()))
            ends[epoch] = max(ends.get(epoch, 0), int(rows["t1"].max()))
    if not starts:
        return Metric(None, "s", "no epochs were told by a framework or a marker")
    spans = [(ends[epoch] - starts[epoch]) / 1e9 for epoch in starts]
    return Metric(float(np.median(spans)), "s", foa=prepared.focus.kind)


def _pattern_steps(prepared: Prepared) -> _Step | None:
    """One period of what repeats in calls or samples counts as a step."""
    periods = find_periods(prepared.trace, prepared.waits, prepared.focus)
    if periods is None:
        return None
    seconds = np.diff(periods.ends, axis=0) / 1e9
    numbers = np.arange(len(seconds), dtype=np.int64)
    starts = periods.ends[:-1, 0]
    return _Step(periods.source, periods.turns, numbers, seconds, starts, numbers)


def _metric_series(trace: Trace) -> dict[str, tuple[tuple[float, float], ...]]:
    """What the framework reported, of the first rank that has it, thinned."""
    series: dict[str, tuple[tuple[float, float], ...]] = {}
    for rank in trace.ranks:
        finite = rank.metrics[np.isfinite(rank.metrics["value"])]
        for name in np.unique(finite["name"]).tolist():
            rows = finite[finite["name"] == name]
            rows = rows[:: max(1, -(-len(rows) // MAX_SERIES))]
            points = zip((rows["t"] / 1e9).tolist(), rows["value"].tolist(), strict=True)
            series.setdefault(trace.names[name], tuple(points))
    return series
