"""Calls that are a part of work that is left out: the gather of a checkpoint that is not made."""

from __future__ import annotations

import numpy as np

from perfscope.arrays import Bools, Floats, Int32s, Ints
from perfscope.attribution.stack_rules import kind_of_id
from perfscope.attribution.timeline import SPECIAL_ACCOUNTS
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.replay.occurrences import factors
from perfscope.replay.program import Program


def without_left_out(results: Results, program: Program, edit: Edit, transfer: Floats) -> Floats:
    """Transfer of each row when every so many-th time is kept, in nanoseconds, shape (rows,).

    What ranks call in a time that is left out takes none; they still meet there, so that no more is
    said to be saved than the calls took.
    """
    places = _phases_of(edit, program.phase_ids)
    if edit.keep_every is None or not places or program.pool_row is None:
        return transfer
    calls = program.pool_row.all()
    known = np.flatnonzero(calls >= 0)
    enter = results.waits.pool.some("enter", calls[known])
    column = program.row_rank[known]
    chosen = _inside(results, program, edit, places, column, enter)
    rows, result = known[chosen], transfer.copy()
    number = np.zeros(len(rows), np.int64)
    if program.marks is not None:
        marks = program.marks.chosen(edit, program.phase_ids)
        number = program.marks.numbers(marks, column[chosen], enter[chosen])
    result[rows] *= factors(column[chosen], number, transfer[rows], edit.keep_every)
    return result


def _phases_of(edit: Edit, phase_ids: tuple[str, ...]) -> list[int]:
    """The phases that an edit means: the one that it names, else those of its account."""
    if edit.phase is not None:
        return [place for place, name in enumerate(phase_ids) if name == edit.phase]
    if edit.account is None:
        return []
    kinds = {kind for kind, account in SPECIAL_ACCOUNTS.items() if account is edit.account}
    return [place for place, name in enumerate(phase_ids) if kind_of_id(name) in kinds]


def _inside(
    results: Results,
    program: Program,
    edit: Edit,
    places: list[int],
    column: Int32s,
    enter: Ints,
) -> Bools:
    """Which calls begin in one of some phases, on a rank of the edit, shape (calls,)."""
    chosen = np.zeros(len(column), np.bool_)
    for position, number in enumerate(program.ranks):
        if edit.ranks is None or number in edit.ranks:
            timeline = results.timelines[position]
            mine = np.flatnonzero(column == position)
            chosen[mine] = np.isin(timeline.phases[timeline.at(enter[mine])], places)
    return chosen
