"""What all metrics are computed from: waits, samples, focus and the timelines of the ranks.

Another thread looks at stacks, and gets to it where the main one lets go of the interpreter: more
often than not at a call for communication. Such a sample also speaks for the work around the call,
of which it knows the function; what the call does it must not pass off as that work.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Ints, is_one_of, neighbors
from perfscope.attribution.acting import with_acting, without_parts_of_training
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.ends_of_calls import with_ends_of_calls
from perfscope.attribution.exposed import with_exposed_communication
from perfscope.attribution.feeding import Feeding
from perfscope.attribution.focus import Focus, focus_of_analysis
from perfscope.attribution.periodic_metrics import rare_figures, step_ends
from perfscope.attribution.phase_catalog import PhaseCatalog
from perfscope.attribution.rhythms import rhythms, with_rhythms
from perfscope.attribution.sampled import sample_ranks
from perfscope.attribution.sole_work import with_sole_work
from perfscope.attribution.soundness import damages
from perfscope.attribution.stack_rules import (
    BUILT_IN,
    NATIVE_FILES,
    TRAINING_KINDS,
    StackLabels,
    label_stacks,
)
from perfscope.attribution.timeline import (
    MOST_AT_ONCE,
    RankParts,
    Timeline,
    blocking_layer,
    build_timeline,
)
from perfscope.attribution.together import Asked
from perfscope.judging import AT_THE_DOOR_NS
from perfscope.matching.intervals import EMPTY_LAYER
from perfscope.matching.waits import Waits, split_operations
from perfscope.parallel import each
from perfscope.schema.enums import Activity
from perfscope.standstill.found import Standstill, standstill
from perfscope.structures import dataclass
from perfscope.trace.damage import Damage
from perfscope.trace.model import Frame, Rank, Trace
from perfscope.trace.splicing import spliced

CALL = Frame("mpi4py.MPI", BUILT_IN, 0)
"""What stands for a call of which it is not told what it does."""

BEGINS_A_CALL = (Activity.COMMUNICATION, Activity.SERIALIZATION)
"""What is seen where the interpreter is let go of, before a call is entered.

What converts an object there is given to the call only where nothing else tells of a conversion: it
speaks for a gap that is no longer than that takes, and for one in which it is seen earlier, too.
"""


def with_bare_stacks(trace: Trace) -> tuple[Trace, Ints]:
    """The trace with a stack more for each whose leaf is no Python code, in which a call stands.

    Samples inside operations get these. Also told is for each stack the one that stands for it
    where it was not seen itself: itself where its leaf is Python code, or computes, as what is
    around a call does; shape (stacks,).
    """
    native = {place for place, frame in enumerate(trace.frames) if frame.file in NATIVE_FILES}
    stacks = list(trace.stacks)
    bare = np.arange(len(stacks))
    for place, stack in enumerate(trace.stacks):
        if stack and stack[-1] in native:
            bare[place] = len(stacks)
            stacks.append((*stack[:-1], len(trace.frames)))
    if len(stacks) == len(trace.stacks):
        return trace, bare
    activities = stack_activities(trace)
    ranks = [_with_calls(rank, bare, activities) for rank in trace.ranks]
    computes = activities == ACTIVITIES.index(Activity.NUMERIC)
    around = np.where(computes, np.arange(len(bare)), bare)
    whole = np.concatenate([around, np.arange(len(bare), len(stacks))])
    return replace(trace, ranks=ranks, frames=[*trace.frames, CALL], stacks=stacks), whole


def _with_calls(rank: Rank, bare: Ints, activities: npt.NDArray[np.int8]) -> Rank:
    rows = rank.stacks.copy()
    inside = _in_calls(rank, activities)
    stacks: Ints = rows["stack"]
    stacks[inside] = bare[stacks[inside]]
    return replace(rank, stacks=rows)


def _in_calls(rank: Rank, activities: npt.NDArray[np.int8]) -> Bools:
    """Which samples of the main thread lie in one of its operations, or at the door to one."""
    samples, operations = rank.stacks, rank.operations
    main = operations[operations["tid"] == rank.main_tid]
    if not len(main) or not len(samples):
        return np.zeros(len(samples), np.bool_)
    order = np.argsort(main["t0"], kind="stable")
    enter, leave = main["t0"][order], np.maximum.accumulate(main["t1"][order])
    at = samples["t"]
    place = np.searchsorted(enter, at, side="right") - 1
    inside = (place >= 0) & (at <= leave[np.maximum(place, 0)])
    later = np.minimum(place + 1, len(enter) - 1)
    is_near = (enter[later] > at) & (enter[later] - at < AT_THE_DOOR_NS)
    activity = activities[samples["stack"]]
    converts = activity == ACTIVITIES.index(Activity.SERIALIZATION)
    since = np.where(place >= 0, leave[np.maximum(place, 0)], rank.start_ns)
    is_long = enter[later] - since > AT_THE_DOOR_NS
    is_main = (samples["tid"] == rank.main_tid) & (samples["stack"] >= 0)
    line = place * (len(activities) + 1) + samples["stack"]
    is_alone = ~np.isin(line, line[converts & is_main & ~inside & ~is_near])
    begins = np.isin(activity, [ACTIVITIES.index(one) for one in BEGINS_A_CALL])
    inside |= is_near & begins & (~converts | (is_long & is_alone))
    return np.asarray(inside & is_main)


@dataclass(frozen=True)
class Prepared:
    """A trace, digested; lists follow `Trace.ranks`."""

    trace: Trace
    focus: Focus
    waits: Waits
    labels: StackLabels
    catalog: PhaseCatalog
    parts: tuple[RankParts, ...]
    timelines: tuple[Timeline, ...]
    damage: tuple[Damage, ...]  # what is wrong with the recording as a whole
    standstill: Standstill | None = None
    """The end of the run in which nobody got on; None where it ended otherwise."""
    whole: "Prepared | None" = None
    """The whole run with its own times, where the trace was put together from pieces of it."""

    @property
    def of_samples(self) -> "Prepared":
        """What samples are looked at in: they are of the whole run."""
        return self.whole or self

    @property
    def has_training(self) -> bool:
        """Whether anything tells what training work is: marks, steps, or sampled functions."""
        return any(
            len(parts.rank.steps)
            or np.any(np.isin(parts.phases["kind"], TRAINING_KINDS))
            or parts.samples.is_training
            for parts in self.parts
        )


def prepare(
    trace: Trace,
    *,
    request: str | None = None,
    rules: Sequence[tuple[str, str]] = (),
    focus: Focus | None = None,
    when_matched: Callable[[Trace, Waits | None], None] | None = None,
) -> Prepared:
    """Digests a trace.

    `request` is the text of `--foa`; it is not looked at where the focus is already known.
    `when_matched` is called with what is digested, and its waits, as soon as calls are matched, and
    once before without waits, when nobody asks for completions any more; the trace is used up then.

    Raises:
        UsageError: the requested focus makes no sense.
    """
    trace = spliced(trace)
    whole = None if trace.whole is None else _digest(trace.whole, request, rules, None)
    return replace(_digest(trace, request, rules, focus, when_matched), whole=whole)


def _digest(
    trace: Trace,
    request: str | None,
    rules: Sequence[tuple[str, str]],
    focus: Focus | None,
    when_matched: Callable[[Trace, Waits | None], None] | None = None,
) -> Prepared:
    trace = with_acting(with_ends_of_calls(with_exposed_communication(trace)))
    trace, bare = with_bare_stacks(trace)
    if when_matched is None:
        waits = split_operations(trace)
    else:
        waits = split_operations(trace, when_completed=lambda one: when_matched(one, None))
        when_matched(trace, waits)
    held_up = standstill(trace)
    if focus is None and request is None:
        focus = focus_of_analysis(trace, deadlock_ns=_deadlock_ns(trace, held_up))
    ends = step_ends(trace, waits) if trace.stacks else []
    labels = label_stacks(trace, rules, rare_figures(trace, ends))
    feeding = Feeding(trace)
    labels = without_parts_of_training(trace, labels, rules, feeding)
    labels = with_rhythms(trace, labels, rhythms(trace, ends), feeding)
    labels = with_sole_work(trace, labels, rules)
    catalog = PhaseCatalog.of(trace, labels.ids)
    rows = len(waits.pool)
    sizes = [len(rank.operations) + len(rank.stacks) for rank in trace.ranks]
    groups = neighbors(sizes, MOST_AT_ONCE)
    made: Callable[[range], list[RankParts]] = partial(_parts, trace, labels, catalog, bare)
    if focus is None:
        parts = list(chain.from_iterable(each(made, groups, rows=rows)))
        focus = focus_of_analysis(trace, request, phases=_phase_windows(trace, parts, catalog))
        made = partial(_some, parts)

    def finished(positions: range, focus: Focus = focus) -> list[tuple[RankParts, Timeline]]:
        return [
            (_without_layers(part), build_timeline(trace, part, catalog, waits, focus))
            for part in made(positions)
        ]

    ranks = list(chain.from_iterable(each(finished, groups, rows=rows)))
    found = damages(trace, focus, waits)
    together = tuple(part for part, _ in ranks), tuple(timeline for _, timeline in ranks)
    return Prepared(trace, focus, waits, labels, catalog, *together, found, held_up)


def _some(parts: Sequence[RankParts], positions: range) -> list[RankParts]:
    return [parts[position] for position in positions]


def _deadlock_ns(trace: Trace, found: Standstill | None) -> int | None:
    """From when on all ranks waited for each other; of kept steps alone that is not in them."""
    if found is None or not found.is_deadlock or trace.whole is not None:
        return None
    return found.since_ns


def _without_layers(part: RankParts) -> RankParts:
    """The parts without what only the timeline needs: much memory in a long run."""
    samples = replace(part.samples, functions=EMPTY_LAYER, phases=EMPTY_LAYER)
    return replace(part, samples=samples)


def _parts(
    trace: Trace, labels: StackLabels, catalog: PhaseCatalog, bare: Ints, positions: Sequence[int]
) -> list[RankParts]:
    """Of some ranks."""
    marked, asked = [], []
    for rank in (trace.ranks[position] for position in positions):
        rows = rank.phases[rank.phases["tid"] == rank.main_tid]
        has_training = bool(np.any(is_one_of(rows["kind"], TRAINING_KINDS)) or len(rank.steps))
        asked.append(Asked(rank, blocking_layer(rank, rows, catalog, trace), has_training))
        marked.append(rows)
    ids = np.array([catalog.index(name) for name in labels.ids], np.int64)
    samples = sample_ranks(asked, labels, bare=bare, ids=ids)
    return [
        RankParts(one.rank, position, rows, one.blocking, own)
        for one, position, rows, own in zip(asked, positions, marked, samples, strict=True)
    ]


def _phase_windows(
    trace: Trace, parts: Sequence[RankParts], catalog: PhaseCatalog
) -> dict[str, tuple[int, int]]:
    """From the first start to the last end of each phase, by id."""
    windows: dict[str, tuple[int, int]] = {}
    for part in parts:
        index = catalog.of_rows(trace, part.phases)
        starts = np.concatenate([part.phases["t0"], part.samples.phase_rows[0]])
        ends = np.concatenate([part.phases["t1"], part.samples.phase_rows[1]])
        every = np.concatenate([index, part.samples.phase_rows[2]])
        for place in np.unique(every).tolist():
            here = every == place
            known = windows.get(catalog.ids[place])
            window = int(starts[here].min()), int(ends[here].max())
            if known is not None:
                window = min(known[0], window[0]), max(known[1], window[1])
            windows[catalog.ids[place]] = window
    return windows
