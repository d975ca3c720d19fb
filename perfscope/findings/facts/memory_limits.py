"""The memory that ranks may use: that of their node, and the limit of their control group."""

from collections.abc import Sequence

from perfscope.metrics.host.memory_growth import MemoryGrowth
from perfscope.metrics.host.resources import RankMemory
from perfscope.metrics.results import Results
from perfscope.schema.resources import MemoryOfNode
from perfscope.structures import dataclass
from perfscope.units import format_bytes


@dataclass(frozen=True)
class Room:
    """Memory that some ranks share.

    `ranks` are those that use it, `total_bytes` its size, `left_bytes` what was left at the least
    moment, `end_bytes` at the end of the run.
    """

    host: str
    is_group: bool
    ranks: tuple[int, ...]
    total_bytes: int
    left_bytes: int
    end_bytes: int

    @property
    def share_left(self) -> float:
        """Of its size, at the least moment."""
        return self.left_bytes / self.total_bytes

    @property
    def name(self) -> str:
        """What it is called in a sentence."""
        if self.is_group:
            limit = format_bytes(self.total_bytes)
            return f"the {limit} limit of the control group on host {self.host}"
        return f"the memory of host {self.host}"


def rooms(results: Results) -> list[Room]:
    """Every node and every control group with a limit whose use is known."""
    memory = results.resources.memory
    found = []
    for node in results.resources.node_memory:
        members = frozenset(node.ranks)
        here = [rank for rank in memory if rank.rank in members]
        if node.total_bytes and node.least_available_bytes is not None:
            left = node.least_available_bytes
            found.append(Room(node.host, False, node.ranks, node.total_bytes, left, left))
        found += _groups(node, here)
    return found


def usable_bytes(results: Results, room: Room) -> int:
    """What the ranks of a room could have together: what they need at their peaks and what is left.

    At most the whole room, since not all of them are at their peak at once.
    """
    needed = {memory.rank: memory.needed_bytes for memory in results.resources.memory}
    together = sum(needed.get(number, 0) for number in room.ranks)
    return min(room.total_bytes, room.left_bytes + together)


@dataclass(frozen=True)
class Fits:
    """How many ranks like one fit a room at the peak of that rank, and without its growth."""

    room: Room
    now: int
    without_growth: int


def ranks_that_fit(results: Results, rank: int, growth: MemoryGrowth | None) -> Fits | None:
    """How many ranks like a growing one fit the smallest room that it is in; None unknown."""
    needed = {memory.rank: memory.needed_bytes for memory in results.resources.memory}
    here = [room for room in rooms(results) if rank in room.ranks]
    if growth is None or not here or needed.get(rank, 0) <= 0:
        return None
    room = min(here, key=lambda one: one.total_bytes)
    usable = usable_bytes(results, room)
    without = max(needed[rank] - growth.grown_bytes, 1)
    return Fits(room, usable // needed[rank], usable // without)


def _groups(node: MemoryOfNode, here: Sequence[RankMemory]) -> list[Room]:
    """The control groups of a node; ranks of a node that have the same limit share it.

    What a group used is taken from its own account, else from the ranks' resident memory together.
    """
    found = []
    for limit in sorted({rank.limit_bytes for rank in here if rank.limit_bytes}):
        ranks = [rank for rank in here if rank.limit_bytes == limit]
        told = [r.group_peak_bytes for r in ranks if r.group_peak_bytes is not None]
        ends = [r.group_end_bytes for r in ranks if r.group_end_bytes is not None]
        peak = max(told) if told else sum(rank.peak_bytes for rank in ranks)
        end = max(ends) if ends else sum(rank.end_bytes for rank in ranks)
        numbers = tuple(rank.rank for rank in ranks)
        left, left_at_end = max(0, limit - peak), max(0, limit - end)
        found.append(Room(node.host, True, numbers, limit, left, left_at_end))
    return found
