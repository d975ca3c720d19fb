"""Phases: where each kind of work took its time, by rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.ledger import ACCOUNTS, IS_COMMUNICATION
from perfscope.attribution.own_places import (
    Samples,
    Weights,
    called_below,
    outermost_own,
    samples_of,
)
from perfscope.attribution.phase_catalog import source_of
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.soundness import why_spoiled
from perfscope.attribution.timeline import RankParts
from perfscope.matching.intervals import Times
from perfscope.metrics.efficiency.factors import Efficiency
from perfscope.metrics.efficiency.hybrid import PART, has_threads
from perfscope.metrics.efficiency.pop import EMPTY, tree, withheld, without_unseen
from perfscope.metrics.efficiency.visits import visits
from perfscope.schema.common import Metric
from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.damage import Need
from perfscope.trace.model import Frame, Function, Table


@dataclass(frozen=True)
class PhaseResult:
    """One phase over the focus of analysis; phases are exclusive of the phases nested in them.

    `seconds_by_rank` follows `ranks` (all ranks of the trace, 0.0 where a rank never entered it);
    the seconds include communication inside the phase, `communication_s_by_rank` is that part.
    `source` is `marker`, `framework` or `sampled`. `windows_s` are the (start, end) of the first
    occurrences, in seconds of the trace's clock, at most 200.
    """

    id: str  # train, forward, backward, optimizer, input, evaluate, ..., user:<name>
    kind: PhaseKind
    label: str
    source: str
    ranks: tuple[int, ...]
    entering_ranks: tuple[int, ...]
    count: int
    seconds_by_rank: tuple[float, ...]
    communication_s_by_rank: tuple[float, ...]
    where: tuple[Frame, ...]  # functions that do this phase's work, most seconds first
    efficiency: Efficiency | None
    windows_s: tuple[tuple[int, float, float], ...]  # rank, start, end
    # samples at work in it, by rank, where nothing but samples tells it; empty: it was marked
    looks_by_rank: tuple[int, ...] = ()


SAMPLED = "sampled"
MAX_WINDOWS = 200
MAX_WHERE = 5

PHASE_IDEAL = Metric(None, "s", "is computed for the run as a whole only")


@dataclass(frozen=True)
class _Seen:
    """The samples of all ranks, and by stack those at work and those that only wait."""

    samples: tuple[Samples, ...]
    at_work: Weights
    waiting: Weights


@dataclass(frozen=True)
class _Entered:
    """Which ranks show which phases: by phase their positions, and the phase of each mark."""

    parts: Sequence[RankParts]
    positions: Mapping[int, Sequence[int]]
    marks: Sequence[Ints]  # of each rank

    @classmethod
    def of(cls, prepared: Prepared) -> _Entered:
        """Those that are marked, and those that samples show."""
        marks = [prepared.catalog.of_rows(prepared.trace, part.phases) for part in prepared.parts]
        positions: dict[int, list[int]] = {}
        for position, (part, own) in enumerate(zip(prepared.parts, marks, strict=True)):
            both = np.concatenate([own, part.samples.phase_rows[2]])
            for index in np.flatnonzero(np.bincount(both)).tolist():
                positions.setdefault(index, []).append(position)
        return cls(prepared.parts, positions, marks)

    def of_rank(
        self, position: int, index: int
    ) -> tuple[Table, tuple[Times, Times], tuple[Times, Times]]:
        """Where a rank marked a phase: the rows, their starts, ends; and where samples show it."""
        part = self.parts[position]
        rows = part.phases[self.marks[position] == index]
        start, end, label = part.samples.phase_rows
        marked = rows["t0"].astype(np.int64), rows["t1"].astype(np.int64)
        return rows, marked, (start[label == index], end[label == index])

    def seen(self, index: int, samples: Sequence[Samples]) -> dict[int, Bools]:
        """By position, which samples of a rank lie in a phase that it shows."""
        found = {}
        for position in self.positions.get(index, ()):
            _, *both = self.of_rank(position, index)
            starts, ends = (np.concatenate(parts) for parts in zip(*both, strict=True))
            found[position] = samples[position].within(starts, ends)
        return found


def phases(prepared: Prepared) -> tuple[PhaseResult, ...]:
    """All phases that occur in the focus of analysis, in the order of `PhaseKind`."""
    seconds, seen, entered = _seconds(prepared), _seen(prepared), _Entered.of(prepared)
    found = [
        _phase(prepared, index, seconds[index], seen, entered)
        for index in range(len(prepared.catalog.ids))
        if seconds[index].any()
    ]
    return tuple(sorted(found, key=lambda phase: (phase.kind, -sum(phase.seconds_by_rank))))


def _seconds(prepared: Prepared) -> Ints:
    """Exclusive nanoseconds by phase, rank and account, shape (phases, ranks, accounts)."""
    shape = len(prepared.catalog.ids), len(ACCOUNTS)
    result = np.zeros((shape[0], len(prepared.timelines), shape[1]), np.int64)
    for position, timeline in enumerate(prepared.timelines):
        result[:, position] = timeline.spent(prepared.focus, phases=shape[0])[1:]
    return result


def _phase(
    prepared: Prepared, index: int, account_ns: Ints, seen: _Seen, entered: _Entered
) -> PhaseResult:
    trace = prepared.trace
    total = account_ns.sum(axis=1)
    communication = account_ns[:, IS_COMMUNICATION].sum(axis=1)
    entering = np.flatnonzero(total > 0)
    windows, count, source = _windows(prepared, index, entered)
    inside = entered.seen(index, seen.samples)
    catalog = prepared.catalog
    return PhaseResult(
        id=catalog.ids[index],
        kind=catalog.kind(index),
        label=catalog.label(index),
        source=source,
        ranks=tuple(rank.number for rank in trace.ranks),
        entering_ranks=tuple(trace.ranks[position].number for position in entering.tolist()),
        count=count,
        seconds_by_rank=tuple((total / 1e9).tolist()),
        communication_s_by_rank=tuple((communication / 1e9).tolist()),
        where=_where(prepared, index, seen, inside),
        efficiency=_efficiency(prepared, index, account_ns[entering], entering.tolist()),
        windows_s=tuple(windows),
        looks_by_rank=_looks(inside, len(trace.ranks)) if source == SAMPLED else (),
    )


def _looks(inside: Mapping[int, Bools], ranks: int) -> tuple[int, ...]:
    """How often each rank was seen in a phase: at work, or in a call, which tells of it as well."""
    return tuple(int(inside[place].sum()) if place in inside else 0 for place in range(ranks))


def _efficiency(
    prepared: Prepared, index: int, account_ns: Ints, positions: Sequence[int]
) -> Efficiency:
    """The efficiency tree of the ranks that entered a phase."""
    is_hybrid = has_threads(prepared.trace)
    found = tree(
        ranks=tuple(prepared.trace.ranks[position].number for position in positions),
        window_ns=0 if is_hybrid else int(account_ns.sum(axis=1).max()),
        account_ns=account_ns * (not is_hybrid),
        foa=f"phase:{prepared.catalog.ids[index]}",
        ideal=PHASE_IDEAL,
        has_training=prepared.has_training,
        why_empty=PART if is_hybrid else EMPTY,
    )
    found = without_unseen(found, prepared.trace)
    spoiled = why_spoiled(prepared.damage, Need.EVERY_RANK)
    return found if spoiled is None else withheld(found, spoiled)


def _windows(
    prepared: Prepared, index: int, entered: _Entered
) -> tuple[list[tuple[int, float, float]], int, str]:
    """The first occurrences inside the focus, how many there are, and where they come from."""
    focus = prepared.focus
    found: list[tuple[int, float, float]] = []
    sources: dict[str, int] = {}
    count = 0
    for position in entered.positions.get(index, ()):
        part = prepared.parts[position]
        rows, marked, sampled = entered.of_rank(position, index)
        origins = ((source_of(part.rank.metadata, rows), marked), (SAMPLED, sampled))
        starts, ends = (np.concatenate(both) for both in zip(marked, sampled, strict=True))
        is_marked = np.arange(len(starts)) < len(rows)
        here = (ends > focus.start_ns) & (starts < focus.end_ns)
        count += visits(prepared, part, index, starts[here], ends[here], is_marked[here])
        for source, (first, last) in origins:
            inside = np.flatnonzero((last > focus.start_ns) & (first < focus.end_ns))
            if len(inside):
                sources[source] = sources.get(source, 0) + len(inside)
            inside = inside[:MAX_WINDOWS]  # in order of their starts, as everywhere
            found += [
                (part.rank.number, begin / 1e9, finish / 1e9)
                for begin, finish in zip(first[inside].tolist(), last[inside].tolist(), strict=True)
            ]
    source = max(sources, key=lambda name: (name != SAMPLED, sources[name]), default="framework")
    windows = sorted(found, key=lambda window: (window[1], window[0]))[:MAX_WINDOWS]
    return windows, count, source


def _where(
    prepared: Prepared, index: int, seen: _Seen, inside: Mapping[int, Bools]
) -> tuple[Frame, ...]:
    """The functions that do a phase's work, with the line seen most; first the one that is it.

    Only what was seen inside the phase counts: what ran before it is none of its functions.
    """
    labels, trace, frames = prepared.labels, prepared.trace, prepared.trace.frames
    if not frames:
        return ()
    spent, wanted = np.zeros(len(frames)), np.zeros(len(trace.stacks))
    for position, mine in inside.items():
        timeline, one = prepared.timelines[position], seen.samples[position]
        is_seen = one.by_stack(trace, mine) > 0
        if not is_seen.any():
            continue
        wanted += one.by_stack(trace, mine & one.at_work)
        here = timeline.inside(prepared.focus) & (timeline.phases == index) & (timeline.stacks >= 0)
        here[here] = is_seen[timeline.stacks[here]]
        frame = labels.label_frame[timeline.stacks[here]]
        ns = timeline.boundaries[1:][here] - timeline.boundaries[:-1][here]
        spent += np.bincount(frame, ns, minlength=len(frames))
    functions: dict[Function, list[int]] = {}
    for level in np.flatnonzero(spent).tolist():
        functions.setdefault(frames[level].key, []).append(level)
    ranked = sorted(functions.values(), key=lambda levels: -float(spent[levels].sum()))
    inner = [frames[max(levels, key=lambda i: spent[i])] for levels in ranked]
    # the user's outermost function that works only in this phase and in those inside it
    own = outermost_own(trace, wanted, total=seen.at_work, waiting=seen.waiting)
    if own is None:
        return tuple(inner[:MAX_WHERE])
    places = (own, *called_below(trace, wanted, own), *inner)
    first: dict[Function, Frame] = {}
    for place in places:
        first.setdefault(place.key, place)
    return tuple(first.values())[:MAX_WHERE]


def _seen(prepared: Prepared) -> _Seen:
    trace, none = prepared.trace, np.zeros(len(prepared.trace.stacks))
    samples = tuple(
        samples_of(part.rank, timeline, prepared.focus)
        for part, timeline in zip(prepared.parts, prepared.timelines, strict=True)
    )
    return _Seen(
        samples,
        at_work=sum((one.by_stack(trace, one.at_work) for one in samples), none),
        waiting=sum((one.by_stack(trace, ~one.at_work) for one in samples), none),
    )
