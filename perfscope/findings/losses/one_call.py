"""Groups of losses that are mostly one call of the program: one change takes all of them away."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.findings.facts.facts import Facts
from perfscope.findings.losses.callees import callee_of
from perfscope.findings.losses.groups import BOUNDED, Group
from perfscope.findings.losses.one_place import main_line
from perfscope.losses.entry import Saving
from perfscope.schema.enums import LossKind


def joined(run: Facts, found: Sequence[Group]) -> list[Group]:
    """The groups; those that are mostly one call at one line are one, called by the costliest.

    A call that unpacks what it reads is told with both, and with what both save together; each by
    itself where nothing can be said of that.
    """
    calls: dict[object, list[Group]] = {}
    for number, group in enumerate(found):
        call = _call(run, group)
        own = calls.setdefault(number if call is None else call, [])
        joint = _together(run, own[-1], group) if own else None
        own[-1:] = [*own[-1:], group] if joint is None else [joint]
    return [group for own in calls.values() for group in own]


def _call(run: Facts, group: Group) -> object:
    """The line and the call in which most of a group is lost; None where no samples show one."""
    first = group.entries[0]
    line, is_work = main_line(group), first.cause.kind is LossKind.OTHER_WORK
    if line is None or not is_work or first.cause.activity not in BOUNDED:
        return None
    callee = callee_of(run.results, first)
    return None if callee is None else (*line, callee.name)


def _together(run: Facts, one: Group, other: Group) -> Group | None:
    """Both as one group; None where nothing can be said of what they save together."""
    lead, rest = sorted((one, other), key=lambda group: -group.saving.seconds)
    edits = tuple(dict.fromkeys((*lead.saving.edits, *rest.saving.edits)))
    saving = run.savings.bound(edits)
    if not isinstance(saving, Saving):
        return None
    first, *others = lead.entries
    entries = (first, *sorted((*others, *rest.entries), key=lambda entry: -entry.ns))
    return replace(lead, entries=entries, saving=saving)
