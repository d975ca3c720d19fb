"""What the agent took at the start of processes that ranks started: each left a note of it."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from perfscope.readers.recording import agent_metadata
from perfscope.structures import dataclass
from perfscope.trace.counts import count_under

MOST_READ = 1 << 8
"""Notes of a host that are read: those between them stand for the others."""

FORKED, LOADED = "fork_cpu_ns", "start_cpu_ns"
"""Of a process, what the agent took when it was forked, and when it was loaded anew."""

Owner = tuple[str, int]
"""Host and process id of the Python process that started others."""


@dataclass(frozen=True)
class Starts:
    """What was read of the processes that one started; each stands for `times` of them."""

    forked_ns: Sequence[int]
    loaded_ns: Sequence[int]
    times: float

    def told(self, forks: int) -> dict[str, int]:
        """How many these are with all forks that the owner counted, and what all of them took."""
        forked = max(forks, round(self.times * len(self.forked_ns))) if self.forked_ns else 0
        each_ns = sum(self.forked_ns) / max(1, len(self.forked_ns))
        loaded = self.times * len(self.loaded_ns)
        cpu_ns = forked * each_ns + self.times * sum(self.loaded_ns)
        return {"processes": forked + round(loaded), "cpu_ns": round(cpu_ns)}


def read_starts(folders: Iterable[Path], workers: Collection[str] = ()) -> dict[Owner, Starts]:
    """By owner, of hosts, whose files are in these folders.

    Of processes with records, `workers` are those of which there is such a note, by their names.
    """
    return {owner: one for folder in folders for owner, one in _of_host(folder, workers)}


def _of_host(folder: Path, workers: Collection[str]) -> Iterator[tuple[Owner, Starts]]:
    recorded = {file.stem for file in folder.glob("*.rec")}.difference(workers)
    notes = sorted(file for file in folder.glob("*.json") if file.stem not in recorded)
    every = -(-len(notes) // MOST_READ) or 1
    read = [agent_metadata.read_json(file)[0] for file in notes[::every]]
    by_owner: defaultdict[int, list[Mapping[str, object]]] = defaultdict(list)
    for values in read:
        if (owner := agent_metadata.integer(values, "owner_pid")) is not None:
            by_owner[owner].append(values)
    times = len(notes) / max(1, len(read))
    for owner, found in by_owner.items():
        forked, loaded = (
            [count_under(values, name) for values in found if name in values]
            for name in (FORKED, LOADED)
        )
        yield (folder.name, owner), Starts(forked, loaded, times)
