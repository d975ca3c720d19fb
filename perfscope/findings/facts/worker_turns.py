"""What it takes DataLoaders to begin each epoch with new workers, and to end them after it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeGuard

from perfscope.findings.core.finding import Evidence, Gain
from perfscope.findings.core.gain import replayed, saved
from perfscope.findings.core.wording import place
from perfscope.judging import MAIN
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.replay.replay import Replay
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Rank
from perfscope.trace.operands import frame_of
from perfscope.units import NS, format_seconds

EDIT = Edit(keeps_workers=True)
BOTH_ENDS = (
    "The lower end holds where the workers together make one batch in each step, the upper end "
    "where no step waits for its input"
)
_NAMES = ("turns", "first_ns", "starts_ns", "ends_ns", "ready_ns", "late_ns")


@dataclass(frozen=True)
class WorkerTurns:
    """What is saved by workers that stay, and what it takes a rank that they do not.

    `count` is how often workers began to iterate there, 0 where nobody counted; `seconds` is what
    beginning and ending took in all. `made_at` is the line that makes the only such loader; None
    where that is not known.
    """

    gain: Gain
    rank: int
    count: int
    seconds: float
    is_alone: bool = False  # the rank: nobody asks which one it was
    made_at: Frame | None = None

    @property
    def action(self) -> str:
        """What has them stay."""
        made = f" made in {place(self.made_at)}" if self.made_at else ""
        told = f"Set persistent_workers=True in the DataLoader{made}: its workers are started"
        if not self.count:
            return f"{told} anew for each epoch, which then waits for their first batch."
        each = format_seconds(self.seconds / self.count)
        return (
            f"{told} {self.count} times, where once would do. Starting them, waiting for their "
            f"first batch and ending them takes {each} each time, {format_seconds(self.seconds)} "
            f"in all{'' if self.is_alone else f' on rank {self.rank}'}."
        )

    @property
    def summary(self) -> str:
        """What the saving lies between; "" where nobody knows."""
        if self.gain.interval_s is None:
            return ""
        least, most = map(format_seconds, self.gain.interval_s)
        return (
            f" Of that, workers that stay save {format_seconds(self.gain.seconds)}: only {least} "
            "if they begin to prepare an epoch's first batch when it is asked for, and up to "
            f"{most} if starting them delays other batches, too."
        )

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What was counted."""
        if not self.count:
            return ()
        label = f"Starting workers {self.count} times, their first batches and their end"
        told = f"{label}, on rank {self.rank} in the whole run"
        return (Evidence(told, self.seconds, "s", "once"),)


def training_loaders(rank: Rank) -> Iterator[Mapping[str, Any]]:
    """The settings of the DataLoaders that a rank trains from, as they were met."""
    loaders = rank.framework("torch").get("loaders")
    for one in loaders if isinstance(loaders, list) else ():
        if isinstance(one, Mapping) and one.get("training") is not False:
            yield one


def made_at(loaders: Iterable[Mapping[str, Any]]) -> Frame | None:
    """The line that makes these loaders, where it is one and known."""
    lines = {frame_of(one.get("made_at")) for one in loaders}
    return lines.pop() if len(lines) == 1 else None


def loader_line(results: Results) -> Frame | None:
    """The line that makes what all ranks train from; None where it is not one, or not known."""
    return made_at(one for rank in results.trace.ranks for one in training_loaders(rank))


def collated_at(results: Results) -> Frame | None:
    """The program's function that puts samples together to batches; None where it is not one."""
    loaders = [one for rank in results.trace.ranks for one in training_loaders(rank)]
    functions = {frame_of(one.get("collate_at")) for one in loaders}
    return functions.pop() if len(functions) == 1 else None


def sharded_at(line: Frame | None) -> str:
    """How each rank gets a part of the data of a PyTorch loader, where that is made."""
    at = f"In {place(line)}: pass" if line else "Pass"
    return (
        f"{at} `sampler=DistributedSampler(dataset)` to the DataLoader, so that each rank gets its "
        "own part of the data, and call `sampler.set_epoch(epoch)` before each epoch"
    )


def ending_workers(rank: Rank) -> int:
    """The most workers of a DataLoader of a rank that end with each epoch; 0 without any."""
    told = (
        one.get("workers")
        for one in training_loaders(rank)
        if one.get("persistent_workers") is False
    )
    return max((one for one in told if _is_count(one)), default=0)


def worker_turns(
    results: Results, replay: Replay, position: int, found: Gain
) -> WorkerTurns | None:
    """Of a rank, where workers that stay save most of `found`, what waiting for input costs.

    None where they do not, and where workers begin once or are kept.
    """
    rank = results.trace.ranks[position]
    if not (workers := ending_workers(rank)):
        return None
    count, seconds = _counted(rank)
    if gain := _replayed(results, replay, workers, found):
        is_most = gain.seconds >= MAIN * found.seconds
    else:
        is_most = count > 1 and seconds >= MAIN * _taken_s(rank)
        gain = saved(results, min(found.seconds, seconds * (1 - 1 / max(count, 1))))
    if not is_most or gain.seconds <= 0:
        return None
    is_alone = len(results.trace.ranks) == 1
    ending = [one for one in training_loaders(rank) if one.get("persistent_workers") is False]
    line = made_at(one for one in ending if one.get("workers"))
    return WorkerTurns(gain, rank.number, count, seconds, is_alone, line)


def _replayed(results: Results, replay: Replay, workers: int, found: Gain) -> Gain | None:
    """What workers that stay save, and between what that lies; None without a replay.

    Workers that keep up make a batch in as many steps as there are of them, at most. No waiting for
    input at all is more than they can give back.
    """
    likely = replay.predict([EDIT])
    least = replay.predict([replace(EDIT, factor=float(workers))])
    if likely is None or least is None:
        return None
    gain = replayed(results, likely, [EDIT])
    return replace(
        gain,
        interval_s=(least.gain_s, max(found.seconds, gain.seconds)),
        is_by_assumption=True,
        bridge=BOTH_ENDS,
    )


def _counted(rank: Rank) -> tuple[int, float]:
    """How often workers began, and the seconds that it took; 0 and 0 where nobody counted."""
    turns, first, starts, ends, *_ = _numbers(rank)
    anew = first + starts + ends
    return (turns, anew * NS) if turns > 1 and anew > 0 else (0, 0.0)


def _taken_s(rank: Rank) -> float:
    """What all batches of workers took, with starting and ending them."""
    _, _, starts, ends, ready, late = _numbers(rank)
    return (ready + late + starts + ends) * NS


def _numbers(rank: Rank) -> tuple[int, ...]:
    noted = rank.framework("torch").get("batches")
    told = [noted.get(name) if isinstance(noted, Mapping) else None for name in _NAMES]
    numbers = tuple(one for one in told if _is_count(one))
    return numbers if len(numbers) == len(_NAMES) else (0,) * len(_NAMES)


def _is_count(told: object) -> TypeGuard[int]:
    """Whether it is a number as the agent writes them."""
    return isinstance(told, int) and not isinstance(told, bool) and 0 <= told < 1 << 63
