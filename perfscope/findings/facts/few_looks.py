"""What nothing but stack samples tells: too few of them are chance, and blame nothing."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.timeline import account_of
from perfscope.findings.core.finding import Finding
from perfscope.judging import SURE
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.schema.enums import Confidence, Status
from perfscope.units import counted


def is_clear(looks: int) -> bool:
    """Whether so many samples are more than none beyond chance.

    How often looks meet something varies by the root of that (Poisson): the 95 % interval of what
    they stand for is clear of zero from four on.
    """
    return looks > SURE**2


def as_sure_as_its_looks(results: Results, finding: Finding) -> Finding:
    """The finding; a note where what it would take away was met by a few samples alone.

    A sample stands for the time until the next one, which may be much in a short run or on a busy
    machine. That holds for what is planned by the program, or comes once, as well.
    """
    looks = looks_behind(results, finding.edits) if finding.status.is_fault else None
    if looks is None or is_clear(looks):
        return finding
    rests = f"It rests on {counted(looks, 'sample')} of the stack, which may be chance."
    return replace(
        finding,
        status=Status.INFO,
        confidence=Confidence.LOW,
        summary=f"{finding.summary} {rests}",
    )


def looks_behind(results: Results, edits: Sequence[Edit]) -> int | None:
    """How many samples tell of what edits take away; None where something else tells any of it."""
    found = [
        _of_stacks(results, one) if _is_by_stack(one) else _of_phases(results, one) for one in edits
    ]
    known = [looks for looks in found if looks is not None]
    return sum(known) if known and len(known) == len(found) else None


def _is_by_stack(edit: Edit) -> bool:
    return edit.function is not None or edit.activity is not None


def _of_phases(results: Results, edit: Edit) -> int | None:
    """Those in the phases of an edit; None where one of these was marked, or it is of none.

    Nor is it known where none lies in them: what a rank does between calls is also told by samples
    in between the same calls elsewhere.
    """
    phases = [
        one
        for one in results.phases
        if (one.id == edit.phase if edit.phase else account_of(one.kind) is edit.account)
    ]
    if (edit.account is None and edit.phase is None) or not all(
        one.looks_by_rank for one in phases
    ):
        return None
    looks = [
        count
        for one in phases
        for rank, count in zip(one.ranks, one.looks_by_rank, strict=True)
        if edit.ranks is None or rank in edit.ranks
    ]
    return sum(looks) or None


def _of_stacks(results: Results, edit: Edit) -> int | None:
    """Those in the function and the activity of an edit; None where none met what is known of."""
    trace, labels = results.trace, results.labels
    if labels is None:
        return None
    chosen = np.ones(len(trace.stacks), np.bool_)
    if edit.activity is not None:
        chosen &= stack_activities(trace) == ACTIVITIES.index(edit.activity)
    if edit.function is not None:
        is_it = np.array([*(one.key == edit.function for one in trace.frames), False], np.bool_)
        chosen &= is_it[labels.user_frame]
    looks = 0
    for rank in trace.ranks:
        if edit.ranks is None or rank.number in edit.ranks:
            looks += int(chosen[results.focus.within(rank.main_stacks)["stack"]].sum())
    return looks or None
