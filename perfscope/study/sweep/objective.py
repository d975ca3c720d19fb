"""What configurations are compared by: samples, else steps, else whole runs in a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perfscope.study.runs import StudyRun


@dataclass(frozen=True)
class Objective:
    """A speed: larger is better."""

    id: str
    label: str
    unit: str
    meaning: str


SAMPLES = Objective(
    "samples_per_s", "Throughput", "samples/s", "Training samples of all ranks in a second."
)
STEPS = Objective(
    "steps_per_s", "Steps in a second", "steps/s", "One divided by the median time of a step."
)
RUNS = Objective(
    "runs_per_h",
    "Runs in an hour",
    "runs/h",
    "One hour divided by the wall time of the whole run, start-up and shutdown included.",
)
OBJECTIVES = (SAMPLES, STEPS, RUNS)


def speed(run: StudyRun, objective: Objective) -> float | None:
    """The speed of a run; None when it did not measure this one."""
    if objective is SAMPLES:
        value = run.samples_per_s.value
    elif objective is STEPS:
        step_s = run.step_s.value
        value = 1.0 / step_s if step_s else None
    else:
        value = 3600.0 / run.wall_s if run.wall_s else None
    return value if value is not None and value > 0 else None


def choose(runs: Sequence[StudyRun]) -> tuple[Objective, str]:
    """The first speed that every run measured, and why it is not an earlier one ("" if it is)."""
    reason = ""
    for objective in OBJECTIVES:
        lacking = [run for run in runs if speed(run, objective) is None]
        if not lacking:
            return objective, reason
        of_run = lacking[0].samples_per_s if objective is SAMPLES else lacking[0].step_s
        reason = (
            f"{len(lacking)} of {len(runs)} runs have no {objective.unit} ({of_run.reason})"
            if len(runs) > 1
            else f"the run has no {objective.unit} ({of_run.reason})"
        )
    return RUNS, reason
