"""CPU time that the main threads spent between calls, in stretches of the run."""

import numpy as np

from perfscope.arrays import Floats, Ints, counter_growth
from perfscope.metrics.host.run_queue import between_samples
from perfscope.metrics.results import Results

MOST_STRETCHES = 32
SAMPLES = 8
"""Of a stretch at least: what was waited between two samples is not told from work exactly."""


def cpu_work_s(results: Results) -> Floats | None:
    """Seconds by stretch and rank, shape (stretches, ranks): work less the waiting for a CPU.

    Of it no more than the clock of the thread ran, which a thread that sleeps, reads a file or is
    not let run by the host of its virtual machine leaves standing. Stretches are equally long;
    between two samples the waiting is dealt out evenly. None where a rank was not sampled often
    enough.
    """
    ranks, focus = results.trace.ranks, results.focus
    inside = [_in_focus(rank.main_samples["t"], focus.start_ns, focus.end_ns) for rank in ranks]
    stretches = min(MOST_STRETCHES, min(inside, default=0) // SAMPLES)
    if stretches < 2:
        return None
    edges = np.linspace(focus.start_ns, focus.end_ns, stretches + 1)
    columns = []
    for rank, timeline in zip(ranks, results.timelines, strict=True):
        samples = rank.main_samples
        worked, waited = between_samples(samples, timeline, timeline.work(focus))
        ran = np.minimum(worked - waited, np.diff(samples["cpu_ns"]))
        cpu = np.concatenate([[0.0], np.cumsum(ran)])
        columns.append(counter_growth(edges, samples["t"].astype(np.float64), cpu))
    return np.stack(columns, axis=1) * 1e-9


def _in_focus(times: Ints, start_ns: int, end_ns: int) -> int:
    return int(((times >= start_ns) & (times <= end_ns)).sum())
