"""What configurations are compared by: samples, else steps, else whole runs in a time."""

from collections.abc import Sequence

from perfscope.errors import UsageError
from perfscope.structures import dataclass
from perfscope.studies.common.run import StudyRun
from perfscope.studies.scaling.growth import SAME_WORK
from perfscope.sweep.study.run import SweepRun
from perfscope.sweep.study.stored import StoredPlan
from perfscope.units import capitalized


@dataclass(frozen=True)
class Objective:
    """A speed: larger is better."""

    id: str
    label: str
    unit: str
    meaning: str


SAMPLES = Objective(
    "samples_per_s", "Throughput", "samples/s", "Training samples per second, all ranks together."
)
STEPS = Objective(
    "steps_per_s", "Steps per second", "steps/s", "One divided by the median time of a step."
)
RUNS = Objective(
    "runs_per_h",
    "Runs per hour",
    "runs/h",
    "One hour divided by the wall time of the whole run, start-up and shutdown included.",
)
OBJECTIVES = (SAMPLES, STEPS, RUNS)
PRINTED = "printed"
NO_MATCH = "--throughput matched nothing in the output of any run"
COMMAND_KINDS = ("variable", "set")  # of axes that may change what a step is
STOP_AFTER = "--stop-after"
RANKS_DIFFER = "different numbers of ranks"
MAY_DIFFER = "may hold different numbers of samples; perfscope.step(samples=...) reports them"


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
        value = run.throughput.samples_per_s.value
    elif objective is STEPS:
        step_s = run.throughput.step_s_median.value
        value = 1.0 / step_s if step_s else None
    else:
        value = 3600.0 / run.result.run.wall_s if run.result.run.wall_s > 0 else None
    return value if value is not None and value > 0 else None


def candidates(runs: Sequence[SweepRun]) -> tuple[Objective, ...]:
    """The speeds that may count, in order: what the job prints first, if asked for."""
    names = [one.printed.name for one in runs if one.printed is not None]
    return (*map(printed, names[:1]), *OBJECTIVES)


def caution(plan: StoredPlan, runs: Sequence[SweepRun], objective: Objective) -> str:
    """What may make the speeds of these runs incomparable, "" when nothing does."""
    found = [NO_MATCH] if _lacks_printed(plan, runs) else []
    if objective is STEPS and (names := _varied_in_command(plan)):
        found.append(f"steps of commands that differ in {names} {MAY_DIFFER}")
    if objective is RUNS and (what := _uneven_work(_analyzed(runs))):
        found.append(f"the runs did {what}, so a shorter run need not be a faster one")
    return "; ".join(found)


def no_best(plan: StoredPlan, runs: Sequence[SweepRun], objective: Objective) -> str:
    """Why none of these runs may be called the fastest, "" when one may."""
    what = _other_samples(_analyzed(runs))
    return _cut_short(what) if objective is RUNS and STOP_AFTER in plan.recording and what else ""


def of_search(plan: StoredPlan, first: SweepRun) -> Objective:
    """What a search optimizes, settled by its first run, so that all its values are alike.

    Raises:
        UsageError: nothing that this run measured can be compared between the configurations.
    """
    asked = {one.ranks for one in plan.configurations if one.refused is None}
    differ = len(asked) > 1
    for objective in candidates([first]):
        if objective is STEPS and differ:
            continue
        if speed(first, objective) is not None:
            if objective is RUNS and differ and STOP_AFTER in plan.recording:
                raise _not_to_search(_cut_short(RANKS_DIFFER))
            return objective
    return RUNS


def check_search(first: SweepRun, run: SweepRun, objective: Objective) -> None:
    """Whether a later run of a search can be compared with its first one.

    Raises:
        UsageError: it cannot, because their steps hold different numbers of samples.
    """
    what = _other_samples(_analyzed([first, run]))
    if objective is STEPS and what:
        raise _not_to_search(f"{run.stored.name} and {first.stored.name} have {what}")


def _not_to_search(why: str) -> UsageError:
    return UsageError(
        "--search has nothing to compare configurations by.",
        why=f"{capitalized(why)}, and their samples are not known.",
        action="Report them with perfscope.step(samples=...) in the program, print the speed and "
        "name it with --throughput, or leave --search out.",
    )


def _cut_short(what: str) -> str:
    return (
        f"runs of {what} that --stop-after ends after as many steps may train on different numbers "
        "of samples; perfscope.step(samples=...) reports them"
    )


def _analyzed(runs: Sequence[SweepRun]) -> list[StudyRun]:
    return [one.run for one in runs if one.run is not None]


def _other_samples(runs: Sequence[StudyRun]) -> str:
    """In what runs differ so that a step holds other samples, "" in nothing."""
    if len({run.ranks for run in runs}) > 1:
        return RANKS_DIFFER
    return "different batch sizes" if len({run.result.run.batch_size for run in runs}) > 1 else ""


def _uneven_work(runs: Sequence[StudyRun]) -> str:
    """What shows that runs did not do the same work, "" when nothing does."""
    known = [run for run in runs if run.throughput.steps]
    if len({run.ranks for run in known}) <= 1:
        return (
            "different numbers of steps" if len({run.throughput.steps for run in known}) > 1 else ""
        )
    shares = [run.throughput.steps * run.ranks for run in known]
    return "different numbers of steps × ranks" if max(shares) > SAME_WORK * min(shares) else ""


def _varied_in_command(plan: StoredPlan) -> str:
    """Names of what changes the command from run to run, and so perhaps what a step is."""
    varied = [axis for axis in plan.axes if len(axis.values) > 1]
    return ", ".join(axis.name for axis in varied if axis.kind in COMMAND_KINDS)


def _lacks_printed(plan: StoredPlan, runs: Sequence[SweepRun]) -> bool:
    """Whether --throughput was given and found nothing at all."""
    return bool(runs) and plan.throughput is not None and all(r.printed is None for r in runs)


def choose(plan: StoredPlan, runs: Sequence[SweepRun]) -> tuple[Objective, str]:
    """The first speed that compares the runs, and why it is not an earlier one ("" if it is)."""
    objective, reason = _comparable(runs)
    said = [NO_MATCH] if _lacks_printed(plan, runs) else []
    return objective, "; ".join([*said, *([reason] if reason else [])])


def _comparable(runs: Sequence[SweepRun]) -> tuple[Objective, str]:
    """The first speed that every run measured and that is of the same work in all of them."""
    reason, what = "", _other_samples(_analyzed(runs))
    for objective in candidates(runs):
        lacking = [run for run in runs if speed(run, objective) is None]
        if objective is STEPS and what and not lacking:
            reason = f"{reason}, and steps of {what} {MAY_DIFFER}"
        elif not lacking:
            return objective, reason
        else:
            which = f"{len(lacking)} of {len(runs)} runs have" if len(runs) > 1 else "the run has"
            reason = f"{which} no {objective.unit} ({_why_none(lacking[0], objective)})"
    return RUNS, reason


def _why_none(one: SweepRun, objective: Objective) -> str:
    if one.run is None or objective.id == PRINTED:
        return "it does not appear in the output"
    told = one.run.throughput
    return (told.samples_per_s if objective is SAMPLES else told.step_s_median).reason or ""
