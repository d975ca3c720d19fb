"""The function that needs more CPU time in a step from quarter to quarter of the run."""

from collections.abc import Mapping, Sequence
from statistics import NormalDist, mean

import numpy as np

from perfscope import judging
from perfscope.arrays import Floats, Ints, counter_growth
from perfscope.attribution.timeline import Timeline
from perfscope.findings.facts.step_growth import (
    BEGINNING,
    FINER,
    LEAST_STEPS,
    PARTS,
    SURE,
    StepGrowth,
    beginning,
    finer_parts,
    is_change,
    levels_off,
    never_falls,
    rises_evenly,
)
from perfscope.judging import MAIN
from perfscope.metrics.results import Results
from perfscope.trace.model import Frame, Function, Rank, Table
from perfscope.units import NS

RankTables = Sequence[tuple[Rank, Floats]]
"""Of ranks with samples what each frame took in each part of the steps: see `tables_by_rank`."""


def function_growth(
    results: Results, tables: RankTables, steps: StepGrowth | None = None
) -> StepGrowth | None:
    """The growth of one function, without waiting for CPUs; None where none grows.

    What slows a rank down as a whole, such as others that use its caches, makes all of its
    functions longer alike: only what one grows beyond all other work of its rank counts. Of the
    ranks, the one that loses most by it; where samples of one are too few to tell, and all `steps`
    are known to grow, the mean of all. Seconds are those of the function in a step; their error is
    that of counting samples.
    """
    for least in (MAIN, 1.0 / PARTS):
        found = [
            _of_work(results, table, least, samples=samples_in_focus(results, rank))
            for rank, table in tables
        ]
        grown = [
            one
            for one in found
            if one and _grows_on_all(one, tables, results) and _is_own(one, tables, results)
        ]
        if grown:
            return max(grown, key=lambda one: one.lost_s)
    return None if steps is None else _of_all(results, tables, steps)


def _of_all(results: Results, tables: RankTables, steps: StepGrowth) -> StepGrowth | None:
    """The growth of a function on all ranks, seen in their samples together; None where none grows.

    That steps grow is certain, and where ranks wait for CPUs not why: a function explains it that
    grows on each rank, by much the same and more than others beyond chance, by most of it.
    """
    samples = sum(samples_in_focus(results, rank) for rank, _ in tables)
    if len(tables) < 2 or len(tables) < len(results.trace.ranks):
        return None
    whole = np.sum([table for _, table in tables], axis=0)
    growth = _of_work(results, whole, MAIN, samples=samples, ranks=len(tables))
    if growth is None or growth.frame is None:
        return None
    grown_s = growth.taken_s[1] - growth.taken_s[0]
    is_most = grown_s >= MAIN * (steps.last_s - steps.first_s)
    is_of_all = _is_alike(grown_by_rank(results, tables, growth.frame))
    return growth if is_most and is_of_all else None


def tables_by_rank(results: Results) -> RankTables:
    """What each frame took, and ran of it, in each part of the steps: see `_tables`.

    Of ranks whose samples and CPU time are known; none where no steps are, or too few.
    """
    if results.labels is None or len(results.steps.starts_ns) < LEAST_STEPS:
        return []
    user_frame = results.labels.user_frame
    return [
        (rank, _tables(results, rank, timeline, user_frame))
        for rank, timeline in zip(results.trace.ranks, results.timelines, strict=True)
        if len(rank.main_samples) and len(rank.stacks)
    ]


def _grows_on_all(growth: StepGrowth, tables: RankTables, results: Results) -> bool:
    """Whether the ranks together need longer for it, and not one what others need less.

    Work moves so where each rank keeps its part of the data, and what is to be done there changes.
    """
    assert growth.frame is not None
    grown_s = sum(grown_by_rank(results, tables, growth.frame).values())
    return bool(grown_s >= MAIN * (growth.last_s - growth.first_s))


def _is_own(growth: StepGrowth, tables: RankTables, results: Results) -> bool:
    """Whether it is work that grows, and not how long the function waits for CPUs.

    How long a rank waited is known of stretches in which it ran other functions as well. Where that
    is most of the function's time, it has to grow on several ranks alike, which wait by chance.
    """
    assert growth.frame is not None
    is_known = growth.queued <= 1.0 / MAIN
    return is_known or _is_alike(grown_by_rank(results, tables, growth.frame))


def _is_alike(by_rank: Mapping[int, float]) -> bool:
    """Whether it grows on each of several ranks, by much the same."""
    return len(by_rank) > 1 and min(by_rank.values()) >= MAIN * mean(by_rank.values()) > 0


def grown_by_rank(results: Results, tables: RankTables, frame: Frame) -> dict[int, float]:
    """By rank how many seconds more a function needs in a step of the last quarter."""
    places = [place for place, one in enumerate(results.trace.frames) if one.key == frame.key]
    found = {}
    for rank, table in tables:
        quarters = table[1, places].sum(axis=0).reshape(PARTS, FINER).sum(1)
        grown = float(quarters[-1] - quarters[0])
        found[rank.number] = grown * PARTS / results.steps.count * NS
    return found


def _of_work(
    results: Results, tables: Floats, least: float, *, samples: int, ranks: int = 1
) -> StepGrowth | None:
    """The growth of what so many samples show of so many ranks' work; seconds are of each."""
    lines = functions(results.trace.frames, tables[0])
    if not lines:
        return None
    finer = np.array([tables[1, places].sum(axis=0) for places in lines])
    wall, own = (
        np.array([table[places].sum(axis=0) for places in lines]).reshape(-1, PARTS, FINER).sum(2)
        for table in tables
    )
    period = ranks * results.focus.length_ns / max(1, samples)
    error, slowed = own * np.sqrt(period / np.maximum(wall, period)), _slowed(own, least)
    usual = own / slowed
    sizes = [len(part) for part in finer_parts(np.asarray(results.steps.starts_ns))]
    finer /= np.repeat(slowed, FINER, axis=1) * sizes
    is_rough = ranks > 1
    rises = (usual[:, -1] - usual[:, 0]) > SURE * np.hypot(error[:, 0], error[:, -1])
    if is_rough:
        rises = _trends(wall / period) > _sure_of_any(len(lines))
    rises &= [not is_change(parts) or rises_evenly(parts) for parts in finer]  # by few samples
    grows = rises & [
        never_falls(mine, float(wrong.max())) for mine, wrong in zip(usual, error, strict=True)
    ]
    lost = ((usual - beginning(usual)) * slowed).sum(axis=1)
    place = int(np.argmax(np.where(grows, lost, -1.0)))
    if not grows[place] or lost[place] <= 0:
        return None
    steps = ranks * results.steps.count / PARTS
    with_queue = float(wall[place].sum() / own[place].sum())
    wrong_ns = np.linalg.norm([*error[place], *(PARTS * BEGINNING * error[place, :2])])
    return StepGrowth(
        first_s=float(own[place, 0] / steps) * 1e-9,
        last_s=float(own[place, -1] / steps) * 1e-9,
        lost_s=float(lost[place]) / ranks * with_queue * 1e-9,
        error_s=float(wrong_ns) / ranks * with_queue * 1e-9,
        frame=results.trace.frames[max(lines[place], key=lambda one: tables[0, one].sum())],
        is_of_function=True,
        levels_off=levels_off(usual[place]) and not (is_rough and rises_evenly(finer[place])),
        queued=with_queue,
        is_first_known=bool(0.0 < error[place, 0] <= MAIN * own[place, 0]),
        begin_s=float(beginning(usual)[place, 0] / steps) * with_queue * 1e-9,
    )


def _trends(samples: Floats) -> Floats:
    """How surely functions have an ever larger part of all samples, in standard errors.

    The test is that of Cochran and Armitage for a trend in shares: it knows that the others, with
    which a function is compared, are samples as well.

    Args:
        samples: of each function in each quarter, shape (functions, quarters).
    """
    totals, place = samples.sum(axis=0), np.arange(samples.shape[1])
    shares = samples.sum(axis=1) / max(float(totals.sum()), 1.0)
    beyond = ((samples - shares[:, None] * totals) * place).sum(axis=1)
    spread = (totals * place**2).sum() - (totals * place).sum() ** 2 / max(float(totals.sum()), 1.0)
    variance = shares * (1.0 - shares) * spread
    found: Floats = beyond / np.sqrt(np.maximum(variance, 1e-9))
    return found


def _sure_of_any(count: int) -> float:
    """Standard errors that by 95 % chance lets none of so many values exceed (Bonferroni)."""
    usual = NormalDist()
    return -usual.inv_cdf(usual.cdf(-judging.SURE) / count)


def _tables(results: Results, rank: Rank, timeline: Timeline, user_frame: Ints) -> Floats:
    """What each frame took, and ran of it, in each part of the steps.

    Shape (2, frames and one for none, parts).
    """
    frames = np.where(timeline.stacks >= 0, user_frame[timeline.stacks], -1)
    part = np.searchsorted(_edges(results), timeline.boundaries[:-1], side="right") - 1
    work = timeline.work(results.focus) & (part >= 0)
    tables = np.zeros((2, len(results.trace.frames) + 1, FINER * PARTS))
    ready = _ready(timeline, rank.main_samples)
    for table, lengths in zip(tables, (timeline.lengths, ready), strict=True):
        np.add.at(table, (frames[work], part[work]), lengths[work])
    return tables


def _ready(timeline: Timeline, samples: Table) -> Floats:
    """What of each stretch the main thread ran.

    Who waits for threads of its own, or sleeps, does not, and what does not run does not grow.
    """
    queued, ran = (
        counter_growth(timeline.boundaries, samples["t"], samples[name])
        for name in ("queue_delay_ns", "cpu_ns")
    )
    found: Floats = np.clip(timeline.lengths - queued, 0.0, ran)
    return found


def _slowed(own: Floats, least: float) -> Floats:
    """How many times as long as in the first quarter the other functions take, at least once.

    What slows a rank down slows all of its work down: no more than a part of it, by what it took in
    the first quarter, that has grown least. Half of it is the usual function: of all of them
    together, one that grows as well would hide that this one grows. More than half may grow for the
    same reason, as the backward pass does with what a loss computes.

    Args:
        own: what each function took in each quarter, shape (functions, quarters).
        least: the part of the other functions' time that has grown least.
    """
    first = own[:, :1]
    times = np.divide(own, first, out=np.ones_like(own), where=first > 0)
    found = np.ones_like(own)
    for place in range(len(own)):
        weights = np.where(np.arange(len(own)) == place, 0.0, first[:, 0])
        if not weights.any():
            continue
        for quarter in range(1, own.shape[1]):
            order = np.argsort(times[:, quarter], kind="stable")
            reached = np.cumsum(weights[order])
            usual = order[np.searchsorted(reached, least * reached[-1])]
            found[place, quarter] = times[usual, quarter]
    return np.maximum(found, 1.0)


def functions(frames: list[Frame], spent: Floats) -> list[list[int]]:
    """The frames of each of the user's functions in which time was spent; not the last row."""
    found: dict[Function, list[int]] = {}
    for place in np.flatnonzero(spent[:-1].any(axis=1)).tolist():
        found.setdefault(frames[place].key, []).append(place)
    return list(found.values())


def samples_in_focus(results: Results, rank: Rank) -> int:
    """How often the main thread of a rank was looked at in the focus."""
    times = rank.main_stacks["t"]
    inside = (times >= results.focus.start_ns) & (times < results.focus.end_ns)
    return int(inside.sum())


def _edges(results: Results) -> Ints:
    """Where parts of quarters of the steps begin, in nanoseconds."""
    starts = np.asarray(results.steps.starts_ns)
    return np.array([part[0] for part in finer_parts(starts)])
