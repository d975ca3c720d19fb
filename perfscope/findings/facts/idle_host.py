"""How long the run takes at least, and at most, on a host that nobody else uses."""

import numpy as np

from perfscope.arrays import counter_growth
from perfscope.findings.core.finding import Gain
from perfscope.findings.facts.cpu_waits import without_cpu_waits
from perfscope.judging import CPU_WINDOW_NS, FEWEST_SAMPLES, SURE
from perfscope.metrics.results import Results
from perfscope.replay.replay import Replay
from perfscope.structures import dataclass
from perfscope.trace.model import Rank
from perfscope.units import NS


@dataclass(frozen=True)
class IdleRun:
    """Seconds between which the whole run lies there."""

    low_s: float
    high_s: float


def idle_run(results: Results, replay: Replay, usual: Gain | None) -> IdleRun | None:
    """Both ends; None where waiting for CPUs is not known of every rank.

    What the run is said to take there without `usual`, what other work costs, lies between them.

    At most it takes what is left without the waiting of one end of each transfer. That is what a
    rank itself ran: other work makes no CPU faster. At least it takes what is left where both ends
    wait at different times, at the pace of the steps that took the least CPU time, as other work
    takes caches and the other half of a core as well, and with a start-up that waits for no CPU.
    Where the program's own steps differ, and where the rank whose steps differ most is not one that
    others wait for, this end is far too low: it is a bound, and no estimate.
    """
    least, most = (
        without_cpu_waits(results, replay, is_of_others=True, ends=ends) for ends in (2, 1)
    )
    if least is None or most is None or usual is None or not results.resources.cpu_waits:
        return None
    most_s, least_s = (
        results.run_s - (one.seconds if one.interval_s is None else one.interval_s[end])
        for one, end in ((most, 0), (least, 1))
    )
    around_s = max(results.run_s - results.window_s, 0.0)
    inside_s = max(least_s - around_s, 0.0)
    pace = min(map(_fastest, results.trace.ranks, [results] * len(results.trace.ranks)))
    low_s = around_s - _waited_around_s(results, around_s) + pace * inside_s
    usual_s = results.run_s - usual.seconds
    return IdleRun(max(min(low_s, usual_s), 0.0), min(max(most_s, usual_s), results.run_s))


def _fastest(rank: Rank, results: Results) -> float:
    """The CPU time of a rank's cheap steps over the mean of all: as if others slowed the rest down.

    Cheap is the lower end of what 95 % of normally distributed steps take, and no cheaper than the
    cheapest one. What slows a step down is not seen: a step that has more work of its own counts as
    slowed down as well, which puts the low end too low and never too high. Steps go together for as
    long as CPU time is known by; 1.0 where too few are.
    """
    starts_ns, rows = results.steps.starts_ns, rank.main_samples
    if len(starts_ns) < FEWEST_SAMPLES or len(rows) < FEWEST_SAMPLES:
        return 1.0
    apart = max(1, int(np.ceil(CPU_WINDOW_NS / max(np.median(np.diff(starts_ns)), 1.0))))
    edges = starts_ns[::apart].astype(np.float64)
    spent = counter_growth(edges, rows["t"], rows["cpu_ns"])
    if len(spent) < FEWEST_SAMPLES or spent.mean() <= 0:
        return 1.0
    spread = float(spent.std(ddof=1) / spent.mean())
    return max(1.0 - SURE * spread, float(spent.min() / spent.mean()))


def _waited_around_s(results: Results, around_s: float) -> float:
    """What all ranks waited for CPUs before and behind the analyzed window, at others' expense."""
    shares = {one.rank: one.others_share for one in results.resources.cpu_waits}
    waited = [
        shares[rank.number] * (rows["queue_delay_ns"][-1] - _inside_ns(rank, results)) * NS
        for rank in results.trace.ranks
        if len(rows := rank.main_samples)
    ]
    return float(min(max(min(waited, default=0.0), 0.0), around_s))


def _inside_ns(rank: Rank, results: Results) -> float:
    rows, focus = rank.main_samples, results.focus
    edges = np.array([focus.start_ns, focus.end_ns], np.float64)
    return float(counter_growth(edges, rows["t"], rows["queue_delay_ns"])[0])
