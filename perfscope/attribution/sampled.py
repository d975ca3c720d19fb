"""What the stack samples say of the time between communication operations: function and phase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Bools, Int32s, Ints
from perfscope.attribution.stack_rules import UNLABELED, StackLabels
from perfscope.attribution.together import Asked, Gaps, JoinedRanks, gaps_of
from perfscope.matching.intervals import EMPTY_LAYER, NOTHING, Layer, Times, disjoint_layer
from perfscope.structures import dataclass

Kinds = npt.NDArray[np.integer]

MAJORITY = 0.9
"""Gaps without a sample take the phase of their kind when so many samples of that kind agree."""


@dataclass(frozen=True)
class RankSamples:
    """What is known of one rank from its samples.

    `functions` tells the stack (index in Trace.stacks) that speaks for each moment outside
    communication, `phases` the label (index in StackLabels.ids); NOTHING where unknown. `gap_stack`
    is the stack that speaks for most of each gap, as `gaps_of` finds them. `phase_rows` are (start,
    end, label) of the sampled phases, in order; `is_training` tells whether any is training.
    """

    gap_stack: Int32s
    functions: Layer
    phases: Layer
    phase_rows: tuple[Times, Times, Ints]
    is_training: bool = False


_NO_ROWS = np.empty(0, np.int64)
_NO_LAYERS = (EMPTY_LAYER, EMPTY_LAYER, (_NO_ROWS, _NO_ROWS, _NO_ROWS))


@dataclass(frozen=True)
class _Pieces:
    start: Times
    end: Times
    gap: Ints
    stack: Ints
    label: Ints


def sample_ranks(
    every: Sequence[Asked], labels: StackLabels, *, bare: Ints, ids: Ints
) -> list[RankSamples]:
    """Attributes the computation of ranks to functions and phases, all of them in one table.

    The table has the time of one rank behind that of another. So what holds for the gaps and the
    samples of one rank holds for all, and is asked once.

    Args:
        every: the ranks.
        labels: what each stack says.
        bare: for each stack the one that speaks for time in which it was not seen.
        ids: what stands for each of the labels in the result.
    """
    gaps = [gaps_of(one.rank, one.blocking) for one in every]
    stacks = [one.rank.main_stacks for one in every]
    told = [place for place, rows in enumerate(stacks) if len(rows) and len(gaps[place].start)]
    found = [RankSamples(_unknown(len(own.start)), *_NO_LAYERS) for own in gaps]
    if told:
        together = JoinedRanks.of(
            [every[place] for place in told],
            [gaps[place] for place in told],
            [stacks[place] for place in told],
        )
        for place, own in zip(told, _sampled(together, labels, bare, ids), strict=True):
            found[place] = RankSamples(**own)
    return found


def _sampled(
    ranks: JoinedRanks, labels: StackLabels, bare: Ints, ids: Ints
) -> Iterator[dict[str, Any]]:
    """What is known of each rank beside its gaps."""
    pieces = _pieces(ranks, labels, bare)
    label = np.where(ranks.gaps.blocked[pieces.gap], UNLABELED, pieces.label)
    label = np.where((label == labels.train) & ranks.has_training[pieces.gap], UNLABELED, label)
    label = np.where(_sets_up(ranks, labels, pieces), UNLABELED, label)
    order = np.argsort(pieces.start, kind="stable")
    start, end, label = pieces.start[order], pieces.end[order], label[order]
    told = label != UNLABELED
    rows = _runs(ranks, start, end, label, pieces.gap[order])
    phases = disjoint_layer(start[told], end[told], ids[label[told]])
    training = phases.starts[phases.values == ids[labels.train]]
    trains = np.bincount(ranks.ranks_at(training), minlength=len(ranks.shift)) > 0
    columns = zip(
        np.split(_dominant(len(ranks.gaps.start), pieces), ranks.first[1:-1]),
        ranks.layers(disjoint_layer(start, end, pieces.stack[order])),
        ranks.layers(phases),
        ranks.apart(rows[0], rows[0], rows[1], ids[rows[2]], times=2),
        trains.tolist(),
        strict=True,
    )
    names = ("gap_stack", "functions", "phases", "phase_rows", "is_training")
    return (dict(zip(names, own, strict=True)) for own in columns)


def _sets_up(ranks: JoinedRanks, labels: StackLabels, pieces: _Pieces) -> Bools:
    """Which pieces seem to be input and come before the first batch: they load the data set.

    That is known of ranks on which steps are marked, and where batches are fetched.
    """
    is_input = pieces.label == (labels.ids.index("input") if "input" in labels.ids else UNLABELED)
    return np.asarray(is_input & (pieces.start < ranks.first_batch[pieces.gap]))


def _pieces(ranks: JoinedRanks, labels: StackLabels, bare: Ints) -> _Pieces:
    """Every gap in pieces, each spoken for by one stack; what no sample speaks for is left out."""
    gaps, times, stacks = ranks.gaps, ranks.samples.times, ranks.samples.stacks
    gap = np.searchsorted(gaps.start, times, side="right") - 1
    inside = (gap >= 0) & (times < gaps.end[np.maximum(gap, 0)])
    at, gap, stack = times[inside], gap[inside], stacks[inside]
    own = _own_pieces(gaps, at, gap, stack, labels)
    silent = np.ones(len(gaps.start), np.bool_)
    silent[gap] = False
    empty = np.flatnonzero(silent)
    kin = _kin_pieces(gaps, empty, at, gap, stack, labels)
    left = np.setdiff1d(empty, kin.gap, assume_unique=True)
    near = _near_pieces(ranks, left, labels)
    near = replace(near, stack=bare[near.stack])
    parts = zip(*((p.start, p.end, p.gap, p.stack, p.label) for p in (own, kin, near)), strict=True)
    return _Pieces(*(np.concatenate(columns) for columns in parts))


def _own_pieces(gaps: Gaps, at: Times, gap: Ints, stack: Ints, labels: StackLabels) -> _Pieces:
    """A gap with samples of its own belongs to them, cut midway between them."""
    if not len(at):
        return _Pieces(at, at, gap, stack, stack)
    same = gap[1:] == gap[:-1]
    middle = at[:-1] + (at[1:] - at[:-1]) // 2
    start, end = gaps.start[gap], gaps.end[gap]
    start[1:] = np.where(same, middle, start[1:])
    end[:-1] = np.where(same, middle, end[:-1])
    return _Pieces(start, end, gap, stack, labels.label[stack])


def _kin_pieces(
    gaps: Gaps, empty: Ints, at: Times, gap: Ints, stack: Ints, labels: StackLabels
) -> _Pieces:
    """A gap without samples is like its kind: its common phase, else its nearest sample."""
    kinds = gaps.kind[gap]
    order = np.lexsort((at, kinds))
    kinds, at, stack = kinds[order], at[order], stack[order]
    wanted = gaps.kind[empty]
    middle = gaps.start[empty] + (gaps.end[empty] - gaps.start[empty]) // 2
    first = np.searchsorted(kinds, wanted, side="left")
    behind = np.searchsorted(kinds, wanted, side="right")
    known = behind > first
    empty, middle, first, behind = empty[known], middle[known], first[known], behind[known]
    place = np.clip(search_within(kinds, at, gaps.kind[empty], middle), first, behind - 1)
    earlier = np.maximum(place - 1, first)
    nearer = np.abs(at[earlier] - middle) <= np.abs(at[place] - middle)
    chosen = stack[np.where(nearer, earlier, place)]
    common = _majority(kinds, labels.label[stack], gaps.kind[empty])
    label = np.where(common != NO_MAJORITY, common, labels.label[chosen])
    return _Pieces(gaps.start[empty], gaps.end[empty], empty, chosen, label)


def search_within(kinds: Kinds, at: Times, wanted: Kinds, middle: Times) -> Ints:
    """Where (kind, time) would stand in the list sorted by both."""
    both_kind = np.concatenate([kinds, wanted])
    both_time = np.concatenate([at, middle])
    is_query = np.arange(len(both_kind)) >= len(kinds)
    order = np.lexsort((is_query, both_time, both_kind))
    before = np.cumsum(~is_query[order])
    result = np.empty(len(both_kind), np.int64)
    result[order] = before
    return result[len(kinds) :]


NO_MAJORITY = -2


def _majority(kinds: Kinds, label: Ints, wanted: Kinds) -> Ints:
    """The label that nearly all samples of a kind agree on, NO_MAJORITY where they do not."""
    if not len(kinds):
        return np.full(len(wanted), NO_MAJORITY, np.int64)
    span = int(label.max()) + 2
    pairs = kinds.astype(np.int64) * span + label - UNLABELED
    pair, counts = np.unique(pairs, return_counts=True)
    kind, common = pair // span, pair % span + UNLABELED
    agreed = counts >= MAJORITY * np.bincount(kinds)[kind]
    table = np.full(max(int(kinds.max()), int(wanted.max(initial=0))) + 1, NO_MAJORITY, np.int64)
    table[kind[agreed]] = common[agreed]
    return table[wanted]


def _near_pieces(ranks: JoinedRanks, left: Ints, labels: StackLabels) -> _Pieces:
    """Where no sample of its kind exists: the nearest sample of the thread, if near enough."""
    gaps, samples = ranks.gaps, ranks.samples
    times, stacks = samples.times, samples.stacks
    of = ranks.ranks_of(left)
    is_told = samples.valid[of] < samples.first[of + 1]
    is_told |= gaps.start[left] < samples.began[of]
    left, of = left[is_told], of[is_told]
    first, reach = samples.first[of], samples.reach[of]
    start, end = gaps.start[left], gaps.end[left]
    after = np.searchsorted(times, start, side="left")
    earlier = np.maximum(after - 1, first)
    later = np.minimum(after, samples.first[of + 1] - 1)
    is_later = start >= samples.began[of]
    earlier = np.where(is_later, np.maximum(earlier, samples.valid[of]), earlier)
    # a sample taken inside the preceding or following operation speaks for the gap, too
    middle = times[earlier] + (times[later] - times[earlier]) // 2
    one_sided = earlier == later
    split = np.clip(middle, start, end)
    split = np.where(one_sided, np.where(times[earlier] < start, end, start), split)
    first_end = np.minimum(split, np.maximum(start, times[earlier] + reach))
    second_start = np.maximum(split, np.minimum(end, times[later] - reach))
    chosen = np.concatenate([stacks[earlier], stacks[later]])
    pieces = _Pieces(
        start=np.concatenate([start, second_start]),
        end=np.concatenate([first_end, end]),
        gap=np.concatenate([left, left]),
        stack=chosen,
        label=np.where(labels.label[chosen] == labels.train, labels.train, UNLABELED),
    )
    keep = pieces.end > pieces.start
    columns = (pieces.start, pieces.end, pieces.gap, pieces.stack, pieces.label)
    return _Pieces(*(column[keep] for column in columns))


def _runs(
    ranks: JoinedRanks, start: Times, end: Times, label: Ints, gap: Ints
) -> tuple[Times, Times, Ints]:
    """Successive pieces of one label, with the operations between them, become one phase."""
    if not len(start):
        return start, end, label
    gaps, of = ranks.gaps, ranks.ranks_of(gap)
    covered = np.zeros(len(gaps.start), np.bool_)
    covered[gap] = True
    silent = np.cumsum(~covered | gaps.blocked)  # gaps so far that no label reaches
    first = np.ones(len(start), np.bool_)
    first[1:] = (label[1:] != label[:-1]) | (silent[gap[1:]] != silent[gap[:-1]])
    first[1:] |= of[1:] != of[:-1]
    last = np.append(np.flatnonzero(first)[1:] - 1, len(start) - 1)
    told = label[first] != UNLABELED
    return start[first][told], end[last][told], label[first][told]


def _unknown(count: int) -> Int32s:
    """NOTHING for each gap of a rank without samples, which takes no memory."""
    return np.broadcast_to(np.int32(NOTHING), count)


def _dominant(count: int, pieces: _Pieces) -> Int32s:
    """The stack that speaks for most of each gap, NOTHING where none does."""
    result = np.full(count, NOTHING, np.int32)
    alone = np.bincount(pieces.gap, minlength=count)[pieces.gap] == 1
    result[pieces.gap[alone]] = pieces.stack[alone]
    shared = np.flatnonzero(~alone)
    span = int(pieces.stack.max(initial=0)) + 1
    pair, index = np.unique(pieces.gap[shared] * span + pieces.stack[shared], return_inverse=True)
    weight = np.bincount(index.reshape(-1), (pieces.end - pieces.start)[shared])
    order = np.lexsort((weight, pair // span))
    result[pair[order] // span] = pair[order] % span  # the heaviest of each gap is written last
    return result


def frames_of(labels: StackLabels, stacks: Ints) -> Ints:
    """The frame that names what was done, for stacks that may be NOTHING."""
    return _lookup(labels.label_frame, stacks)


def callers_of(labels: StackLabels, stacks: Ints) -> Ints:
    """The user's frame that called it, -1 none."""
    return _lookup(labels.caller, stacks)


def _lookup(table: Ints, index: Ints) -> Ints:
    if not len(table):
        return np.full(len(index), -1, np.int64)
    return np.where(index >= 0, table[np.maximum(index, 0)], -1)
