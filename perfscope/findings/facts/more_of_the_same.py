"""Whether steps that get longer hold more of the same work: longer episodes, sequences, batches."""

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.attribution.call_loops import Place
from perfscope.findings.facts.step_growth import PARTS, StepGrowth
from perfscope.judging import FEWEST_SAMPLES, MAIN, SURE
from perfscope.metrics.results import Results
from perfscope.trace.loops import counted_loops
from perfscope.trace.model import Rank


def more_samples(results: Results, growth: StepGrowth) -> float | None:
    """How many times as many samples of data steps hold in the last quarter as in the first.

    Of the rank where that is least; None where it is not most of what they grow.
    """
    return _most_of([_times(rank.steps["samples"]) for rank in results.trace.ranks], growth)


def more_calls(results: Results, growth: StepGrowth) -> float | None:
    """How many times as many calls a rank makes in a step; see `more_samples`.

    As a solver does that needs more iterations: what one of them takes has not grown.
    """
    starts = np.asarray(results.steps.starts_ns)
    if growth.since is not None or len(starts) < PARTS:
        return None
    return _most_of([_times(_calls_by_step(one, starts)) for one in results.trace.ranks], growth)


def _calls_by_step(rank: Rank, starts: Ints) -> Ints:
    """How many calls the main location of a rank begins in each step but the last."""
    calls = rank.operations[rank.operations["tid"] == rank.main_tid]
    step = np.searchsorted(starts, calls["t0"], side="right")
    found: Ints = np.bincount(step, minlength=len(starts) + 1)[1 : len(starts)]
    return found


def _times(counts: Ints) -> float:
    """How many times as much is counted in a step of the last quarter; 0 where none is known."""
    parts = np.array_split(counts, PARTS)
    first, last = (float(np.median(part)) if len(part) else 0.0 for part in parts[:: PARTS - 1])
    return last / first if first > 0.0 else 0.0


def _most_of(times: list[float], growth: StepGrowth) -> float | None:
    """The least of what is counted, where that is most of what steps take longer."""
    least = min(times, default=0.0)
    return least if least - 1.0 >= MAIN * (growth.times - 1.0) else None


def turns_of_loop(results: Results, growth: StepGrowth) -> tuple[Place, float, float] | None:
    """A loop inside the steps that turns more often in the last ones; None where none is seen to.

    Looks at the variable that counts its turns see it anywhere between its start and its end, so
    that its mean grows as the turns do. Of several, the one that was looked at most.

    Returns:
        the loop, and the mean of the variable in the first steps and in the last; None as well
        where chance may make the difference.
    """
    (begin, until), (since, end), _ = _compared(results, growth)
    found = []
    for rank in results.trace.ranks:
        for number, place in enumerate(counted_loops(rank)):
            rows = rank.loop_turns[rank.loop_turns["loop"] == number]
            first = rows["value"][(rows["t"] >= begin) & (rows["t"] < until)].astype(np.float64)
            last = rows["value"][(rows["t"] >= since) & (rows["t"] < end)].astype(np.float64)
            if place is not None and _returns(rows["value"]) and _is_above(first, last):
                found.append((len(rows), place, float(first.mean()), float(last.mean())))
    return max(found)[1:] if found else None


def _returns(values: Ints) -> bool:
    """Whether a variable begins anew in most steps, as one that counts inside of them does."""
    return int((np.diff(values) < 0).sum()) >= FEWEST_SAMPLES


def _is_above(first: Floats, last: Floats) -> bool:
    """Whether the mean of the last values is above that of the first ones, beyond chance."""
    if min(len(first), len(last)) < FEWEST_SAMPLES:
        return False
    error = np.sqrt(first.var(ddof=1) / len(first) + last.var(ddof=1) / len(last))
    return bool(last.mean() - first.mean() > SURE * error)


def has_calls(results: Results) -> bool:
    """Whether something tells what each step does: calls of the first rank, or its samples."""
    rank = results.trace.ranks[0]
    calls = len(rank.operations) >= results.steps.count
    return calls or bool(len(rank.steps) and np.median(rank.steps["samples"]) > 0)


def grows_alike(results: Results, growth: StepGrowth) -> bool | None:
    """Whether all that a step does grows by much the same, as where it does more of the same.

    Were one line to grow alone, the shares that lines have of a step would differ from the first
    steps to the last by so much: if they differ by less than half of it, all grows. Shares are of
    samples: chance alone moves them, which is taken off; None where they are too few to tell.
    """
    first, last, scale = _samples(results, growth)
    before, after = float(first.sum()), float(last.sum())
    if not before or not growth.is_first_known:
        return None
    if scale * after - before < MAIN * (growth.times - 1.0) * before:
        return False
    shares, later = first / before, last / after
    both = (first + last) / (before + after)  # one of few samples alone would have no variance
    chance = _variance(both, before) + _variance(both, after)
    apart = float(((later - shares) ** 2).sum()) - chance
    alone = np.zeros_like(shares)
    alone[int(np.argmax(later * growth.times - shares))] = 1.0
    if_alone = (1.0 - 1.0 / growth.times) ** 2 * float(((alone - shares) ** 2).sum())
    return apart <= MAIN**2 * if_alone if if_alone > SURE**2 * chance else None


def others_grow_less(results: Results, growth: StepGrowth) -> bool:
    """Whether all else that a step does grows less than a function, beyond what chance allows.

    That is not known where hardly anything else was seen in the first steps.
    """
    first, last, scale = _samples(results, growth)
    is_own = [
        growth.frame is not None and one.key == growth.frame.key for one in results.trace.frames
    ]
    own = np.array([*is_own, False], np.bool_)
    before, after = float(first[~own].sum()), float(last[~own].sum())
    if not before or not after:
        return False
    error = SURE * np.sqrt(1.0 / before + 1.0 / after)  # of the logarithm of a ratio of counts
    most = scale * after / before * float(np.exp(error))
    return most < scale * float(last[own].sum()) / max(float(first[own].sum()), 1.0)


def _samples(results: Results, growth: StepGrowth) -> tuple[Floats, Floats, float]:
    """How often each line was seen at work in the first steps and in the last; see `_compared`."""
    seen = np.zeros((2, len(results.trace.frames) + 1))
    (begin, until), (since, end), scale = _compared(results, growth)
    if results.labels is None or not scale:
        return seen[0], seen[1], 0.0
    for rank, timeline in zip(results.trace.ranks, results.timelines, strict=True):
        rows = rank.main_stacks
        if not len(rows) or not len(timeline.accounts):
            continue
        rows = rows[timeline.work(results.focus)[timeline.at(rows["t"])]]
        place = np.where(rows["stack"] >= 0, results.labels.user_frame[rows["stack"]], -1)
        at = rows["t"]
        np.add.at(seen[0], place[(at >= begin) & (at < until)], 1)
        np.add.at(seen[1], place[(at >= since) & (at < end)], 1)
    return seen[0], seen[1], scale


_Stretch = tuple[int, int]


def _compared(results: Results, growth: StepGrowth) -> tuple[_Stretch, _Stretch, float]:
    """When the first steps and the last are, and how many of the first there are for one last.

    These are quarters of the run, or what is before a change and behind it; 0 where there are too
    few.
    """
    starts, end = np.asarray(results.steps.starts_ns), int(results.focus.end_ns)
    if len(starts) < PARTS:
        return (0, 0), (0, 0), 0.0
    if growth.since is None:
        parts = np.array_split(starts, PARTS)
        first, last = int(parts[0][0]), int(parts[-1][0])
        return (first, int(parts[1][0])), (last, max(end, last)), len(parts[0]) / len(parts[-1])
    at = int(np.flatnonzero(results.steps.start_numbers == growth.since)[0])
    moment = int(starts[at])
    return (int(starts[0]), moment), (moment, end), at / (len(starts) - at)


def _variance(shares: Floats, count: float) -> float:
    """By how much chance moves shares of so many samples, as the sum of squares."""
    return float((shares * (1.0 - shares)).sum()) / count
