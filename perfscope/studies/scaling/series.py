"""Runs ordered along an axis (ranks, cores, GPUs or nodes), repeats of one size folded together."""

from collections.abc import Callable, Sequence
from enum import Enum
from statistics import median

from perfscope.errors import UsageError
from perfscope.schema.scaling import Spread
from perfscope.structures import dataclass
from perfscope.studies.common.run import StudyRun

Quantity = Callable[[StudyRun], float | None]


class Axis(Enum):
    """What grows from run to run."""

    RANKS = "ranks"
    CORES = "cores"
    GPUS = "gpus"
    NODES = "nodes"
    THREADS = "threads"

    @property
    def one(self) -> str:
        """The word for one of it."""
        return "GPU" if self is Axis.GPUS else self.value[:-1]

    @property
    def many(self) -> str:
        """The word for several."""
        return f"{self.one}s"

    def of(self, run: StudyRun) -> int | None:
        """How much of it a run used; None when that was not recorded."""
        if self is Axis.RANKS:
            return run.ranks or None
        if self is Axis.CORES:
            return run.cores
        if self is Axis.THREADS:
            return run.ranks * run.threads_per_rank if run.threads_per_rank else None
        return run.devices if self is Axis.GPUS else len(run.hosts) or None

    def count(self, number: int) -> str:
        """A number of it: `1 rank`, `4 ranks`."""
        return f"{number:,} {self.one if number == 1 else self.many}"


@dataclass(frozen=True)
class Point:
    """The runs of one size, fastest first."""

    size: int  # on the axis
    runs: tuple[StudyRun, ...]  # repeats; at least one

    @property
    def ranks(self) -> int:
        """Ranks of each of the runs."""
        return self.runs[0].ranks

    @property
    def representative(self) -> StudyRun:
        """The run of median length (the faster of the two middle ones).

        Efficiencies of a size are those of this run, so that factors multiply exactly.
        """
        return self.runs[(len(self.runs) - 1) // 2]

    def spread(self, quantity: Quantity) -> Spread | None:
        """A quantity over the repeats; None where a repeat does not have it."""
        values = [value for run in self.runs if (value := quantity(run)) is not None]
        if len(values) != len(self.runs):
            return None
        return Spread(median(values), min(values), max(values), len(values))


def choose_axis(runs: Sequence[StudyRun], wanted: Axis | None = None) -> tuple[Axis, str]:
    """The axis and why it was chosen: GPUs if measured, else ranks, cores, threads, nodes.

    Raises:
        UsageError: the wanted axis is not known of every run.
    """
    if wanted is not None:
        unknown = [run.label for run in runs if wanted.of(run) is None]
        if unknown:
            raise UsageError(
                f"--axis {wanted.value} cannot be used.",
                why=f"{unknown[0]} did not record its {wanted.many}.",
                action="Use --axis ranks, which every run records.",
            )
        return wanted, "as asked for with --axis"
    for axis in (Axis.GPUS, Axis.RANKS, Axis.CORES, Axis.THREADS, Axis.NODES):
        sizes = {axis.of(run) for run in runs}
        if None not in sizes and len(sizes) > 1:
            return axis, f"the runs differ in {axis.many}; --axis chooses another"
    return Axis.RANKS, "all runs have the same size"


def fold(runs: Sequence[StudyRun], axis: Axis) -> tuple[Point, ...]:
    """The runs by size, smallest first; those of one size are repeats of each other.

    Raises:
        UsageError: two runs of one size differ in ranks, threads, hosts or batch size.
    """
    by_size: dict[int, list[StudyRun]] = {}
    for run in runs:
        size = axis.of(run)
        assert size is not None  # choose_axis looked
        by_size.setdefault(size, []).append(run)
    for size, group in by_size.items():
        _check_repeats(axis.count(size), group, axis)
    return tuple(
        Point(size, tuple(sorted(group, key=lambda run: (run.focus_s, run.label))))
        for size, group in sorted(by_size.items())
    )


def _known(value: object) -> str:
    return "unknown" if value is None else str(value)


def _check_repeats(size: str, group: Sequence[StudyRun], axis: Axis) -> None:
    threads = next((run.threads_per_rank for run in group if run.threads_per_rank), None)
    facts: tuple[tuple[str, Callable[[StudyRun], object]], ...] = (
        ("ranks", lambda run: run.ranks),
        ("threads of a rank", lambda run: run.threads_per_rank or threads),  # where it is known
        ("hosts", lambda run: len(run.hosts)),
        ("batch size", lambda run: run.result.run.batch_size),
    )
    for name, fact in facts:
        other = next((run for run in group if fact(run) != fact(group[0])), None)
        if other is not None:
            raise UsageError(
                f"{group[0].label} and {other.label} are both of {size}, but no repeats.",
                why=f"Their {name} differ: {_known(fact(group[0]))} and {_known(fact(other))}.",
                action=f"Choose another --axis than {axis.value}, or leave one of them out.",
            )
