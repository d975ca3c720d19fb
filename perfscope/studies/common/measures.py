"""What runs are compared by: one number per run, and which direction is better."""

from collections.abc import Callable, Sequence

from perfscope.schema.common import Metric
from perfscope.structures import dataclass
from perfscope.studies.common.run import StudyRun


@dataclass(frozen=True)
class Measure:
    """One number of a run."""

    id: str  # as `--unit` takes it
    label: str  # as it stands in a sentence
    unit: str  # of the value
    is_lower_better: bool  # whether less of it is better
    read: Callable[[StudyRun], Metric]  # the number of a run

    def values(self, runs: Sequence[StudyRun]) -> list[float | None]:
        """The number of each run, None where it has none."""
        return [self.read(run).value for run in runs]

    def reason(self, runs: Sequence[StudyRun]) -> str:
        """Why the first run without a number has none; "" when all have one."""
        return next((r for run in runs if (r := self.read(run).reason)), "")


def _wall(run: StudyRun) -> Metric:
    wall_s = run.result.run.wall_s
    return Metric(wall_s, "s") if wall_s > 0 else Metric(None, "s", "the run has no length")


def _focus(run: StudyRun) -> Metric:
    if run.focus_s > 0:
        return Metric(run.focus_s, "s")
    return Metric(None, "s", "the analyzed window is empty")


def _peak(run: StudyRun) -> Metric:
    peaks = run.peak_bytes_by_rank
    if peaks and max(peaks) > 0:
        return Metric(float(max(peaks)), "B")
    return Metric(None, "B", "the memory of the ranks was not recorded")


def _p95(run: StudyRun) -> Metric:
    value = run.throughput.step_s_p95.value
    return Metric(value, "s", None if value is not None else run.throughput.step_s_median.reason)


THROUGHPUT = Measure(
    "throughput", "throughput", "samples/s", False, lambda run: run.throughput.samples_per_s
)
STEP = Measure("step", "median step time", "s", True, lambda run: run.throughput.step_s_median)
STEP_P95 = Measure("step_p95", "95th percentile of the step time", "s", True, _p95)
EPOCH = Measure("epoch", "median epoch time", "s", True, lambda run: run.throughput.epoch_s_median)
FOCUS = Measure("focus", "length of the analyzed window", "s", True, _focus)
WALL = Measure("wall", "wall time", "s", True, _wall)
PEAK = Measure("peak_memory", "peak memory of a rank", "B", True, _peak)
JUDGED = (THROUGHPUT, STEP, EPOCH, FOCUS, WALL)
SHOWN = (THROUGHPUT, STEP, STEP_P95, EPOCH, FOCUS, WALL, PEAK)


def solution(target: str, *, series: str, at_most: bool, value: float) -> Measure:
    """The time until what the program reported reaches a target: `loss<=0.15`."""

    def read(run: StudyRun) -> Metric:
        told = run.result.steps.series.get(series)
        if told is None:
            return Metric(None, "s", f"the run did not report {series}")
        for seconds, reported in told:
            if reported <= value if at_most else reported >= value:
                return Metric(seconds, "s") if seconds > 0 else Metric(None, "s", "at once")
        return Metric(None, "s", f"the run did not reach {target}")

    return Measure("solution", f"time to {target}", "s", True, read)


def choose(runs: Sequence[StudyRun]) -> tuple[Measure, str]:
    """The measure that answers best whether training became faster, and why it was taken."""
    if all(run.throughput.samples_per_s.value is not None for run in runs):
        return THROUGHPUT, "every run reports its samples, and it includes evaluation and waiting"
    steps = {run.throughput.steps for run in runs}
    if len(steps) == 1 and min(steps) > 0:
        return WALL, f"every run did {min(steps):,} steps, and it includes all that a run does"
    if all(run.throughput.step_s_median.value is not None for run in runs):
        return STEP, "the runs did different numbers of steps, so whole runs are not comparable"
    return WALL, "not every run has steps"
