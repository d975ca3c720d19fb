"""The numbers as Markdown."""

from collections.abc import Sequence

from benchmarks.recorder.jobs import GOAL_PERCENT, RANKS, Compared
from benchmarks.recorder.measures import Cost
from benchmarks.recorder.spread import quartiles

JOBS_EXPLAINED = (
    f"Whole jobs on {RANKS} ranks, each recorded and unrecorded in turn. A cell is the median over "
    "the pairs of runs of what recording adds, and in brackets the lower and upper quartile. "
    '"Training" is the mean of the ranks, from what prepares the first step to the end of the '
    'program; "job" is the command from start to end, with all its processes and with '
    f"`perfscope run` itself. Goal: {GOAL_PERCENT:g} %."
)

_COLUMNS = (
    "job",
    "pairs",
    "training, s",
    "training, CPU",
    "training, wall",
    "CPU per rank and step",
    "job, CPU",
    "job, wall",
)


def costs_table(costs: Sequence[Cost]) -> str:
    """Median, quartiles, least and most of every measurement."""
    lines = [
        "| measurement | unit | median | quartiles | least | most | goal |",
        "|---|---|---|---|---|---|---|",
    ]
    for cost in costs:
        goal = "" if cost.goal is None else f"{cost.goal:g}"
        low, middle, high = quartiles(cost.values)
        least, most = min(cost.values), max(cost.values)
        numbers = f"{middle:.2f} | {low:.2f} to {high:.2f} | {least:.2f} | {most:.2f}"
        lines.append(f"| {cost.name} | {cost.unit} | {numbers} | {goal} |")
    return "\n".join(lines)


def jobs_table(jobs: Sequence[Compared]) -> str:
    """What recording adds to whole jobs."""
    header = ["| " + " | ".join(_COLUMNS) + " |", "|" + "---|" * len(_COLUMNS)]
    rows = ["| " + " | ".join(_cells(job)) + " |" for job in jobs]
    return "\n".join([JOBS_EXPLAINED, "", *header, *rows])


def _cells(job: Compared) -> list[str]:
    if job.reason is not None:
        empty = [""] * (len(_COLUMNS) - 2)
        return [job.workload.name, f"not measured: {job.reason}", *empty]
    _, training_s, _ = quartiles([bare.training_wall_s for bare, _ in job.pairs])
    return [
        job.workload.name,
        str(len(job.pairs)),
        f"{training_s:.1f}",
        _spread(job.percent("training_cpu_s"), unit="%", digits=1),
        _spread(job.percent("training_wall_s"), unit="%", digits=1),
        _spread(job.us_per_rank_and_step, unit="us", digits=0),
        _spread(job.percent("job_cpu_s"), unit="%", digits=1),
        _spread(job.percent("job_wall_s"), unit="%", digits=1),
    ]


def _spread(values: Sequence[float], *, unit: str, digits: int) -> str:
    low, middle, high = (f"{value:+.{digits}f}" for value in quartiles(values))
    return f"{middle} {unit} ({low} to {high})"
