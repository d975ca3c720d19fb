"""Resources of a run of which only pieces are there in detail."""

from dataclasses import replace

from perfscope.attribution.preparation import Prepared
from perfscope.metrics.host.resource_use import resources
from perfscope.metrics.host.resources import Resources


def resources_of_run(prepared: Prepared) -> Resources:
    """Memory and threads of the run; in a thinned one amounts of time are those of the pieces.

    Samples are of the whole run, what ranks were doing meanwhile is known of the pieces alone: who
    waited for files or a CPU while it worked is not told then.
    """
    found = resources(prepared.of_samples)
    if prepared.whole is None or prepared.whole.focus.length_ns <= 0:
        return found
    share = prepared.focus.length_ns / prepared.whole.focus.length_ns
    threads = tuple(
        replace(
            rank,
            cpu_s=rank.cpu_s * share,
            queue_delay_s=rank.queue_delay_s * share,
            involuntary_switches=round(rank.involuntary_switches * share),
            voluntary_switches=round(rank.voluntary_switches * share),
        )
        for rank in found.threads
    )
    return replace(found, threads=threads, files=(), cpu_waits=())
