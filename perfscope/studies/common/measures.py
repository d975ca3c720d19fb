"""What runs are compared in: one number a run, and which way is better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perfscope.studies.common import fields
from perfscope.studies.common.run import Figure, StudyRun


@dataclass(frozen=True)
class Measure:
    """One number of a run.

    Attributes:
        id: as `--unit` takes it.
        label: as it stands in a sentence.
        unit: of the value.
        is_lower_better: whether less of it is better.
        read: the number of a run.
    """

    id: str
    label: str
    unit: str
    is_lower_better: bool
    read: Callable[[StudyRun], Figure]

    def values(self, runs: Sequence[StudyRun]) -> list[float | None]:
        """The number of each run, None where it has none."""
        return [self.read(run).value for run in runs]

    def reason(self, runs: Sequence[StudyRun]) -> str:
        """Why the first run without a number has none; "" when all have one."""
        return next((r for run in runs if (r := self.read(run).reason)), "")


def _wall(run: StudyRun) -> Figure:
    known = run.wall_s is not None and run.wall_s > 0
    return Figure(run.wall_s, "s") if known else Figure(None, "s", "the run has no length")


def _focus(run: StudyRun) -> Figure:
    if run.focus_s > 0:
        return Figure(run.focus_s, "s")
    return Figure(None, "s", "the focus of analysis is empty")


def _peak(run: StudyRun) -> Figure:
    peaks = run.peak_bytes_by_rank
    if peaks and max(peaks) > 0:
        return Figure(max(peaks), "B")
    return Figure(None, "B", "the memory of the ranks was not recorded")


def _p95(run: StudyRun) -> Figure:
    value = fields.number(run.document, "run", "throughput", "step_s_p95", "value")
    return Figure(value, "s", "" if value is not None else run.step_s.reason or "no steps")


THROUGHPUT = Measure("throughput", "throughput", "samples/s", False, lambda run: run.samples_per_s)
STEP = Measure("step", "median step time", "s", True, lambda run: run.step_s)
STEP_P95 = Measure("step_p95", "step time that 95 % stay below", "s", True, _p95)
EPOCH = Measure("epoch", "median epoch time", "s", True, lambda run: run.epoch_s)
FOCUS = Measure("focus", "length of the focus of analysis", "s", True, _focus)
WALL = Measure("wall", "wall time", "s", True, _wall)
PEAK = Measure("peak_memory", "peak memory of a rank", "B", True, _peak)
JUDGED = (THROUGHPUT, STEP, EPOCH, FOCUS, WALL)
SHOWN = (THROUGHPUT, STEP, STEP_P95, EPOCH, FOCUS, WALL, PEAK)


def solution(target: str, *, series: str, at_most: bool, value: float) -> Measure:
    """The time until what the program reported reaches a target: `loss<=0.15`."""

    def read(run: StudyRun) -> Figure:
        told = fields.follow(run.document, "steps", "series", series)
        if not isinstance(told, list):
            return Figure(None, "s", f"the run did not report {series}")
        for point in told:
            known = fields.numbers({"point": point}, "point")
            if len(known) == 2 and (known[1] <= value if at_most else known[1] >= value):
                return Figure(known[0], "s") if known[0] > 0 else Figure(None, "s", "at once")
        return Figure(None, "s", f"the run did not reach {target}")

    return Measure("solution", f"time to {target}", "s", True, read)


def choose(runs: Sequence[StudyRun]) -> tuple[Measure, str]:
    """The measure that answers best whether training became faster, and why it was taken."""
    if all(run.samples_per_s.value is not None for run in runs):
        return THROUGHPUT, "every run told its samples, and evaluation and waiting count in it"
    steps = {run.steps for run in runs}
    if len(steps) == 1 and min(steps) > 0:
        return WALL, f"every run did {min(steps):,} steps, and all that a run does counts in it"
    if all(run.step_s.value is not None for run in runs):
        return STEP, "the runs did different numbers of steps, so that whole runs are not alike"
    return WALL, "not every run has steps"
