"""The function that takes more of the work from quarter to quarter of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.findings.facts.step_growth import LEAST_STEPS, PARTS, SURE, StepGrowth, rises_again

if TYPE_CHECKING:
    from perfscope.attribution.timeline import Timeline
    from perfscope.metrics.results import Results
    from perfscope.trace.model import Rank

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def function_growth(results: Results) -> StepGrowth | None:
    """The growth of one function against all other work of its rank; None where none grows.

    What slows a rank down as a whole, such as a busy machine, makes all of its functions longer
    alike and leaves their ratios. Of the ranks, the one that loses most by it. Seconds are those of
    the function in a step; their error is that of counting samples.
    """
    if results.labels is None or len(results.steps.starts_ns) < LEAST_STEPS:
        return None
    user_frame, grown = results.labels.user_frame, []
    for rank, timeline in zip(results.trace.ranks, results.timelines, strict=True):
        spent, lines = _by_function(results, timeline, user_frame)
        period_ns = results.focus.length_ns / max(1, _samples(results, rank))
        if (found := _growth(results, spent, lines, period_ns)) is not None:
            grown.append(found)
    return max(grown, key=lambda one: one.lost_s, default=None)


def _samples(results: Results, rank: Rank) -> int:
    """How often the main thread of a rank was looked at in the focus."""
    times = rank.stacks["t"][rank.stacks["tid"] == rank.main_tid]
    inside = (times >= results.focus.start_ns) & (times < results.focus.end_ns)
    return int(inside.sum())


def _growth(results: Results, spent: Floats, lines: list[int], period: float) -> StepGrowth | None:
    """That of the function that loses most by it.

    Args:
        results: the run.
        spent: nanoseconds by function and quarter; the last row is nobody's.
        lines: index of the frame that stands for each function.
        period: nanoseconds for which one sample stands.
    """
    others = spent.sum(axis=0) - spent
    ratio = np.divide(spent, others, out=np.zeros_like(spent), where=others > 0)
    scale = np.divide(period, others, out=np.ones_like(spent), where=others > 0)
    errors = np.sqrt(ratio * (1.0 + ratio) * scale + scale**2)
    lost = (spent - ratio[:, :1] * others).sum(axis=1)
    grows = [
        (others[place] > 0).all()
        and rises_again(ratio[place], float(errors[place].max()))
        and ratio[place, -1] - ratio[place, 0] > SURE * np.hypot(*errors[place, [0, -1]])
        for place in range(len(lines))
    ]
    if not any(grows):
        return None
    place = int(np.argmax(np.where(grows, lost[:-1], -np.inf)))
    steps = results.steps.count / PARTS
    counted = np.sqrt(period * spent[place].sum())
    return StepGrowth(
        first_s=float(spent[place, 0] / steps) * 1e-9,
        last_s=float(spent[place, -1] / steps) * 1e-9,
        lost_s=float(lost[place]) * 1e-9,
        error_s=float(np.hypot(counted, errors[place, 0] * others[place].sum())) * 1e-9,
        frame=results.trace.frames[lines[place]],
        is_of_function=True,
    )


def _by_function(
    results: Results, timeline: Timeline, user_frame: Ints
) -> tuple[Floats, list[int]]:
    """Nanoseconds of work by the user's function and quarter, and the frame seen most of each.

    The quarters have as many steps each. What no sample tells of is nobody's, the last row.
    """
    frames = results.trace.frames
    places = np.where(timeline.stacks >= 0, user_frame[timeline.stacks], -1)
    work = timeline.inside(results.focus) & ~IS_COMMUNICATION[timeline.accounts]
    quarter = np.searchsorted(_edges(results), timeline.boundaries[:-1], side="right")
    by_frame = np.zeros((len(frames) + 1, PARTS))
    np.add.at(by_frame, (places[work], quarter[work]), timeline.lengths[work])
    names: dict[tuple[str, str], list[int]] = {}
    for place in np.flatnonzero(by_frame[:-1].any(axis=1)).tolist():
        names.setdefault((frames[place].function, frames[place].file), []).append(place)
    rows = [by_frame[own].sum(axis=0) for own in names.values()]
    lines = [max(own, key=lambda place: by_frame[place].sum()) for own in names.values()]
    return np.array([*rows, by_frame[-1]]), lines


def _edges(results: Results) -> Ints:
    """Where quarters begin that have as many steps each, but for the first one."""
    starts = np.asarray(results.steps.starts_ns)
    return np.array([part[0] for part in np.array_split(starts, PARTS)[1:]])
