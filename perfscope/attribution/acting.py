"""Whether a model that is set to evaluation is evaluated, or acts for the updates that follow.

PyTorch tells that a model was set to evaluation, and that it was set to training again. A policy
that acts may be as well. What training takes is no evaluation; what has been done before anything
was trained, and yields more than figures or is not known, may be either.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from perfscope.arrays import Bools
from perfscope.attribution.feeding import Fate, Feeding, looks
from perfscope.attribution.stack_rules import UNLABELED, StackLabels, kind_of_id
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Rank, Table, Trace

DOUBTFUL = "evaluation or collecting of experience"
"""The name of a phase of which that is not known."""

DOUBTFUL_ID = f"user:{DOUBTFUL}"

BY_MODE = "eval_mode"
"""What stands before the colon in names of phases that are known by the mode alone.

The place where it is set follows.
"""

BY_BATCHES = "eval_batches"
"""The same where batches of a loader were read meanwhile."""


def with_acting(trace: Trace) -> Trace:
    """The trace without evaluations that are acting, and with those named as such that may be."""
    names = {
        number: (known, place)
        for number, (known, _, place) in enumerate(name.partition(":") for name in trace.names)
        if known in (BY_MODE, BY_BATCHES)
    }
    together: defaultdict[str, list[int]] = defaultdict(list)
    for number, (_, place) in names.items():
        together[place].append(number)
    feeding = Feeding(trace)
    acting: list[int] = []
    doubtful: list[int] = []
    for numbers in together.values():
        fate = feeding.fate(looks(trace, partial(_in_phases, numbers)))
        is_by_mode = all(names[number][0] == BY_MODE for number in numbers)
        if fate is Fate.FEEDS:
            acting += numbers
        elif is_by_mode and fate is not Fate.TOLD and _comes_first(trace, numbers):
            doubtful += numbers
    if not acting and not doubtful:
        return trace
    ranks = []
    for rank in trace.ranks:
        rows = rank.phases[~_are(rank.phases, acting)]
        here = _are(rows, doubtful)
        rows = rows.copy()
        rows["kind"][here], rows["name"][here] = PhaseKind.USER, len(trace.names)
        ranks.append(replace(rank, phases=rows))
    return replace(trace, ranks=ranks, names=[*trace.names, DOUBTFUL])


def without_parts_of_training(
    trace: Trace, labels: StackLabels, rules: Sequence[tuple[str, str]], feeding: Feeding
) -> StackLabels:
    """The labels without evaluation that only a name tells, where training takes what it yields.

    `evaluate_actions` computes what the loss is made of. A rule of the user's tells more, and so
    does the name where no backward pass was seen: what updates the model is a guess there.
    """
    if not any(np.any(rank.phases["kind"] == PhaseKind.BACKWARD) for rank in trace.ranks):
        return labels
    told = any(kind_of_id(phase) is PhaseKind.EVALUATE for phase, _ in rules)
    named = [kind_of_id(one) is PhaseKind.EVALUATE for one in labels.ids]
    here = np.append(named, False)[labels.label]
    if told or not here.any():
        return labels
    keys = [trace.frames[frame].key if frame >= 0 else None for frame in labels.label_frame]
    is_part = np.zeros(len(keys), np.bool_)
    for function in {key for key, is_one in zip(keys, here.tolist(), strict=True) if is_one}:
        mine = here & np.array([key == function for key in keys], np.bool_)
        if feeding.fate(feeding.looks * mine, fewest=1) is Fate.FEEDS:
            is_part |= mine
    return replace(
        labels,
        label=np.where(is_part, UNLABELED, labels.label),
        label_frame=np.where(is_part, labels.user_frame, labels.label_frame),
    )


def _are(rows: Table, numbers: list[int]) -> Bools:
    """Which phases are evaluations with some names."""
    return np.asarray((rows["kind"] == PhaseKind.EVALUATE) & np.isin(rows["name"], numbers))


def _in_phases(numbers: list[int], rank: Rank) -> Bools:
    """Which of a rank's looks were in such phases."""
    moments, own = rank.main_stacks["t"].astype(np.int64), rank.phases[_are(rank.phases, numbers)]
    starts, ends = np.sort(own["t0"].astype(np.int64)), np.sort(own["t1"].astype(np.int64))
    open_now = np.searchsorted(starts, moments, "right") - np.searchsorted(ends, moments, "right")
    return np.asarray(open_now > 0)


def _comes_first(trace: Trace, numbers: list[int]) -> bool:
    """Whether such a phase began before anything was trained: then nothing was there to evaluate.

    What training can do without comes behind its first steps, unless a program evaluates at first.
    """
    for rank in trace.ranks:
        rows = rank.phases
        trained = rows["t0"][rows["kind"] == PhaseKind.BACKWARD]
        own = rows["t0"][_are(rows, numbers)]
        if len(own) and len(trained) and own.min() < trained.min():
            return True
    return False
