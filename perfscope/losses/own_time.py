"""Time that ranks spend themselves on what is no training work, by its cause."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perfscope.attribution.ledger import ACCOUNTS, INDEX
from perfscope.losses.cause import OTHER_WORK, OUTSIDE, LossCause
from perfscope.losses.parts import whole_parts
from perfscope.losses.waiting import Cells
from perfscope.matching.pool import dense
from perfscope.schema.enums import Account, LossKind
from perfscope.trace.operations import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perfscope.attribution.timeline import Timeline
    from perfscope.losses.places import Places
    from perfscope.losses.steps import Steps
    from perfscope.metrics.results import Results
    from perfscope.replay.program import Program

Ints = npt.NDArray[np.int64]

_WORK = np.isin(np.arange(len(ACCOUNTS)), [INDEX[account] for account in OTHER_WORK])


def own_times(results: Results, places: Places) -> dict[LossCause, Ints]:
    """Nanoseconds of each rank by cause, shape (ranks,); waiting for others is not among them."""
    ranks = len(results.trace.ranks)
    found: defaultdict[LossCause, Ints] = defaultdict(lambda: np.zeros(ranks, np.int64))
    for position, timeline in enumerate(results.timelines):
        for cause, ns in _of_rank(results, places, position, timeline):
            found[cause][position] += ns
    return dict(found)


def _of_rank(
    results: Results, places: Places, position: int, timeline: Timeline
) -> Iterator[tuple[LossCause, int]]:
    totals = np.zeros(len(ACCOUNTS), np.int64)
    np.add.at(totals, timeline.accounts, timeline.lengths)
    yield from _other_work(results, places, timeline)
    for account in OUTSIDE:
        yield LossCause(LossKind.OUTSIDE, account), int(totals[INDEX[account]])
    yield LossCause(LossKind.UNKNOWN), int(totals[INDEX[Account.UNTRACED]])
    for kind, account in (
        (LossKind.TRANSFER, Account.COMMUNICATION_TRANSFER),
        (LossKind.COMMUNICATION, Account.COMMUNICATION_OTHER),
    ):
        whole = int(totals[INDEX[account]])
        names, weights = _operations(results, position, is_known=kind is LossKind.TRANSFER)
        for name, ns in zip(names, whole_parts(whole, weights).tolist(), strict=True):
            yield LossCause(kind, operation=name), ns


def _other_work(
    results: Results, places: Places, timeline: Timeline
) -> Iterator[tuple[LossCause, int]]:
    """Work that is no training, by account, phase and function."""
    here = np.flatnonzero(_WORK[timeline.accounts])
    if not len(here):
        return
    account, phase = timeline.accounts[here].astype(np.int64), timeline.phases[here]
    function = places.functions_of(timeline.stacks[here].astype(np.int64))
    kind = dense(account, phase.astype(np.int64), function)
    spent = np.zeros(int(kind.max()) + 1, np.int64)
    np.add.at(spent, kind, timeline.lengths[here])
    _, first = np.unique(kind, return_index=True)
    for place, ns in zip(first.tolist(), spent.tolist(), strict=True):
        yield (
            LossCause(
                LossKind.OTHER_WORK,
                ACCOUNTS[int(account[place])],
                results.phase_ids[int(phase[place])] if phase[place] >= 0 else "",
                places.name(int(function[place])),
            ),
            ns,
        )


def _operations(
    results: Results, position: int, *, is_known: bool
) -> tuple[list[str], npt.NDArray[np.float64]]:
    """Operations of a rank's main location with what each took after the wait, in nanoseconds.

    Where none is known the whole has no name.
    """
    waits, focus, rank = results.waits, results.focus, results.trace.ranks[position]
    rows = np.arange(*waits.of_rank(position).indices(len(waits.pool)))
    pool = waits.pool
    rows = rows[(pool.tid[rows] == rank.main_tid) & (waits.known[rows] == is_known)]
    begin = np.maximum(np.where(is_known, waits.need[rows], pool.enter[rows]), focus.start_ns)
    spent = np.maximum(np.minimum(pool.exit[rows], focus.end_ns) - begin, 0).astype(np.float64)
    by_code = np.bincount(pool.op[rows], spent).astype(np.float64)
    codes = np.flatnonzero(by_code)
    if not len(codes):
        return [""], np.ones(1)
    return [name_of(int(code)) for code in codes], by_code[codes]


def work_cells(
    results: Results, program: Program, steps: Steps, places: Places
) -> dict[LossCause, Cells]:
    """The same work that is no training step by step, as far as it is replayed."""
    here = np.flatnonzero(_WORK[program.work.account])
    if not len(here):
        return {}
    account, phase = program.work.account[here], program.phase[here]
    function = places.functions_of(program.stack[here])
    kind = dense(account, phase, function)
    row = program.work.row[here]
    step = steps.of_segment[program.row_segment[row]]
    order = np.argsort(kind, kind="stable")
    cuts = np.flatnonzero(np.diff(kind[order])) + 1
    found = {}
    for mine in np.split(order, cuts):
        first = mine[0]
        cause = LossCause(
            LossKind.OTHER_WORK,
            ACCOUNTS[int(account[first])],
            results.phase_ids[int(phase[first])] if phase[first] >= 0 else "",
            places.name(int(function[first])),
        )
        found[cause] = Cells(
            step[mine], program.row_rank[row[mine]], kind[mine], program.work.ns[here[mine]]
        )
    return found
