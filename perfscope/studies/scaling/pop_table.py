"""The POP table of a series: one column a size, from documents instead of traces."""

import math
from collections.abc import Sequence
from dataclasses import replace

from perfscope.metrics.efficiency.scalability import (
    USEFUL,
    RunTotals,
    Scalability,
    Variant,
    scalability,
)
from perfscope.schema.common import NO_REASON, Metric
from perfscope.structures import dataclass
from perfscope.studies.common.run import StudyRun
from perfscope.studies.scaling.growth import Growth
from perfscope.studies.scaling.series import Point

SAME_RANKS = (
    "all runs have the same ranks: what threads inside a rank gain is no factor of this table"
)
# Level in the tree, id, and what people call it, in the order of the field's tables.
ROWS = (
    (0, "global_efficiency", "Global efficiency"),
    (1, "parallel_efficiency", "Parallel efficiency"),
    (2, "load_balance", "Load balance"),
    (2, "communication_efficiency", "Communication efficiency"),
    (3, "serialization_efficiency", "Serialization efficiency"),
    (3, "transfer_efficiency", "Transfer efficiency"),
    (1, "computation_scalability", "Computation scalability"),
    (2, "ipc_scalability", "IPC scalability"),
    (2, "instruction_scalability", "Instruction scalability"),
    (2, "frequency_scalability", "Frequency scalability"),
)
COUNTER_ROWS = {"ipc_scalability", "instruction_scalability", "frequency_scalability"}
Bounds = tuple[float, float]


@dataclass(frozen=True)
class PopTable:
    """POP factors of every size."""

    columns: tuple[Scalability, ...]  # of the representative run of each size, smallest first
    # smallest and largest of each factor over the repeats of each size
    spreads: tuple[dict[str, Bounds], ...]
    has_counters: bool  # whether IPC, instruction and frequency scalability are known


def totals_of(run: StudyRun) -> RunTotals:
    """What the POP arithmetic needs of a run: hardware states where recorded, else W and T."""
    hardware, metrics = run.result.hardware, run.result.metrics
    if hardware and hardware.useful_s_by_rank and hardware.runtime_s > 0:
        useful = hardware.useful_s_by_rank
        return RunTotals(
            runtime_s=hardware.runtime_s,
            useful_s=hardware.useful_s_by_thread or useful,
            outside_s=hardware.outside_mpi_s_by_rank or useful,
            ideal_s=hardware.ideal_runtime_s.value,
            waiting_s=hardware.waiting_s_by_rank or None,
            instructions=hardware.instructions,
            cycles=hardware.cycles,
        )
    # nothing known: every factor is null
    work = metrics.outside_communication_s_by_rank or (0.0,)
    metric = metrics.parallel_efficiency
    unknown = None if metric.is_measured else metric.reason or NO_REASON
    return RunTotals(
        runtime_s=run.focus_s,
        useful_s=work,
        outside_s=work,
        ideal_s=run.result.replay.ideal_runtime_s,
        waiting_s=run.waiting_s_by_rank,
        useful=metric.useful or "outside_communication",
        foa=metric.foa or "communication_lifetime",
        unknown=unknown,
        useful_unknown=None if _is_alone(run) else unknown,
    )


def _is_alone(run: StudyRun) -> bool:
    """Whether it is one process that never communicated: all of its time was useful.

    Of threads beside it nobody knows that.
    """
    metrics = run.result.metrics
    work = metrics.outside_communication_s_by_rank
    if run.ranks != 1 or len(work) != 1 or metrics.parallel_efficiency.useful == USEFUL:
        return False
    return math.isclose(work[0], run.focus_s, rel_tol=1e-6)


def pop_table(points: Sequence[Point], grown: Growth, *, variant: Variant) -> PopTable:
    """The table; the smallest size is the reference of the scalabilities."""
    totals = [totals_of(point.representative) for point in points]
    recorded = (point.representative.result.hardware for point in points)
    are_seen = any(one.useful_s_by_thread for one in recorded if one)
    is_hybrid = not are_seen and len(points) > 1 and len({point.ranks for point in points}) == 1
    columns = _columns(totals, grown, variant, _counted(grown), is_hybrid=is_hybrid)
    spreads = tuple(
        _spread(points, place, grown, variant, is_hybrid=is_hybrid) for place in range(len(points))
    )
    counted = any(column.ipc_scalability.value is not None for column in columns)
    return PopTable(columns, spreads, counted)


def _counted(grown: Growth) -> Sequence[float] | None:
    """The work of each size where it was counted and is not the same; else ranks tell it."""
    return grown.factors if not grown.is_strong and grown.factors == grown.work else None


def _columns(
    totals: Sequence[RunTotals],
    grown: Growth,
    variant: Variant,
    work: Sequence[float] | None,
    *,
    is_hybrid: bool,
) -> tuple[Scalability, ...]:
    found = scalability(totals, variant=variant, weak=grown.is_weak, work=work)
    if is_hybrid:
        # more cores for the same ranks: the arithmetic of ranks would call threads superlinear
        found = [
            replace(
                row,
                computation_scalability=_absent(row.computation_scalability),
                global_efficiency=_absent(row.global_efficiency),
                ipc_scalability=_absent(row.ipc_scalability),
                instruction_scalability=_absent(row.instruction_scalability),
                frequency_scalability=_absent(row.frequency_scalability),
            )
            for row in found
        ]
    return tuple(found)


def _absent(metric: Metric) -> Metric:
    return replace(metric, value=None, reason=SAME_RANKS)


def _spread(
    points: Sequence[Point], place: int, grown: Growth, variant: Variant, *, is_hybrid: bool
) -> dict[str, Bounds]:
    runs = points[place].runs
    if len(runs) < 2:
        return {}
    reference, work = totals_of(points[0].representative), _counted(grown)
    own = None if work is None else (1.0, work[place])
    pairs = [[reference, totals_of(run)] for run in runs]
    rows = [_columns(pair, grown, variant, own, is_hybrid=is_hybrid)[-1] for pair in pairs]
    found: dict[str, Bounds] = {}
    for _, name, _ in ROWS:
        values = [v for row in rows if (v := getattr(row, name).value) is not None]
        if len(values) == len(rows):
            found[name] = (min(values), max(values))
    return found
