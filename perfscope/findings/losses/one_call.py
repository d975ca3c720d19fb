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

    A call that unpacks what it reads is told with both, and with what both save together.
    """
    calls: dict[object, Group] = {}
    for number, group in enumerate(found):
        call = _call(run, group)
        key = number if call is None else call
        before = calls.get(key)
        calls[key] = group if before is None else _together(run, before, group)
    return list(calls.values())


def _call(run: Facts, group: Group) -> object:
    """The line and the call in which most of a group is lost; None where no samples show one."""
    first = group.entries[0]
    line, is_work = main_line(group), first.cause.kind is LossKind.OTHER_WORK
    if line is None or not is_work or first.cause.activity not in BOUNDED:
        return None
    callee = callee_of(run.results, first)
    return None if callee is None else (*line, callee.name)


def _together(run: Facts, one: Group, other: Group) -> Group:
    """Both as one group; as they were found where nothing can be said of what they save."""
    lead, rest = sorted((one, other), key=lambda group: -group.saving.seconds)
    edits = tuple(dict.fromkeys((*lead.saving.edits, *rest.saving.edits)))
    saving = run.savings.bound(edits)
    if not isinstance(saving, Saving):
        return lead
    first, *others = lead.entries
    entries = (first, *sorted((*others, *rest.entries), key=lambda entry: -entry.ns))
    return replace(lead, entries=entries, saving=saving)
