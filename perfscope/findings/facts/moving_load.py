"""Work that moves from one rank to another during the run, and is no more or less in all."""

from collections.abc import Mapping

import numpy as np

from perfscope.arrays import Floats
from perfscope.findings.facts.function_growth import RankTables, functions, samples_in_focus
from perfscope.findings.facts.step_growth import FINER, PARTS, SURE
from perfscope.judging import MAIN
from perfscope.metrics.results import Results
from perfscope.structures import dataclass
from perfscope.trace.model import Frame
from perfscope.units import NS


@dataclass(frozen=True)
class MovingLoad:
    """Of one function, the rank whose work shrinks most over the run, and that whose grows most."""

    frame: Frame
    first_rank: int
    last_rank: int
    seconds: Mapping[int, tuple[float, ...]]  # of CPU time in each quarter of the steps, by rank


def moving_load(results: Results, by_rank: RankTables) -> MovingLoad | None:
    """The function of which most moves from one rank to another; None where none does.

    A rank does at least its fair share less of it in the last quarter of the steps than in the
    first, another one as much more, and all of them together as much as before. It is CPU time:
    who waits for a CPU is late, and does no more.
    """
    if len(by_rank) < 2:
        return None
    ranks, tables = [rank for rank, _ in by_rank], [table for _, table in by_rank]
    period = max(results.focus.length_ns / max(1, samples_in_focus(results, one)) for one in ranks)
    best, found = 0.0, None
    for lines in functions(results.trace.frames, np.sum([table[0] for table in tables], axis=0)):
        parts = np.array([table[1, lines].sum(axis=0) for table in tables])
        spent = parts.reshape(-1, PARTS, FINER).sum(axis=2)
        moved, first, last = moved_between(spent, period)
        if moved > best:
            frames = np.sum([table[0, lines].sum(axis=1) for table in tables], axis=0)
            best, numbers = moved, [rank.number for rank in ranks]
            found = MovingLoad(
                frame=results.trace.frames[lines[int(frames.argmax())]],
                first_rank=numbers[first],
                last_rank=numbers[last],
                seconds=dict(zip(numbers, map(tuple, (spent * NS).tolist()), strict=True)),
            )
    return found


def moved_between(spent: Floats, period: float) -> tuple[float, int, int]:
    """Nanoseconds that moved over the run, 0 where none did, from which rank, and to which one.

    Args:
        spent: what each rank spent in each quarter, in ns, shape (ranks, quarters).
        period: nanoseconds between samples.
    """
    rise = spent[:, -1] - spent[:, 0]
    moved = min(float(rise.max()), float(-rise.min()))
    error = np.sqrt(period * spent.max())
    is_sure = moved > max(SURE * float(error), float(spent.sum(axis=0).mean()) / len(spent))
    is_move = is_sure and abs(float(rise.sum())) < MAIN * moved
    return moved if is_move else 0.0, int(rise.argmin()), int(rise.argmax())
