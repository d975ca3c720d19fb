"""Entries of the loss account that one change would take away together."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from perfscope.losses.account import TAKES_PART
from perfscope.losses.entry import Entry, NoSaving, Saving
from perfscope.losses.savings import BY_TURNS, Savings, by_time, edits_of
from perfscope.replay.model import Edit, Level
from perfscope.schema.enums import Activity, LossKind, LossPattern
from perfscope.structures import dataclass
from perfscope.trace.operations import BY_NAME, OperationClass

FASTEST = 1e9
"""Times as fast: a network that takes no time."""

NEEDED = (
    *(Activity.DATA_PREPARATION, Activity.TEXT),
    *(Activity.UNPACKING, Activity.COMPRESSION, Activity.HASHING),
)
"""Work that has to be done all the same, at another time, beside the steps, or for less."""


BOUNDED = (*NEEDED, Activity.INTERPRETER, Activity.SERIALIZATION, Activity.FILES)
"""Work of which a change leaves a part, and nobody knows how little: all of it bounds a saving."""


@dataclass(frozen=True)
class Group:
    """Losses of one kind, most first."""

    id: str  # what they are called in analysis.json
    entries: tuple[Entry, ...]  # what the account holds of them
    saving: Saving  # what the run would be shorter by without all of them

    @property
    def ns(self) -> int:
        """What was lost to them."""
        return sum(entry.ns for entry in self.entries)

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks that cause most of it, those that cause most first."""
        caused: Counter[int] = Counter()
        for entry in self.entries:
            caused.update(dict.fromkeys(entry.ranks, entry.ns))
        least = TAKES_PART * max(caused.values(), default=0)
        ranks = dict.fromkeys(rank for entry in self.entries for rank in entry.ranks)
        return tuple(rank for rank in ranks if caused[rank] >= least)


def groups(
    entries: Sequence[Entry], savings: Savings, after: Sequence[Edit] = ()
) -> tuple[Group, ...]:
    """What is lost, by what would change it; what nothing can be said of is left out."""
    together: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if identity := _identity(entry):
            together[identity].append(entry)
    found = []
    for identity, members in together.items():
        saving = _saving(members, savings, after)
        if isinstance(saving, Saving):
            found.append(Group(identity, tuple(members), saving))
    return tuple(found)


def lost_to(activity: Activity) -> str:
    """The identity of the group of what is lost to an activity."""
    return f"lost_to_{activity.value}"


def lost_to_waiting(pattern: LossPattern) -> str:
    """The identity of the group of waiting that comes in a pattern."""
    return f"lost_to_{pattern.value}_waiting"


def _identity(entry: Entry) -> str:
    """What losses that go together share; "" where diagnoses of their own judge all of them."""
    cause = entry.cause
    if entry.causes > 1:
        return ""
    if cause.activity is not None:
        return lost_to(cause.activity)
    if cause.kind is LossKind.WAITING and entry.pattern is not None:
        return lost_to_waiting(entry.pattern)
    if cause.kind is LossKind.COMMUNICATION:
        return _of_calls(entry)
    return "lost_to_transfer" if cause.kind is LossKind.TRANSFER else ""


def _of_calls(entry: Entry) -> str:
    """What calls are that are told by their class; "" of others, which have diagnoses of their own.

    Communicators are made by most programs before the steps: only what is made in them is lost.
    """
    found = class_of(entry.cause.operation)
    if found is OperationClass.ONE_SIDED:
        return "lost_to_one_sided_communication"
    is_in_steps = found is OperationClass.COMMUNICATOR and entry.pattern is not None
    return "lost_to_communicators" if is_in_steps else ""


def class_of(operation: str) -> OperationClass | None:
    """The class of an operation; None unknown."""
    found = BY_NAME.get(operation)
    return found.cls if found else None


def _saving(entries: Sequence[Entry], savings: Savings, after: Sequence[Edit]) -> Saving | NoSaving:
    first = entries[0]
    if first.cause.kind is LossKind.COMMUNICATION:
        return by_time(entries)
    if not savings.can_replay:
        return NoSaving("") if first.cause.kind is LossKind.WAITING else by_time(entries)
    if first.cause.kind is LossKind.TRANSFER:
        return savings.bound([Edit(factor=1.0, network=FASTEST)], after=after)
    if first.cause.activity is not None:
        edits = dict.fromkeys(
            edit if one.without else replace(edit, ranks=None)
            for one in entries
            for edit in edits_of(one)
        )
        is_bound = first.cause.activity in NEEDED or any(one.without for one in entries)
        price = savings.bound if is_bound else savings.replayed
        return price(list(edits), after=after)
    if first.pattern is LossPattern.SERIAL:
        return savings.without_turns(sum(one.ns for one in entries), after)
    if first.pattern in (LossPattern.ALTERNATING, LossPattern.CHAINED):
        found = savings.bound([edit for one in entries for edit in edits_of(one)], after=after)
    elif first.pattern in BY_TURNS:
        found = savings.bound([Edit(level=Level.SHARED)], after=after)
    else:
        edits = dict.fromkeys(edit for one in entries for edit in edits_of(one))
        found = savings.replayed(list(edits), after=after)
    return savings.no_more_than_waited(found, entries)
