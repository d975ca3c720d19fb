"""Critical path and delay costs step by step, as far as segments between cuts tell steps apart."""

from typing import Any

import numpy as np

from perfscope.metrics.efficiency.steps import step_numbers
from perfscope.metrics.results import Results
from perfscope.replay.measured import MeasuredWaits
from perfscope.replay.program import Floats, Ints, Program
from perfscope.replay.work_tags import PhaseTags, resolved
from perfscope.schema.replay import ReplayedSteps
from perfscope.units import NS

MOST_ROWS = 200
"""Of a longer run neighboring steps are told together."""


def by_step(
    results: Results,
    program: Program,
    gap_ns: Floats,
    *,
    tags: PhaseTags,
    waits: MeasuredWaits,
    path: tuple[Ints, Ints],
) -> tuple[ReplayedSteps, ...]:
    """Path and delay costs of each step; a segment counts for the step in which it ends.

    Segments are explained independently of each other, so the steps add up to the run. Empty where
    the program and its framework tell no steps, or the ranks meet more rarely than once a step.

    `gap_ns` is before each row, shape (rows,); `path` has the rows whose work, and the rows whose
    transfer, lies on the critical path.
    """
    step, numbers = _steps_of_segments(results, program)
    if not len(numbers):
        return ()
    size = -(-len(numbers) // MOST_ROWS)
    group = step // size
    groups = -(-len(numbers) // size)
    work, transfer = (
        np.bincount(group[program.row_segment[rows]], weights=ns[rows], minlength=groups)
        for rows, ns in zip(path, (gap_ns, program.transfer_ns), strict=True)
    )
    edges = np.searchsorted(group, np.arange(groups + 1))
    of_row = group[program.row_segment]
    waited = np.bincount(of_row, weights=waits.inside + waits.before, minlength=groups)
    found: list[ReplayedSteps] = []

    def take(costs: dict[str, Any]) -> None:
        place = len(found)
        found.append(
            ReplayedSteps(
                first=int(numbers[place * size]),
                count=min(size, len(numbers) - place * size),
                work_s=NS * float(work[place]),
                transfer_s=NS * float(transfer[place]),
                **_costs(costs, float(waited[place]), tags),
            )
        )

    program.engine.delay_costs(
        gap_ns, program.transfer_ns, waits=waits.inside, edges=edges, take=take, **tags.pieces
    )
    return tuple(found)


def _costs(costs: dict[str, Any], waited_ns: float, tags: PhaseTags) -> dict[str, Any]:
    """Waiting in some steps, to whom it is charged, and what cost most."""
    direct_s, indirect_s = (NS * float(costs[name].sum()) for name in ("direct", "indirect"))
    charged_ns = float(costs["direct"].sum() + costs["indirect"].sum())
    unattributed_s = NS * max(0.0, waited_ns - charged_ns)
    waiting_s = direct_s + indirect_s + unattributed_s
    return {
        "waiting_s": waiting_s,
        "direct_s": direct_s,
        "indirect_s": indirect_s,
        "unattributed_s": resolved(unattributed_s),
        "cause": next(iter(tags.delays(costs, waiting_s, most=1)), None),
    }


def _steps_of_segments(results: Results, program: Program) -> tuple[Ints, Ints]:
    """Place of the step in which each segment ends on the first rank, and the steps' numbers."""
    table = results.trace.ranks[0].steps
    focus = results.focus
    table = table[(table["t0"] < focus.end_ns) & (table["t1"] > focus.start_ns)]
    table = table[np.argsort(table["t0"], kind="stable")]
    none = np.empty(0, np.int64)
    if program.pool_row is None or not 0 < len(table) <= program.segment_count:
        return none, none
    closing = program.pool_row[program.cut_rows[1:, 0]]
    enter = np.full(len(closing), focus.end_ns, np.int64)
    enter[closing >= 0] = results.waits.pool.enter[closing[closing >= 0]]
    step = np.searchsorted(table["t0"].astype(np.int64), enter, side="right") - 1
    return np.maximum(step, 0), step_numbers(table)
