"""Work that moves from one rank to another during the run, and is no more or less in all."""

import numpy as np

from perfscope.arrays import Floats
from perfscope.findings.facts.function_growth import functions, samples_in_focus, tables_by_rank
from perfscope.findings.facts.step_growth import FINER, PARTS, SURE
from perfscope.judging import MAIN
from perfscope.metrics.results import Results
from perfscope.structures import dataclass
from perfscope.trace.model import Frame
from perfscope.units import NS


@dataclass(frozen=True)
class MovingLoad:
    """Of one function, which rank did most of it at first, and which one at last."""

    frame: Frame
    first_rank: int
    last_rank: int
    seconds: tuple[tuple[float, ...], ...]  # of CPU time, by rank and quarter of the steps


def moving_load(results: Results) -> MovingLoad | None:
    """The function of which most moves from one rank to another; None where none does.

    A rank does at least its fair share less of it in the last quarter of the steps than in the
    first, another one as much more, and all of them together as much as before. It is CPU time:
    who waits for a CPU is late, and does no more.
    """
    by_rank = tables_by_rank(results)
    if len(by_rank) < 2:
        return None
    ranks, tables = [rank for rank, _ in by_rank], [table for _, table in by_rank]
    period = max(results.focus.length_ns / max(1, samples_in_focus(results, one)) for one in ranks)
    best, found = 0.0, None
    for lines in functions(results.trace.frames, np.sum([table[0] for table in tables], axis=0)):
        parts = np.array([table[1, lines].sum(axis=0) for table in tables])
        spent = parts.reshape(-1, PARTS, FINER).sum(axis=2)
        moved = _moved(spent, period)
        if moved > best:
            frames = np.sum([table[0, lines].sum(axis=1) for table in tables], axis=0)
            best, found = (
                moved,
                MovingLoad(
                    frame=results.trace.frames[lines[int(frames.argmax())]],
                    first_rank=ranks[int(spent[:, 0].argmax())].number,
                    last_rank=ranks[int(spent[:, -1].argmax())].number,
                    seconds=tuple(map(tuple, (spent * NS).tolist())),
                ),
            )
    return found


def _moved(spent: Floats, period: float) -> float:
    """Nanoseconds that moved, of what ranks spent in each quarter, shape (ranks, quarters)."""
    rise = spent[:, -1] - spent[:, 0]
    moved = min(float(rise.max()), float(-rise.min()))
    error = np.sqrt(period * spent.max())
    is_sure = moved > max(SURE * float(error), float(spent.sum(axis=0).mean()) / len(spent))
    return moved if is_sure and abs(float(rise.sum())) < MAIN * moved else 0.0
