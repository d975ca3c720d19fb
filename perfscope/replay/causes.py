"""Critical path, delay costs and who waited for whom, from the replay of the unedited run."""

from typing import Any

import numpy as np

from perfscope.metrics.results import Results
from perfscope.replay.by_step import by_step
from perfscope.replay.measured import MeasuredWaits
from perfscope.replay.model import Causes
from perfscope.replay.program import Floats, Ints, Program
from perfscope.replay.work_tags import PhaseTags, resolved
from perfscope.schema.replay import (
    CriticalPath,
    PathOfLine,
    PathOfOperation,
    PathOfPhase,
    PathOfRank,
    WaitPair,
)
from perfscope.trace.operations import name_of
from perfscope.units import NS

MOST_BLOCKS = 16
MOST_LINES = 50
LEAST_NS = 0.5  # less is what sums of floating-point numbers leave


def causes(results: Results, program: Program, waits: MeasuredWaits) -> Causes:
    """Who made whom wait in the run, and what its length is made of."""
    gap = program.gaps_ns(program.work)
    tags = PhaseTags(results, program)
    found = program.engine.delay_cost(gap, program.transfer_ns, waits=waits.inside, **tags.pieces)
    charged_ns = float(found["direct"].sum() + found["indirect"].sum())
    path = program.engine.critical_path(gap, program.transfer_ns)
    order = np.argsort(-found["ns"], kind="stable")
    numbers = program.ranks
    blocks, size = _blocks(found, len(numbers))
    return Causes(
        path=_path(results, program, gap, path),
        waiting_s=NS * waits.total_ns,
        unattributed_s=resolved(NS * max(0.0, waits.total_ns - charged_ns)),
        delays=tags.delays(found, NS * waits.total_ns),
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
        steps=by_step(results, program, gap, tags=tags, waits=waits, path=path),
    )


def _blocks(found: dict[str, Any], ranks: int) -> tuple[tuple[tuple[float, ...], ...], int]:
    size = max(1, -(-ranks // MOST_BLOCKS))
    count = -(-ranks // size)
    cells = (found["waiter"] // size) * count + found["cause"] // size
    table = NS * np.bincount(cells, weights=found["ns"], minlength=count * count)
    return tuple(tuple(row) for row in table.reshape(count, count).tolist()), size


def _path(results: Results, program: Program, gap: Floats, path: tuple[Ints, Ints]) -> CriticalPath:
    work_rows, transfer_rows = path
    work, transfer = gap[work_rows], program.transfer_ns[transfer_rows]
    ranks = len(program.ranks)
    by_rank = np.stack(
        [
            np.bincount(program.row_rank[rows], weights=ns, minlength=ranks)
            for rows, ns in ((work_rows, work), (transfer_rows, transfer))
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
        by_phase=_by_phase(results, program, work_rows, gap),
        by_operation=_by_operation(program, transfer_rows),
        by_line=_by_line(results, program, work_rows),
    )


def _on_path(program: Program, work_rows: Ints) -> Ints:
    """Pieces of work that lie on the path."""
    on_path = np.zeros(program.row_count, np.bool_)
    on_path[work_rows] = True
    return np.flatnonzero(on_path[program.work.row])


def _by_phase(
    results: Results, program: Program, work_rows: Ints, gap: Floats
) -> tuple[PathOfPhase, ...]:
    """The work of the path by phase; calls that the replay takes for work are none's."""
    pieces = _on_path(program, work_rows)
    names = (*results.phase_ids, "")
    index = np.where(program.phase[pieces] >= 0, program.phase[pieces], len(names) - 1)
    spent = np.bincount(index, weights=program.work.ns[pieces], minlength=len(names))
    inside_calls = float(gap[work_rows].sum() - spent.sum())
    parts = [*zip(names, spent.tolist(), strict=True), (None, inside_calls)]
    found = [PathOfPhase(name, NS * ns) for name, ns in parts if abs(ns) >= LEAST_NS]
    return tuple(sorted(found, key=lambda part: (-part.seconds, part.phase or "")))


def _by_operation(program: Program, transfer_rows: Ints) -> tuple[PathOfOperation, ...]:
    op = program.row_op[transfer_rows]
    inside = op >= 0
    spent = np.bincount(op[inside], weights=program.transfer_ns[transfer_rows][inside])
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
