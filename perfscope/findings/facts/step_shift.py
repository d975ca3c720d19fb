"""Steps that take longer from one step on, at the same calls, and stay so."""

import numpy as np

from perfscope.arrays import Floats, Ints, counter_growth
from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.findings.facts.step_growth import LEAST_STEPS, StepGrowth, grown_frame
from perfscope.judging import FEWEST_SAMPLES, MEAN_TO_MEDIAN
from perfscope.losses.account import TAKES_PART
from perfscope.metrics.results import Results
from perfscope.trace.model import Frame

FEWEST = 8  # steps before the change, and as many behind it, tell of a level
LEAST_RATIO = 1.5  # from the longer steps before to the shorter ones behind
LEVEL = 0.6  # of the median behind, that the shorter steps there have: else it still grows
LOWER, UPPER = 0.1, 0.9  # quantiles that tell shorter and longer steps, single ones aside


def step_shift(results: Results) -> StepGrowth | None:
    """The step from which nearly all steps are longer than nearly all before; None without one.

    Other programs on the host lengthen steps as well, but hardly each one to the end of the run,
    and what ranks wait for CPUs from then on is taken off. A change of the calls is another part
    of the program, and steps of other batches have other work to do.
    """
    seconds = np.asarray(results.steps.max_seconds)
    if len(seconds) < LEAST_STEPS:
        return None
    place = _place(seconds)
    number = results.steps.numbers[place]
    found = np.flatnonzero(results.steps.start_numbers == number)
    if not len(found) or not _has_same_calls(results, int(found[0])):
        return None
    moment = int(results.steps.starts_ns[found[0]])
    before, behind = seconds[:place], seconds[place:]
    level = (1.0 - _queued(results, moment)) * float(np.quantile(behind, LOWER))
    soon = float(np.median(behind[:FEWEST]))
    is_level = min(soon, float(np.quantile(behind, LOWER))) >= LEVEL * float(np.median(behind))
    if not is_level or level < LEAST_RATIO * float(np.quantile(before, UPPER)):
        return None
    frame = grown_frame(results, moment, moment, before=len(behind) / len(before))
    if frame is not None and not _was_there(results, frame, moment):
        return None
    scale = results.steps.count / len(seconds)
    first = float(np.median(before))
    error = MEAN_TO_MEDIAN * float(np.std(before)) / np.sqrt(len(before))
    return StepGrowth(
        first_s=first,
        last_s=level,
        lost_s=(level - first) * len(behind) * scale,
        error_s=error * len(behind) * scale,
        frame=frame,
        since=number,
        ranks=_longer_on(results, int(found[0])),
    )


def _longer_on(results: Results, place: int) -> tuple[int, ...]:
    """The ranks whose own work in a step is longer from this start of a step on."""
    starts, more = results.steps.starts_ns, {}
    for rank, timeline in zip(results.trace.ranks, results.timelines, strict=True):
        work_ns = np.where(IS_COMMUNICATION[timeline.accounts], 0, timeline.lengths)
        worked = np.concatenate(([0], np.cumsum(work_ns)))
        of_steps = np.diff(np.interp(starts, timeline.boundaries, worked))
        more[rank.number] = float(np.median(of_steps[place:]) - np.median(of_steps[:place]))
    least = TAKES_PART * max(more.values())
    return tuple(rank for rank, longer in more.items() if longer > max(least, 0.0))


def _place(seconds: Floats) -> int:
    """The step before which steps differ most from those behind, in the first half of the run."""
    tried = np.unique(np.geomspace(FEWEST, len(seconds) // 2, 100).astype(int)).tolist()
    ratios = [
        float(np.quantile(seconds[k:], LOWER)) / max(float(np.quantile(seconds[:k], UPPER)), 1e-9)
        for k in tried
    ]
    split = int(tried[int(np.argmax(ratios))])
    between = np.sqrt(np.median(seconds[:split]) * np.median(seconds[split:]))
    is_long = seconds > between
    wrong = np.append(0, np.cumsum(is_long)) + np.append(np.cumsum(~is_long[::-1])[::-1], 0)
    return int(np.clip(np.argmin(wrong), FEWEST, len(seconds) - FEWEST))


def _has_same_calls(results: Results, place: int) -> bool:
    """Whether the first rank makes as many calls, for as many samples, before as behind."""
    rank, starts = results.trace.ranks[0], results.steps.starts_ns
    calls = np.diff(np.searchsorted(np.sort(rank.operations["t0"]), starts))
    ended = rank.steps["t0"] < starts[place]
    return _is_same(calls[:place], calls[place:]) and (
        not len(rank.steps) or _is_same(rank.steps["samples"][ended], rank.steps["samples"][~ended])
    )


def _is_same(before: Ints, behind: Ints) -> bool:
    return bool(len(before) and len(behind) and np.median(before) == np.median(behind))


def _was_there(results: Results, frame: Frame, moment: int) -> bool:
    """Whether a function ran before as well, as far as samples tell; else another part begins."""
    begin, trace = results.focus.start_ns, results.trace
    counts = np.zeros(len(trace.stacks), np.int64)
    for rank in trace.ranks:
        at, stacks = rank.stacks["t"], rank.stacks["stack"]
        counts += np.bincount(
            stacks[(at >= begin) & (at < moment) & (stacks >= 0)], minlength=len(counts)
        )
    seen = {place for stack in np.flatnonzero(counts).tolist() for place in trace.stacks[stack]}
    functions = {trace.frames[one].key for one in seen}
    return counts.sum() < FEWEST_SAMPLES or frame.key in functions


def _queued(results: Results, moment: int) -> float:
    """Of the work of the rank that waited most for CPUs since then, the part in which it waited."""
    shares = [0.0]
    for rank, timeline in zip(results.trace.ranks, results.timelines, strict=True):
        work = timeline.work(results.focus)
        work &= timeline.boundaries[:-1] >= moment
        spent_ns = int(timeline.lengths[work].sum())
        if spent_ns and len(samples := rank.main_samples):
            queued_ns = counter_growth(timeline.boundaries, samples["t"], samples["queue_delay_ns"])
            shares.append(min(1.0, float(queued_ns[work].sum()) / spent_ns))
    return max(shares)
