"""Losses to files whose bytes are read again and again: by lookups that go through all, mostly."""

from collections.abc import Sequence

from perfscope.findings.core.wording import place
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.repeated_reads import ReadAgain, once, read_again, read_anew
from perfscope.findings.losses.callees import Callee
from perfscope.findings.losses.groups import Group
from perfscope.findings.losses.words import mainly, spent_by
from perfscope.schema.enums import Activity


def seen(run: Facts, group: Group) -> ReadAgain | None:
    """Whether the ranks that read and write files most read the same bytes again and again."""
    first = group.entries[0]
    if first.cause.activity is not Activity.FILES:
        return None
    ranks = [one for one in run.results.trace.ranks if one.number in first.ranks]
    calls = _calls(run, group)
    found = [read_again(run.results, one, calls) for one in ranks]
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return None
    return min(known, key=lambda one: one.times)


def anew(run: Facts, group: Group, callee: Callee | None) -> str:
    """Which file each step reads anew while a library works on it, as a sentence; "" where none is.

    Making tables of it, and not reading it, is what takes the time then.
    """
    if callee is None:
        return ""
    ranks = [one for one in run.results.trace.ranks if one.number in group.ranks]
    found = [read_anew(run.results, one) for one in ranks]
    if not found or found[0] is None or None in found:
        return ""
    return f" {once(ranks[0], found[0])}"


def _calls(run: Facts, group: Group) -> str:
    """The function of a library or of C that most time of the first place is spent in."""
    frame = group.entries[0].frame
    rows = [
        one
        for one in run.results.activities.rows
        if one.activity is Activity.FILES and one.where is not None and frame is not None
        if one.where.key == frame.key
    ]
    return max(rows, key=lambda one: one.ns).calls if rows else ""


def title(again: ReadAgain, group: Group, world: Sequence[int]) -> str:
    """What is read over and over, and where."""
    where = place(group.entries[0].frame)
    inside = f", {mainly(group)}in {where}" if where else ""
    return f"Reading {again.what} over and over takes {spent_by(group, world)}{inside}"
