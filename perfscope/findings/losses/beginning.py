"""What is done at the beginning of a run and never again: told, but no problem of a longer run."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfscope.findings.core.finding import Evidence, Finding
from perfscope.findings.core.thresholds import FAIL_SHARE
from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.told import is_left, told_only
from perfscope.judging import FEWEST_SAMPLES, MAJOR
from perfscope.losses.patterns import FEWEST_UNITS, MOST_OF
from perfscope.metrics.results import Results
from perfscope.replay.model import Early, Edit, RefusedEditError
from perfscope.replay.replay import Replay
from perfscope.replay.segments import SCHEDULED
from perfscope.schema.enums import Status
from perfscope.units import counted, format_seconds, format_share

FROM_THE_START = ("communication_lifetime", "process_lifetime", "own_work", "steps")
"""Kinds of the focus of analysis that leave out no step at the beginning."""

ACTION = (
    "Where runs are as short as this one, keep what is made at the beginning for the next one. In "
    "a longer run, look whether it comes back."
)


def told_of_beginning(run: Facts, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings; work that only the first steps do is a note, and so is being late by it.

    That is work of which the replay takes away nearly all in the first steps, no more than a tenth
    of them or the first of several epochs, and next to none in the later ones: there it would be no
    finding. Of ranks that do more than others nothing of the kind is said, nor of what the host
    does: that may come back.
    """
    if not _is_from_the_start(run.results):
        return tuple(findings)
    epoch = _first_epoch(run.results)
    early = {
        one.id: found
        for one in findings
        if (found := _early(run.replay, one)) and _is_over(found, epoch)
    }
    if not early:
        return tuple(findings)
    noted = {one.id: _note(one, early[one.id]) for one in findings if one.id in early}
    changes = [(one.edits, noted[one.id]) for one in findings if one.id in noted]
    return tuple(noted.get(one.id) or _told_by(run, one, changes) for one in findings)


def _is_from_the_start(results: Results) -> bool:
    """Whether the first steps that are analyzed are those of the run, and none is left out."""
    focus = results.focus
    if focus.kind not in FROM_THE_START or results.whole_run is not None:
        return False
    return not any((rank.steps["t1"] <= focus.start_ns).any() for rank in results.trace.ranks)


def _early(replay: Replay, finding: Finding) -> Early | None:
    """How far what a finding is worth lies in the first steps; None where that is not asked."""
    gain = finding.gain
    if gain is None or gain.is_once or not gain.edits or not _is_told(finding.status):
        return None
    if not all(map(_takes_work_away, gain.edits)):
        return None
    try:
        found = replay.predict(gain.edits)
    except RefusedEditError:
        return None
    return found.early if found else None


def _is_told(status: Status) -> bool:
    """Whether it is a fault, or would be if it were more certain."""
    return status.is_fault or status is Status.INFO


def _takes_work_away(edit: Edit) -> bool:
    """Whether it leaves work of the program out that it does as it comes, and waits for no CPU."""
    named = (edit.account, edit.activity, edit.function, edit.phase)
    is_work = any(one is not None for one in named) and edit.account not in SCHEDULED
    is_leveled = edit.level is not None or edit.waits_for_cpu or edit.background
    return is_work and not is_leveled and edit.factor < 1.0


def _first_epoch(results: Results) -> int:
    """The steps of the first epoch, where the program tells it and several later ones; else 0."""
    found = []
    for rank in results.trace.ranks:
        epochs = rank.steps["epoch"]
        numbers = np.unique(epochs)
        is_told = len(numbers) > FEWEST_SAMPLES and numbers[0] >= 0
        found.append(int(np.count_nonzero(epochs == numbers[0])) if is_told else 0)
    return min(found, default=0)


def _is_over(found: Early, epoch: int) -> bool:
    """Whether next to none of it is left behind the first steps; a single one is judged as such.

    What the later ones of several epochs do without belongs to the first one, however long it is.
    """
    is_of_several = found.of >= 2 * FEWEST_UNITS and found.steps > max(1, found.of // 100)
    is_most = found.gain_s >= MOST_OF * (found.gain_s + found.rest_s)
    is_little_left = found.rest_s < FAIL_SHARE * found.rest_length_s
    is_short = found.steps <= max(MAJOR * found.of, epoch)
    return is_of_several and is_short and is_most and is_little_left


def _note(finding: Finding, found: Early) -> Finding:
    first = f"the first {found.steps:,} of {found.of:,} steps"
    share = found.gain_s / (found.gain_s + found.rest_s)
    later = counted(found.of - found.steps, "step")
    left = found.rest_s / found.rest_length_s
    return replace(
        finding,
        status=Status.INFO,
        title=f"{finding.title}, only in {first}",
        summary=(
            f"{finding.summary} {format_share(share)} of that lies in {first}. Without it this "
            f"run would be {format_seconds(found.gain_s)} shorter in these steps; the other "
            f"{later} would be {format_share(left)} shorter. Whether a longer run pays for it "
            "again, one recording cannot show."
        ),
        first=None,
        evidence=(
            *finding.evidence,
            Evidence(f"Saved without it in {first}", found.gain_s, "s"),
            Evidence(f"Saved without it in the other {later}", found.rest_s, "s", "near 0"),
        ),
        actions=(ACTION,),
    )


def _told_by(
    run: Facts, finding: Finding, changes: Sequence[tuple[tuple[Edit, ...], Finding]]
) -> Finding:
    """A finding that is about the waiting for such work has no cause of its own."""
    if not finding.status.is_fault or not finding.edits:
        return finding
    tells = (note for edits, note in changes if not is_left(finding, edits, run.savings))
    note = next(tells, None)
    return told_only(finding, note.id, note.title) if note else finding
