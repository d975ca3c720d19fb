"""Where the run went: parts that add up to its length, and what the verdict is about."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from perfscope.document.headline import mean_spent_s, outside_s
from perfscope.findings.losses.words import OF_ACTIVITY
from perfscope.losses.entry import NO_LOSS
from perfscope.metrics.results import Results
from perfscope.schema.enums import LossKind
from perfscope.schema.losses import LossEntry, Losses
from perfscope.schema.time import TimePart
from perfscope.units import NS, format_seconds

LEAST_SHARE = 0.0005
"""Of the run: less than this outside of the processes is how clocks are read."""

SMALL = 0.01
"""Of the run: several parts that are smaller are told together."""

MOST_CAUSES = 3


def breakdown(
    results: Results, lost: Losses, first: str | None, *, is_lost: bool
) -> tuple[TimePart, ...]:
    """The `breakdown` of analysis.json.

    `first` is the id of the finding that the verdict leads with; without one, `is_lost` has the
    rows tell what most was lost to.
    """
    run_s, ranks = results.run_s, len(results.trace.ranks)
    if run_s <= 0 or not ranks:
        return ()
    means = mean_spent_s(results)
    parts = [
        TimePart(one.value, one.label, one.meaning, seconds, seconds / run_s)
        for one, seconds in means.items()
        if seconds > 0
    ]
    parts += [
        TimePart(one.value, one.label, one.meaning, seconds, seconds / run_s)
        for one, seconds in outside_s(results)
        if seconds > LEAST_SHARE * run_s
    ]
    parts = _small_together(parts)
    named = {one.label for one in parts}
    entries = _of_finding(lost, first) if first else _most(lost) if is_lost else []
    parts.extend(_causes(entries, named, run_s=run_s, ranks=ranks))
    return tuple(parts)


def _small_together(parts: Sequence[TimePart]) -> list[TimePart]:
    """The parts, those that hardly count as one, which names them."""
    small = [one for one in parts if one.share < SMALL]
    if len(small) < 2:
        return list(parts)
    names = ", ".join(one.label for one in small)
    meaning = " ".join(f"{one.label}: {format_seconds(one.seconds)}." for one in small)
    seconds, share = sum(one.seconds for one in small), sum(one.share for one in small)
    kept = [one for one in parts if one not in small]
    return [*kept, TimePart("others", names, meaning, seconds, share)]


def _of_finding(lost: Losses, first: str) -> list[LossEntry]:
    """The entries that a finding explains; of transfer also what others waited for."""
    mine = [one for one in lost.entries if first in one.findings]
    if any(one.kind is LossKind.TRANSFER for one in mine):
        mine += [
            one
            for one in lost.entries
            if one.kind is LossKind.TRANSFER and not one.own_ns and one not in mine
        ]
    return mine


def _most(lost: Losses) -> list[LossEntry]:
    """What most was lost to in the analyzed window, as far as that is known."""
    return [one for one in lost.entries if one.kind not in NO_LOSS][:1]


def _causes(
    entries: Sequence[LossEntry], named: set[str], *, run_s: float, ranks: int
) -> Iterator[TimePart]:
    """Rows of causes that no account is called by; none where the largest one is."""
    together: defaultdict[tuple[LossKind, str], list[LossEntry]] = defaultdict(list)
    largest = max(entries, key=lambda one: one.ns, default=None)
    if largest is not None and _has_row(largest, named):
        return
    for one in entries:
        if not _has_row(one, named):
            together[one.kind, "" if one.kind is LossKind.TRANSFER else _label(one)].append(one)
    for (kind, label), members in [*together.items()][:MOST_CAUSES]:
        seconds = sum(_in_run_s(one, one.ns) for one in members) / ranks
        if seconds < SMALL * run_s:
            continue
        waiting_s = sum(_in_run_s(one, one.waiting_ns) for one in members) / ranks
        activity = members[0].activity
        meaning = kind.meaning if activity is None else activity.meaning
        name = label or (_label(members[0]) if len(members) == 1 else kind.label)
        yield TimePart("of_verdict", name, meaning, seconds, seconds / run_s, waiting_s)


def _has_row(entry: LossEntry, named: set[str]) -> bool:
    """Whether the row of an account says it already."""
    return entry.waiting_ns == 0 and entry.label in named


def _in_run_s(entry: LossEntry, ns: int) -> float:
    """A part of what is lost, in all of the run: steps that were left out lose as kept ones do."""
    if entry.run_s is None or not entry.ns:
        return ns * NS
    return entry.run_s * ns / entry.ns


def _label(entry: LossEntry) -> str:
    """What findings call it."""
    if entry.activity in OF_ACTIVITY:
        return OF_ACTIVITY[entry.activity][0]
    return entry.label
