"""Whether the ranks of a run shared CPUs: its times then tell of waiting for CPUs, not of a law."""

from perfscope.findings.core import wording
from perfscope.studies.common.run import StudyRun
from perfscope.studies.scaling.series import Point
from perfscope.units import counted

OVERSUBSCRIBED = 1.2
"""Threads that want to run, for each CPU, from which on they wait for each other."""


def oversubscription(run: StudyRun) -> str:
    """How many threads share how few CPUs of a node; "" where they do not, or nothing tells.

    Ranks that mostly sleep or wait for something else than a CPU may be more than the CPUs: where
    hardly more threads wanted to run than there were CPUs, none had to wait for one.
    """
    threads = run.threads_told or 1
    for node in run.result.threads.nodes:
        cpus, ranks, wanting = node.cpus, len(node.ranks), node.runnable_mean
        if (
            not cpus
            or ranks * threads <= cpus
            or (wanting is not None and wanting < OVERSUBSCRIBED * cpus)
        ):
            continue
        each = f" × {threads} threads" if threads > 1 else ""
        return f"{counted(ranks, 'rank')}{each} on {wording.cpus(cpus)}"
    return ""


def oversubscribed(point: Point) -> str:
    """The same of a size: of the first of its runs that shared CPUs."""
    return next((shared for run in point.runs if (shared := oversubscription(run))), "")
