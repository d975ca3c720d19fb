"""What it costs that the main threads of ranks wait for a CPU."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.findings.core.finding import Gain
from perfscope.findings.core.gain import as_bound, predicted_gain
from perfscope.judging import ALONE, MAIN, MOST_LOST, NEGLIGIBLE
from perfscope.metrics.communication.unhindered import compared_transfer_s
from perfscope.metrics.host.run_queue import CpuWait
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit, Prediction, RefusedEditError
from perfscope.replay.replay import Replay
from perfscope.units import NS


def without_cpu_waits(
    results: Results, replay: Replay, *, is_of_others: bool, ends: int = 0
) -> Gain | None:
    """What the run would save if no rank waited for CPUs that others have; None where unknown.

    A rank's work is as much shorter as it waited for a CPU meanwhile. Data moves when all ranks
    that take part have a CPU: transfer is shorter by the share that they waited for one in it.
    Processes outside the job take one from each end by chance, and what is left is what neither
    waits in; of the job's own threads one waits while the other runs.

    Args:
        results: the run.
        replay: asked first.
        is_of_others: whether processes outside the job have them, or threads of the job.
        ends: of a transfer, whose waiting is taken away, with as large a share of all work;
            0: as told above, and of work where the samples tell the waiting.
    """
    waits = [one.part(is_of_others=is_of_others) for one in results.resources.cpu_waits]
    if not waits or len(waits) < len(results.trace.ranks):
        return None
    is_dealt = is_of_others and not ends
    ends = ends or (2 if is_of_others else 1)
    edits = _without_others(results.resources.cpu_waits, replay) if is_dealt else _shorter(waits)
    faster = _transfer(results, waits, ends=ends)
    bound_s = max((one.lost_s for one in waits), default=0.0)
    if not edits and not faster:
        return None
    work_alone = predicted_gain(results, replay, edits, bound_s=bound_s)
    try:
        gain = predicted_gain(results, replay, [*edits, *faster], bound_s=bound_s)
    except RefusedEditError:  # nothing was moved that a network could move faster
        gain = work_alone
    if is_of_others and work_alone.seconds < ALONE * gain.seconds and _by_chance(results):
        gain = as_bound(gain)
    return replace(gain, own_s=sum(one.in_work_s for one in waits) / len(waits))


def share_on_free_cpus(results: Results, replay: Replay, edit: Edit) -> float:
    """What a change would save of the run had no rank waited for a CPU; 0 where that is unknown.

    However busy the host was, what is left without its waiting for CPUs is the program's.
    """
    waits = results.resources.cpu_waits
    if len(waits) < len(results.trace.ranks):
        return 0.0
    free = [*_shorter(waits), *_transfer(results, waits)]
    try:
        quiet, found = replay.predict(free), replay.predict([edit], after=free)
    except RefusedEditError:
        return 0.0
    if quiet is None or found is None:
        return 0.0
    left_s = results.focus.length_ns * NS - quiet.gain_s
    return found.gain_s / left_s if left_s > 0 else 0.0


def moving_share(results: Results) -> float:
    """Of the run without its waiting for CPUs, the transfer for which both ends had one.

    Data moves while both ends have a CPU. Whatever share of the transfer a rank waits for one, its
    peer waits for as large a share, and neither knows of the other. 1.0 where that is unknown.
    """
    waits = results.resources.cpu_waits
    if len(waits) < len(results.trace.ranks):
        return 1.0
    spent_s = sum(one.transfer_s for one in waits)
    waited = sum(one.in_transfer_s for one in waits) / spent_s if spent_s > 0 else 0.0
    own_s = len(waits) * results.focus.length_ns * NS - sum(one.lost_s for one in waits)
    return spent_s * (1.0 - waited) ** 2 / own_s if own_s > 0 else 1.0


def bytes_s(results: Results) -> float | None:
    """Seconds in which bytes move, mean of the ranks; None where nothing tells that.

    A call that a rank without a CPU takes part in takes as long as that rank waits, whatever it
    carries. In the fastest calls of many like each other none was late, and all had a CPU: as long
    as those all others would take.
    """
    moved_s, compared_s = compared_transfer_s(results.waits, results.focus)
    return moved_s if compared_s > 0 else None


def on_equal_cpus(
    results: Results, replay: Replay, edits: Sequence[Edit], *, after: Sequence[Edit]
) -> Prediction | None:
    """What a change of the ranks' work saves had each waited for CPUs for the same share of it.

    Who has more work waits for longer, for the same share; who waits for a larger one is late
    because of that. None where waiting is not known of every rank, or all wait for the same share.

    Args:
        results: the run.
        replay: asked.
        edits: the change.
        after: changes made before it.
    """
    waits = results.resources.cpu_waits
    work_s = sum(one.work_s for one in waits)
    if len(waits) < len(results.trace.ranks) or min(one.work_s for one in waits) <= 0:
        return None
    usual = min(sum(one.in_work_s for one in waits) / work_s, MOST_LOST)
    equal = [
        Edit(ranks=(one.rank,), factor=(1.0 - share) / (1.0 - usual))
        for one in waits
        if (share := min(one.in_work_share, MOST_LOST)) != usual
    ]
    return replay.predict(edits, after=[*after, *equal]) if equal else None


def _shorter(waits: Sequence[CpuWait]) -> list[Edit]:
    """The work of ranks without the waiting in it."""
    return [
        Edit(ranks=(one.rank,), factor=1.0 - min(one.in_work_share, MOST_LOST))
        for one in waits
        if one.in_work_share > 0
    ]


def _without_others(waits: Sequence[CpuWait], replay: Replay) -> list[Edit]:
    """The work of ranks without what others made it wait, where in it samples tell that.

    So what makes now one rank late and now another goes as well. Where mostly threads of a pool
    waited, or a replay does not know where in its work a rank did, all of it is shorter.
    """
    edits, pool_s, whole_s = [], 0.0, 0.0
    for one in waits:
        share = min(one.others_share * one.counted, MOST_LOST)
        if share > 0:
            edits.append(Edit(ranks=(one.rank,), waits_for_cpu=True, factor=1.0 - share))
        own_s, left_s = (
            one.pool_share * one.in_pool_s,
            one.work_s - one.others_share * one.in_work_s,
        )
        if own_s > 0 and left_s > 0:
            edits.append(Edit(ranks=(one.rank,), factor=1.0 - min(own_s / left_s, MOST_LOST)))
        pool_s, whole_s = pool_s + own_s, whole_s + one.part(is_of_others=True).in_work_s
    found = replay.predict(edits) if edits and pool_s <= MAIN * whole_s else None
    if found is not None and found.gain_s > 0:
        return edits
    return _shorter([one.part(is_of_others=True) for one in waits])


def _transfer(results: Results, waits: Sequence[CpuWait], *, ends: int = 1) -> list[Edit]:
    """Transfer without the waiting in it, which so many ends of it do at different times."""
    moved_s = sum(results.communication.transfer_s_by_rank)
    waited_s = sum(one.in_transfer_s for one in waits)
    share = min(waited_s / moved_s, MOST_LOST) if moved_s > 0 else 0.0
    left = (1.0 - share) ** ends
    if ends > 1 and share > NEGLIGIBLE:
        left = min(left, max(_known_to_move(results, moved_s, left), 1.0 - ends * share))
    left = max(left, NEGLIGIBLE)
    return [Edit(factor=1.0, network=1.0 / left)] if share > 0 else []


def _by_chance(results: Results) -> bool:
    """Whether too few calls are alike to tell what moving data takes on CPUs of its own."""
    moved_s = sum(results.communication.transfer_s_by_rank) / max(len(results.trace.ranks), 1)
    return compared_transfer_s(results.waits, results.focus)[1] < MAIN * moved_s


def _known_to_move(results: Results, moved_s: float, by_chance: float) -> float:
    """Of the transfer, what stays where what the ends wait adds up, and no chance shortens it.

    Calls as fast as the fastest of those alike stay. Of others, of which too few are alike, nothing
    but chance tells, so that this is no less than that where all are such.
    """
    mean_s = max(moved_s, NS) / len(results.trace.ranks)
    fast_s, compared_s = compared_transfer_s(results.waits, results.focus)
    return fast_s / mean_s + by_chance * max(1.0 - compared_s / mean_s, 0.0)
