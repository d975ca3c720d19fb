"""Programs whose very work is what its name calls evaluation: a search, a simulation, scoring."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from perfscope.arrays import Bools, Ints
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.stack_rules import (
    TRAINING_KINDS,
    StackLabels,
    is_user_file,
    kind_of_id,
    names_training,
)
from perfscope.judging import ALONE, FEWEST_SAMPLES, MAIN
from perfscope.schema.enums import Activity, PhaseKind
from perfscope.trace.model import Rank, Trace

WORKING = (
    Activity.NUMERIC,
    Activity.INTERPRETER,
    Activity.DEVICE_WAIT,
    Activity.WORKERS,
    Activity.UNKNOWN,
)
"""What may be the work of a program, and is no waiting and no service to it."""


def with_sole_work(
    trace: Trace, labels: StackLabels, rules: Sequence[tuple[str, str]]
) -> StackLabels:
    """The labels with evaluation as the work of the program, where nearly nothing else works.

    What a name calls evaluation takes time from training only where something is trained, which a
    framework or other names tell. The user's own rules tell more than a name.
    """
    evaluates = [kind_of_id(one) is PhaseKind.EVALUATE for one in labels.ids]
    told = any(kind_of_id(phase) is PhaseKind.EVALUATE for _, phase in rules)
    if told or not any(evaluates) or _is_trained(trace):
        return labels
    is_evaluation = np.append(evaluates, False)[labels.label]
    working = np.isin(stack_activities(trace), [ACTIVITIES.index(one) for one in WORKING])
    if not all(_does_nothing_else(rank, working, is_evaluation) for rank in trace.ranks):
        return labels
    return replace(
        labels,
        label=np.where(is_evaluation, labels.train, labels.label),
        label_frame=np.where(is_evaluation, labels.user_frame, labels.label_frame),
    )


def _does_nothing_else(rank: Rank, working: Bools, is_evaluation: Bools) -> bool:
    """Whether a rank was seen in hardly any other work."""
    stacks: Ints = rank.main_stacks["stack"]
    at_work = stacks[working[stacks]]
    others = int(np.sum(~is_evaluation[at_work]))
    return len(at_work) >= FEWEST_SAMPLES and others <= MAIN * (1 - ALONE) * len(at_work)


def _is_trained(trace: Trace) -> bool:
    """Whether a framework tells that something is trained, or the name of a function or file."""
    if any(np.isin(rank.phases["kind"], TRAINING_KINDS).any() for rank in trace.ranks):
        return True
    users = (frame for frame in trace.frames if is_user_file(frame.file))
    return any(
        names_training(frame.function.rpartition(".")[2]) or names_training(Path(frame.file).stem)
        for frame in users
    )
