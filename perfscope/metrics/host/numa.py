"""NUMA nodes: where each rank's CPUs and pages are."""

from collections.abc import Mapping
from typing import Any

from perfscope.structures import dataclass
from perfscope.trace.host_cpus import cpu_set
from perfscope.trace.model import Rank, Trace

MOST_NODES = 1024


@dataclass(frozen=True)
class NumaUse:
    """One rank on the NUMA nodes of its host."""

    rank: int
    host: str
    nodes: tuple[int, ...]  # those of the host that have CPUs
    cpu_nodes: tuple[int, ...]  # those that hold CPUs of the rank's affinity mask
    # resident memory of the rank; empty where it was not looked at
    bytes_by_node: Mapping[int, int]
    moves: int = 0  # how often the main thread was seen on another node than before
    seconds: float = 0.0  # life of the rank, over which it moved

    @property
    def moves_per_minute(self) -> float:
        """How often it moved in a minute of its life."""
        return 60.0 * self.moves / self.seconds if self.seconds > 0 else 0.0

    @property
    def remote_bytes(self) -> int:
        """Memory on nodes with CPUs of which the rank has none.

        Nodes that are memory alone (HBM, CXL, that of a GPU) have it on purpose.
        """
        if not self.cpu_nodes:
            return 0
        far = set(self.nodes) - set(self.cpu_nodes)
        return sum(size for node, size in self.bytes_by_node.items() if node in far)

    @property
    def remote_share(self) -> float:
        """The same as a share of the rank's memory on nodes with CPUs."""
        whole = sum(size for node, size in self.bytes_by_node.items() if node in self.nodes)
        return self.remote_bytes / whole if whole else 0.0


def numa_use(trace: Trace) -> tuple[NumaUse, ...]:
    """What is known of the ranks whose agent noted the NUMA nodes of the host."""
    return tuple(use for rank in trace.ranks if (use := _use(rank)) is not None)


def _use(rank: Rank) -> NumaUse | None:
    topology = rank.metadata.get("topology")
    if not isinstance(topology, dict):
        return None
    nodes = _nodes(topology)
    if not nodes:
        return None
    mask = cpu_set(rank.cpus_allowed)
    noted = rank.metadata.get("numa")
    facts: dict[str, Any] = noted if isinstance(noted, dict) else {}
    moves = _amount(facts.get("moves"))
    return NumaUse(
        rank=rank.number,
        host=rank.host,
        nodes=tuple(sorted(nodes)),
        cpu_nodes=tuple(sorted(node for node, cpus in nodes.items() if cpus & mask)),
        bytes_by_node=_bytes(facts.get("bytes_by_node")),
        moves=moves or 0,
        seconds=(rank.end_ns - rank.start_ns) * 1e-9,
    )


def _nodes(topology: Mapping[str, Any]) -> dict[int, frozenset[int]]:
    """CPUs of each NUMA node; of a machine with one node that has CPUs only that there is one."""
    lists = topology.get("numa")
    found = {}
    for name, text in lists.items() if isinstance(lists, dict) else ():
        cpus = cpu_set(text) if isinstance(text, str) else frozenset()
        if cpus and str(name).isdigit() and int(name) < MOST_NODES:
            found[int(name)] = cpus
    count = topology.get("numa_nodes")
    is_told = isinstance(count, int) and not isinstance(count, bool) and count > 0
    if not found and is_told and (count == 1 or lists == {}):
        return {0: frozenset()}
    return found


def _bytes(table: object) -> dict[int, int]:
    found = {}
    for name, value in table.items() if isinstance(table, dict) else ():
        size = _amount(value)
        if str(name).isdigit() and int(name) < MOST_NODES and size is not None:
            found[int(name)] = size
    return found


def _amount(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < 1 << 62 else None
