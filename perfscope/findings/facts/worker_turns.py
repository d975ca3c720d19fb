"""What it takes a DataLoader to begin each epoch with new workers, and to end them after it."""

from perfscope.findings.core.finding import Evidence
from perfscope.judging import MAIN
from perfscope.structures import dataclass
from perfscope.trace.model import Rank
from perfscope.units import NS, format_seconds

_NAMES = ("turns", "first_ns", "starts_ns", "ends_ns", "ready_ns", "late_ns")


@dataclass(frozen=True)
class WorkerTurns:
    """How often a loader's workers began to iterate, and what beginning and ending took in all."""

    count: int
    seconds: float

    @property
    def action(self) -> str:
        """What has them stay."""
        each = format_seconds(self.seconds / self.count)
        return (
            "Set persistent_workers=True in the DataLoader: its workers are started anew "
            f"{self.count} times, and starting them, waiting for their first batch and ending them "
            f"takes {each} each time."
        )

    @property
    def evidence(self) -> Evidence:
        """The seconds."""
        label = f"Starting workers {self.count} times, their first batches and their end"
        return Evidence(f"{label}, in the whole run", self.seconds, "s", "once")


def worker_turns(rank: Rank, *, are_kept: bool) -> WorkerTurns | None:
    """Of training loaders, where that is most of the time that went into getting batches.

    None where it is not, and where workers begin once, are kept, or were not counted.
    """
    noted = rank.framework("torch").get("batches")
    told = [noted.get(name) if isinstance(noted, dict) else None for name in _NAMES]
    numbers = [one for one in told if isinstance(one, int) and one >= 0]
    if are_kept or len(numbers) < len(_NAMES):
        return None
    turns, first, starts, ends, ready, late = numbers
    anew = first + starts + ends
    is_most = anew >= MAIN * (ready + late + starts + ends)
    return WorkerTurns(turns, anew * NS) if turns > 1 and anew > 0 and is_most else None
