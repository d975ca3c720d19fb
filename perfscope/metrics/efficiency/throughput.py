"""Throughput: the samples of the steps, and how many the job trained on a second."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Ints, is_one_of
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.soundness import why_spoiled
from perfscope.attribution.timeline import Timeline
from perfscope.joined import Joined
from perfscope.matching.intervals import Cumulative, union
from perfscope.schema.common import Metric
from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.damage import Need
from perfscope.trace.divided_batches import are_divided
from perfscope.trace.model import Rank, Table
from perfscope.units import NS

UNKNOWN_SAMPLES = (
    "the job did not report samples per step; to report them, call perfscope.step(samples=N)"
)
ONLY_FIRST = (
    "only the first step reported samples: the others may have trained on the same again; to "
    "report theirs, call perfscope.step(samples=N)"
)
NOT_TOLD = "the steps were not told, and are those of a pattern"
_APART = (PhaseKind.EVALUATE, PhaseKind.PREDICT, PhaseKind.CHECKPOINT)
"""What is no training where it lies between the steps."""

_PROGRESS = "user:progress"
"""What samples call the computation of figures that only tell how far the training is."""

Spans = tuple[Ints, Ints]
"""Begins and ends."""


@dataclass(frozen=True)
class Samples:
    """Samples of each step, one array a rank, and of all ranks together in the focus.

    Ranks that hold parts of one model are given the same samples, and so are those that divide what
    all of them loaded: those of one of them count.
    """

    by_rank: Sequence[npt.NDArray[np.int64]]
    total: int


def samples_of(
    ranks: Sequence[Rank], tables: Sequence[Table], counts: Sequence[int]
) -> Samples | None:
    """What the steps tell, else their global batch, else the agent's batch size; None unknown.

    Tables hold the steps that ended inside the focus, in order of time; `counts` also those that a
    pattern told.
    """
    told = _once_a_model(ranks, [table["samples"].astype(np.int64) for table in tables])
    if total := sum(int(one.sum()) for one in told):
        return Samples(told, total)
    longest = max(range(len(tables)), key=lambda place: len(tables[place]), default=None)
    if longest is not None:
        batches = tables[longest]["global_batch"].astype(np.int64)
        if total := int(batches.sum()):
            none = np.empty(0, np.int64)
            return Samples([batches if i == longest else none for i in range(len(ranks))], total)
    sizes = [agent_batch_size(rank.metadata) for rank in ranks]
    if not all(sizes):
        return None
    sized = [np.full(n, size, np.int64) for n, size in zip(counts, sizes, strict=True)]
    known = _once_a_model(ranks, sized)
    return Samples(known, sum(int(one.sum()) for one in known))


def _once_a_model(
    ranks: Sequence[Rank], samples: list[npt.NDArray[np.int64]]
) -> list[npt.NDArray[np.int64]]:
    """The samples of the rank of each model that was told most of them; none of its others."""
    model, is_divided = Joined[int](), are_divided(ranks)
    for rank in ranks:
        if is_divided:
            model.join(ranks[0].number, rank.number)
        told = rank.framework("torch.distributed").get("model_ranks")
        for number in told if isinstance(told, list) else ():
            if isinstance(number, int):
                model.join(rank.number, number)
    most: dict[int, int] = {}  # of each model, the place of the rank whose samples count
    for place, (rank, own) in enumerate(zip(ranks, samples, strict=True)):
        best = most.setdefault(model.of(rank.number), place)
        if own.sum() > samples[best].sum():
            most[model.of(rank.number)] = place
    counted = set(most.values())
    return [own if place in counted else own[:0] for place, own in enumerate(samples)]


def rate_of(
    prepared: Prepared, tables: Sequence[Table], samples: Samples | None
) -> tuple[Metric, Metric]:
    """Samples a second of all ranks, from the end of the first step on, and its mean step.

    The first step holds what is set up when it is first used; evaluations, predictions and
    checkpoints between steps train nothing. A run of one step has no other. The mean is of that
    time, over the ranks whose samples count.
    """
    focus = prepared.focus
    if focus.length_ns <= 0:
        return _no_rate("the window is empty")
    if spoiled := why_spoiled(prepared.damage, Need.EVERY_RANK):
        return _no_rate(spoiled)
    if samples is None or not samples.total:
        return _no_rate(UNKNOWN_SAMPLES)
    rate, apart, means_s = 0.0, _seen_apart(prepared), []
    for place, (table, told) in enumerate(zip(tables, samples.by_rank, strict=True)):
        if not len(told):
            continue
        if not len(table):  # a pattern's steps begin and end with the focus
            whole = Metric(samples.total / (focus.length_ns / 1e9), "samples/s", foa=focus.kind)
            return whole, Metric(None, "s", NOT_TOLD)
        first = 1 if len(table) > 1 else 0
        spent_ns = _training_ns(prepared, place, table, first, apart)
        rate += int(told[first:].sum()) / (spent_ns / 1e9) if spent_ns else 0.0
        means_s.append(spent_ns * NS / (len(table) - first))
    if not rate:
        return _no_rate(ONLY_FIRST)
    mean = Metric(float(np.mean(means_s)), "s", foa=focus.kind)
    return Metric(rate, "samples/s", foa=focus.kind), mean


def _no_rate(why: str) -> tuple[Metric, Metric]:
    return Metric(None, "samples/s", why), Metric(None, "s", why)


def _training_ns(
    prepared: Prepared, place: int, table: Table, first: int, apart: Sequence[int]
) -> int:
    """From the end of the first step, or its start if it is the only one, to that of the last.

    `apart` are the phases that samples alone tell and that are no training.
    """
    rank = prepared.trace.ranks[place]
    start = int(table["t1"][0] if first else table["t0"][0])
    end = int(table["t1"].max())

    def clipped(starts: Ints, ends: Ints) -> Spans:
        return _between(starts, start, end), _between(ends, start, end)

    phases = rank.phases
    is_apart = is_one_of(phases["kind"], _APART)
    told = clipped(phases["t0"][is_apart], phases["t1"][is_apart])
    others = clipped(phases["t0"][~is_apart], phases["t1"][~is_apart])
    apart_ns, around = _around(told, others, _gaps(table))
    seldom = clipped(*_seldom(prepared.timelines[place], table, apart))
    return end - start - apart_ns - _beyond(seldom, _joined(told, around))


def _gaps(table: Table) -> Spans:
    """What lies between a step and the next one, of length 0 where they follow each other."""
    ends = np.maximum.accumulate(table["t1"].astype(np.int64))[:-1]
    return ends, np.maximum(table["t0"][1:].astype(np.int64), ends)


def _around(told: Spans, others: Spans, gaps: Spans) -> tuple[int, Spans]:
    """How long what is no training takes between steps, and the gaps that are counted with it.

    Where a program has it told batch by batch, as of a compiled function, what it does between
    these and behind them belongs to it as well: no other phase, beyond what usually lies between
    steps.
    """
    if not len(told[0]):
        return 0, (gaps[0][:0], gaps[1][:0])
    inside = _covered(told, gaps)
    free = gaps[1] - gaps[0] - _covered(_joined(told, others), gaps) + inside
    has = inside > 0
    if has.all():
        return int(inside.sum()), (gaps[0][:0], gaps[1][:0])
    usual = int(np.median(free[~has]))
    return int(np.maximum(inside, free - usual)[has].sum()), (gaps[0][has], gaps[1][has])


def _covered(spans: Spans, gaps: Spans) -> Ints:
    """How much of each gap some of the spans cover."""
    edges = np.stack(union(*spans), axis=1).ravel()
    return Cumulative.of(edges, np.arange(max(0, len(edges) - 1)) % 2 == 0).between(*gaps)


def _joined(spans: Spans, others: Spans) -> Spans:
    starts, ends = (np.concatenate(pair) for pair in zip(spans, others, strict=True))
    return starts, ends


def _between(moments: Ints, start: int, end: int) -> Ints:
    return np.minimum(np.maximum(moments, start), end)  # of few moments sooner than np.clip


def _seen_apart(prepared: Prepared) -> list[int]:
    """The phases, by place in the catalog, that samples alone tell and that are no training."""
    catalog, sampled = prepared.catalog, set(prepared.labels.ids)
    return [
        index
        for index, name in enumerate(catalog.ids)
        if name in sampled and (catalog.kind(index) in _APART or name == _PROGRESS)
    ]


def _seldom(timeline: Timeline, table: Table, apart: Sequence[int]) -> Spans:
    """When samples alone tell what is no training, unless it is done in most steps.

    A framework tells its steps without a gap: between two there may be an evaluation by hand.
    """
    rows = is_one_of(timeline.phases, apart)
    starts, ends = timeline.boundaries[:-1][rows], timeline.boundaries[1:][rows]
    among = np.unique(np.searchsorted(table["t0"], starts, side="right"))
    is_usual = 2 * len(among) > len(table)
    return (starts[:0], ends[:0]) if is_usual else (starts, ends)


def _beyond(spans: Spans, others: Spans) -> int:
    """How long some of the spans last where none of the others does."""
    if not len(spans[0]):
        return 0
    return _length(*union(*_joined(spans, others))) - _length(*union(*others))


def _length(starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> int:
    return int((ends - starts).sum())


def agent_batch_size(metadata: Mapping[str, Any]) -> int | None:
    """Samples per step of one rank as the agent saw them, None unknown."""
    size = metadata.get("batch_size")
    usable = isinstance(size, int) and not isinstance(size, bool) and 0 < size < 1 << 40
    return size if usable else None
