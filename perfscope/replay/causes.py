"""Critical path, delay costs and who waited for whom, from the replay of the unedited run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.engine import engine
from perfscope.metrics.efficiency.steps import step_numbers
from perfscope.metrics.results import Results
from perfscope.replay.charges import Charges, Kinds, charges
from perfscope.replay.measured import MeasuredWaits, measured_waits
from perfscope.replay.model import Causes
from perfscope.replay.program import Program
from perfscope.replay.steps import Steps
from perfscope.replay.work_tags import PhaseTags, WorkOfRows, resolved
from perfscope.schema.replay import (
    CriticalPath,
    PathOfLine,
    PathOfOperation,
    PathOfPhase,
    PathOfRank,
    ReplayedSteps,
    WaitPair,
)
from perfscope.search import places
from perfscope.structures import dataclass
from perfscope.trace.operations import name_of
from perfscope.units import NS

MOST_ROWS = 200
"""Of a longer run neighboring steps are told together."""


@dataclass(frozen=True)
class _OnPath:
    """Rows whose work, or transfer, lies on the critical path, and its nanoseconds."""

    rows: Ints
    ns: Floats


@dataclass(frozen=True)
class _Groups:
    """Steps that are told together: the numbers of those of each group; none is no group."""

    steps: tuple[Ints, ...]
    of_segment: Ints

    @classmethod
    def of(cls, results: Results, program: Program) -> _Groups:
        """Those of a run; none where nothing tells its steps."""
        step, numbers = _steps_of_segments(results, program)
        size = max(1, -(-len(numbers) // MOST_ROWS))
        steps = np.split(numbers, range(size, len(numbers), size)) if len(numbers) else []
        return cls(tuple(steps), step // size)

    def edges(self, program: Program) -> Ints:
        """The first segment of each group, and behind the last one; of the run without groups."""
        if not self.steps:
            return np.array([0, program.segment_count])
        return np.searchsorted(self.of_segment, np.arange(len(self.steps) + 1))

    def along(self, program: Program, *paths: _OnPath) -> list[list[float]]:
        """Seconds of paths in each of them."""
        if not self.steps:
            return [[] for _ in paths]
        key, count = program.row_segment, len(self.steps)
        sums = [engine.sums_by_key(one.ns, one.rows, key, count, self.of_segment) for one in paths]
        return [[NS * ns for ns in one.tolist()] for one in sums]


@dataclass(frozen=True)
class _Path:
    """What the length of the run, and of each group of steps, is made of: work and transfer."""

    whole: CriticalPath
    work_s: list[float]
    transfer_s: list[float]

    @classmethod
    def of(cls, results: Results, program: Program, groups: _Groups, gap_ns: Floats) -> _Path:
        """That of a run with some work before its rows; the rows on the path are let go of."""
        rows, moved_rows = program.engine.critical_path(gap_ns, program.transfer_ns)
        work = _OnPath(rows, gap_ns[rows])
        transfer = _OnPath(moved_rows, program.transfer_ns[moved_rows])
        whole = _path(results, program, work, transfer)
        return cls(whole, *groups.along(program, work, transfer))


def by_step(
    groups: _Groups,
    program: Program,
    path: _Path,
    found: dict[str, Any],
    tags: PhaseTags,
    waits: MeasuredWaits,
) -> tuple[ReplayedSteps, ...]:
    """Path and delay costs of each step; a segment counts for the step in which it ends.

    Segments are explained independently of each other, so the steps add up to the run. Empty where
    the program and its framework tell no steps, or the ranks meet more rarely than once a step.
    """
    if not groups.steps:
        return ()
    waited = waits.by_unit(program.row_segment, groups.of_segment, len(groups.steps))
    parts = ("direct", "indirect", "cell", "cell_direct", "cell_indirect")
    rows = zip(
        groups.steps,
        path.work_s,
        path.transfer_s,
        waited.tolist(),
        *(found[f"part_{name}"].tolist() for name in parts),
        strict=True,
    )
    return tuple(
        ReplayedSteps(
            int(steps[0]),
            len(steps),
            work_s=own,
            transfer_s=moved,
            direct_s=(direct_s := NS * direct),
            indirect_s=(indirect_s := NS * indirect),
            unattributed_s=resolved(left_s := NS * max(0.0, waited_ns - (direct + indirect))),
            waiting_s=(waiting_s := direct_s + indirect_s + left_s),
            cause=tags.delay(cell, own_ns, passed_ns, waiting_s) if cell >= 0 else None,
        )
        for steps, own, moved, waited_ns, direct, indirect, cell, own_ns, passed_ns in rows
    )


def _steps_of_segments(results: Results, program: Program) -> tuple[Ints, Ints]:
    """Place of the step in which each segment ends on the first rank, and the steps' numbers."""
    table = results.trace.ranks[0].steps
    focus = results.focus
    table = table[(table["t0"] < focus.end_ns) & (table["t1"] > focus.start_ns)]
    table = table[np.argsort(table["t0"], kind="stable")]
    none = np.empty(0, np.int64)
    if program.pool_row is None or not 0 < len(table) <= program.segment_count:
        return none, none
    closing = program.pool_row.at(program.cut_rows[1:, 0])
    enter = np.full(len(closing), focus.end_ns, np.int64)
    enter[closing >= 0] = results.waits.pool.some("enter", closing[closing >= 0])
    step = places(table["t0"].astype(np.int64), enter, "right") - 1
    return np.maximum(step, 0), step_numbers(table)


MOST_PAIRS = 100
MOST_BLOCKS = 16
MOST_LINES = 50
LEAST_NS = 0.5  # less is what sums of floating-point numbers leave


def explained(results: Results, program: Program) -> tuple[Causes, Charges]:
    """Who made whom wait, and what waits are charged to step by step: each is explained once.

    A long run has no room for all columns at once that this takes.
    """
    groups = _Groups.of(results, program)
    path = _Path.of(results, program, groups, program.gaps_ns(program.work))
    steps = Steps.of(results, program)
    kinds = Kinds.of(results, program)  # before the waits: it takes most room on the way
    waits, work = measured_waits(results, program), WorkOfRows(program)
    tags = PhaseTags(results, program, work)
    by_kind = work.by(kinds.of_piece, len(kinds.causes) - 1, steps.of_row)
    of_phases, of_kinds = program.engine.delay_cost(
        *(work.gap_ns, program.transfer_ns),
        waits=waits.inside,
        tags=[tags.of_work, by_kind],
        edges=groups.edges(program),
        **work.columns,
    )
    del by_kind
    del work
    charged = charges(of_kinds, kinds, steps, waits)
    told = _causes(program, path, of_phases, tags=tags, waits=waits)
    return replace(told, steps=by_step(groups, program, path, of_phases, tags, waits)), charged


def _causes(
    program: Program,
    path: _Path,
    found: dict[str, Any],
    *,
    tags: PhaseTags,
    waits: MeasuredWaits,
) -> Causes:
    """Who made whom wait in the run, and what its length is made of."""
    charged_ns = float(found["direct"].sum() + found["indirect"].sum())
    order, left_out = np.split(np.argsort(-found["ns"], kind="stable"), [MOST_PAIRS])
    numbers = program.ranks
    blocks, size = _blocks(found, len(numbers))
    delays = tags.delays(found, NS * waits.total_ns)
    return Causes(
        path=path.whole,
        waiting_s=NS * waits.total_ns,
        unattributed_s=resolved(NS * max(0.0, waits.total_ns - charged_ns)),
        delays=delays,
        pairs=tuple(
            WaitPair(numbers[w], numbers[c], NS * ns)
            for w, c, ns in zip(
                found["waiter"][order].tolist(),
                found["cause"][order].tolist(),
                found["ns"][order].tolist(),
                strict=True,
            )
        ),
        block=blocks,
        ranks_per_block=size,
        pairs_left_out=len(left_out),
        left_out_s=sum((NS * found["ns"][left_out]).tolist()),
    )


def _blocks(found: dict[str, Any], ranks: int) -> tuple[tuple[tuple[float, ...], ...], int]:
    size = max(1, -(-ranks // MOST_BLOCKS))
    count = -(-ranks // size)
    cells = (found["waiter"] // size) * count + found["cause"] // size
    table = NS * np.bincount(cells, weights=found["ns"], minlength=count * count)
    return tuple(tuple(row) for row in table.reshape(count, count).tolist()), size


def _path(results: Results, program: Program, worked: _OnPath, moved: _OnPath) -> CriticalPath:
    work, transfer, ranks = worked.ns, moved.ns, len(program.ranks)
    by_rank = np.stack(
        [
            engine.sums_by_key(part.ns, part.rows, program.row_rank, ranks)
            for part in (worked, moved)
        ]
    )
    order = np.argsort(-by_rank.sum(axis=0), kind="stable")
    order = order[(by_rank != 0).any(axis=0)[order]]
    return CriticalPath(
        seconds=NS * float(work.sum() + transfer.sum()),
        work_s=NS * float(work.sum()),
        transfer_s=NS * float(transfer.sum()),
        by_rank=tuple(
            PathOfRank(program.ranks[place], *(NS * by_rank[:, place]).tolist())
            for place in order.tolist()
        ),
        ranks=len(order),
        by_phase=_by_phase(results, program, worked),
        by_operation=_by_operation(program, moved),
        by_line=_by_line(results, program, worked.rows),
    )


def _on_path(program: Program, work_rows: Ints) -> Ints:
    """Pieces of work that lie on the path."""
    on_path = np.zeros(program.row_count, np.bool_)
    on_path[work_rows] = True
    return np.flatnonzero(on_path[program.work.row])


def _by_phase(results: Results, program: Program, path: _OnPath) -> tuple[PathOfPhase, ...]:
    """The work of the path by phase; calls that the replay takes for work are none's."""
    names, work = (*results.phase_ids, ""), program.work
    spent = engine.work_by_phase(
        work.row, work.ns, program.phase, path.rows, program.row_count, len(results.phase_ids)
    )
    inside_calls = float(path.ns.sum() - spent.sum())
    parts = [*zip(names, spent.tolist(), strict=True), (None, inside_calls)]
    found = [PathOfPhase(name, NS * ns) for name, ns in parts if abs(ns) >= LEAST_NS]
    return tuple(sorted(found, key=lambda part: (-part.seconds, part.phase or "")))


def _by_operation(program: Program, path: _OnPath) -> tuple[PathOfOperation, ...]:
    codes = int(program.row_op.max(initial=-1)) + 1
    spent = engine.sums_by_key(path.ns, path.rows, program.row_op, codes)
    found = [
        PathOfOperation(name_of(code), NS * ns) for code, ns in enumerate(spent.tolist()) if ns
    ]
    return tuple(sorted(found, key=lambda part: (-part.seconds, part.name)))


def _by_line(results: Results, program: Program, work_rows: Ints) -> tuple[PathOfLine, ...]:
    labels, frames = results.labels, results.trace.frames
    if labels is None or not len(labels.user_frame):
        return ()
    pieces = _on_path(program, work_rows)
    pieces = pieces[program.stack[pieces] >= 0]
    frame = labels.user_frame[program.stack[pieces]]
    known = frame >= 0
    spent = np.bincount(frame[known], weights=program.work.ns[pieces][known], minlength=len(frames))
    order = np.argsort(-spent, kind="stable")[:MOST_LINES]
    return tuple(
        PathOfLine(frames[i].file, frames[i].line, frames[i].function, NS * float(spent[i]))
        for i in order.tolist()
        if spent[i] > 0
    )
