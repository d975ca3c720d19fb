"""What it costs that the main threads of ranks wait for a CPU."""

from perfscope.findings.core.finding import Gain
from perfscope.findings.core.gain import predicted_gain
from perfscope.losses.held_up import MOST
from perfscope.metrics.host.run_queue import CpuWait
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit, RefusedEditError
from perfscope.replay.replay import Replay


def without_cpu_waits(results: Results, replay: Replay, *, is_of_others: bool) -> Gain | None:
    """What the run would save if no rank waited for CPUs that others have; None where unknown.

    A rank's work is as much shorter as it waited for a CPU meanwhile. Data moves when all ranks
    that take part have a CPU: transfer is shorter by the share that they waited for one in it.

    Args:
        results: the run.
        replay: asked first.
        is_of_others: whether processes outside the job have them, or threads of the job.
    """
    waits = [one.part(is_of_others=is_of_others) for one in results.resources.cpu_waits]
    if not waits or len(waits) < len(results.trace.ranks):
        return None
    edits = [
        Edit(ranks=(one.rank,), factor=1.0 - min(one.in_work_s / one.work_s, MOST))
        for one in waits
        if one.in_work_s > 0 and one.work_s > 0
    ]
    faster = _transfer(results, waits)
    bound_s = max((one.lost_s for one in waits), default=0.0)
    if not edits and not faster:
        return None
    try:
        return predicted_gain(results, replay, [*edits, *faster], bound_s=bound_s)
    except RefusedEditError:  # nothing was moved that a network could move faster
        return predicted_gain(results, replay, edits, bound_s=bound_s)


def _transfer(results: Results, waits: list[CpuWait]) -> list[Edit]:
    moved_s = sum(results.communication.transfer_s_by_rank)
    share = min(sum(one.in_transfer_s for one in waits) / moved_s, MOST) if moved_s > 0 else 0.0
    return [Edit(factor=1.0, network=1.0 / (1.0 - share))] if share > 0 else []
