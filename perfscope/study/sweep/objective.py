"""What configurations are compared by: samples, else steps, else whole runs in a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfscope.study.run import StudyRun
    from perfscope.study.sweep.runs import SweepRun
    from perfscope.study.sweep.stored import StoredPlan


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
PRINTED = "printed"
NO_MATCH = "--throughput matched nothing in the output of any run"
COMMAND_KINDS = ("variable", "set")  # of axes that may change what a step is


def printed(name: str) -> Objective:
    """A throughput that the job itself prints, called by its name."""
    unit = "as printed" if name == "metric" else name
    return Objective(
        PRINTED,
        "Throughput that the job printed",
        unit,
        "The last value of --throughput in its output.",
    )


def speed(one: SweepRun, objective: Objective) -> float | None:
    """The speed of a run; None when it did not measure this one."""
    run = one.run
    if objective.id == PRINTED:
        value = None if one.printed is None else one.printed.value
    elif run is None:
        value = None
    elif objective is SAMPLES:
        value = run.samples_per_s.value
    elif objective is STEPS:
        step_s = run.step_s.value
        value = 1.0 / step_s if step_s else None
    else:
        value = 3600.0 / run.wall_s if run.wall_s else None
    return value if value is not None and value > 0 else None


def candidates(runs: Sequence[SweepRun]) -> tuple[Objective, ...]:
    """The speeds that may count, in order: what the job prints first, if asked for."""
    names = [one.printed.name for one in runs if one.printed is not None]
    return (*map(printed, names[:1]), *OBJECTIVES)


def caution(plan: StoredPlan, runs: Sequence[SweepRun], objective: Objective) -> str:
    """What may make the speeds of these runs incomparable, "" when nothing does."""
    known = [one.run for one in runs if one.run is not None]
    found = [NO_MATCH] if _lacks_printed(plan, runs) else []
    if objective is STEPS and (what := _steps_of(plan, known)):
        found.append(
            f"steps of {what} may hold different numbers of samples, which "
            "perfscope.step(samples=...) would tell"
        )
    ranks, steps = {run.ranks for run in known}, {run.steps for run in known if run.steps}
    if objective is RUNS and len(steps) > 1:
        found.append("the runs did different numbers of steps, so a shorter run is no faster one")
    elif objective is RUNS and plan.recording and len(ranks) > 1:
        found.append(
            "runs of different numbers of ranks that are cut to a number of steps may hold "
            "different numbers of samples"
        )
    return "; ".join(found)


def _steps_of(plan: StoredPlan, runs: Sequence[StudyRun]) -> str:
    """In what runs differ so that their steps may differ too, "" in nothing."""
    if len({run.ranks for run in runs}) > 1:
        return "different numbers of ranks"
    if len({run.batch_size for run in runs}) > 1:
        return "different batch sizes"
    varied = [axis for axis in plan.axes if len(axis.values) > 1]
    names = [axis.name for axis in varied if axis.kind in COMMAND_KINDS]
    return f"commands that differ in {', '.join(names)}" if names else ""


def _lacks_printed(plan: StoredPlan, runs: Sequence[SweepRun]) -> bool:
    """Whether --throughput was given and found nothing at all."""
    return bool(runs) and plan.throughput is not None and all(r.printed is None for r in runs)


def choose(plan: StoredPlan, runs: Sequence[SweepRun]) -> tuple[Objective, str]:
    """The first speed that every run measured, and why it is not an earlier one ("" if it is)."""
    objective, reason = _measured_by_all(runs)
    said = [NO_MATCH] if _lacks_printed(plan, runs) else []
    return objective, "; ".join([*said, *([reason] if reason else [])])


def _measured_by_all(runs: Sequence[SweepRun]) -> tuple[Objective, str]:
    reason = ""
    for objective in candidates(runs):
        lacking = [run for run in runs if speed(run, objective) is None]
        if not lacking:
            return objective, reason
        which = f"{len(lacking)} of {len(runs)} runs have" if len(runs) > 1 else "the run has"
        reason = f"{which} no {objective.unit} ({_why_none(lacking[0], objective)})"
    return RUNS, reason


def _why_none(one: SweepRun, objective: Objective) -> str:
    if one.run is None or objective.id == PRINTED:
        return "it stands nowhere in the output"
    return (one.run.samples_per_s if objective is SAMPLES else one.run.step_s).reason
