"""More threads or processes that make batches: whether CPUs are free for them, and how to ask."""

from collections.abc import Mapping
from typing import Any

from perfscope.findings.core.wording import place
from perfscope.findings.facts.input_work import is_at_work
from perfscope.findings.facts.worker_turns import made_at, training_loaders
from perfscope.metrics.host.cpu_takers import busy_for_anyone
from perfscope.metrics.host.resources import busy_cpus
from perfscope.metrics.results import Results
from perfscope.units import counted


def makes_itself(results: Results, position: int) -> bool:
    """Whether the training thread makes the batches: known of a loader, else seen in samples."""
    rank = results.trace.ranks[position]
    workers = next(training_loaders(rank), {}).get("workers")
    return is_at_work(results, rank.number) if workers is None else workers == 0


def idle_cpus(results: Results, position: int) -> tuple[str, int | None]:
    """The host of a rank, and how many CPUs idle there, rounded down; None: not seen."""
    rank = results.trace.ranks[position]
    busy = busy_for_anyone(rank, results.focus)
    if busy is not None:
        return rank.host, int(max(0.0, rank.cpu_count_allowed - busy))
    for node in results.resources.node_threads:
        here = results.resources.threads_of(node)
        if rank.number in node.ranks and here and node.cpus > 0:
            return node.host, int(max(0.0, node.cpus - busy_cpus(here)))
    return rank.host, None


def room_on(host: str, idle: int | None) -> str:
    """Whether the node of a rank has CPUs to spare, in brackets; "" where it was not seen."""
    if idle is None:
        return ""
    if idle == 0:
        return f" (all CPUs of host {host} are busy: additional workers need more)"
    return f" ({counted(idle, 'CPU')} of host {host} idle)"


def crowded(host: str, workers: int, change: str) -> str:
    """That more workers would bring nothing, and what does."""
    more = f"more than {counted(workers, 'worker')}" if workers else "workers"
    return (
        f"{change} All CPUs of host {host} were busy in this run, so {more} of the DataLoader "
        "would only share them."
    )


def loader_actions(
    loader: Mapping[str, Any], workers: int, room: str, back: str
) -> tuple[str, ...]:
    """What to set of a DataLoader; `room` and `back` tell what CPUs there are and what it saves."""
    made = made_at([loader])
    which = f"DataLoader made in {place(made)}" if made else "DataLoader"
    if workers == 0:
        return (
            (
                f"Set num_workers=1 or more in the {which}: with 0 the training process prepares "
                f"every batch itself{room}."
            ),
        )
    more = f"Raise num_workers of the {which} from {workers} to {2 * workers}{room}"
    actions = [f"{more}{back}."]
    factor = loader.get("prefetch_factor")
    if isinstance(factor, int):
        actions.append(
            f"Raise prefetch_factor from {factor} if single batches are slow now and then."
        )
    return tuple(actions)
