"""Which windows a thinned run is put together from: steps, collectives, or those of the clock."""

from dataclasses import replace

import numpy as np
import pytest

from perfscope.trace.model import Trace
from perfscope.trace.splicing import FEWEST_WINDOWS, spliced
from perfscope.trace.thinning import WINDOW_DTYPE, RankThinning, WindowSource
from tests.support.trace_builder import TraceBuilder

CLOCK_S, STEP_S = 0.125, 0.1


def thinned(*, steps: int, step_s: float) -> Trace:
    """Two ranks that prepare for 100 s, which only the clock cuts, and then make steps."""
    clock = round(100 / CLOCK_S)
    builder = TraceBuilder(2, end_s=101.0 + step_s * steps)
    for number in range(2):
        builder.rank(number).init(0.5).finalize(100.5 + step_s * steps)
    trace = builder.build()
    windows = np.zeros(clock + steps, WINDOW_DTYPE)
    windows["source"] = [WindowSource.TIME] * clock + [WindowSource.STEP] * steps
    windows["number"] = [*range(clock), *range(steps)]
    ends_s = [CLOCK_S * (1 + one) for one in range(clock)]
    ends_s += [100 + step_s * (1 + one) for one in range(steps)]
    windows["t1"] = np.array(ends_s) * 1e9
    windows["t0"] = np.concatenate([[1], windows["t1"][:-1]])
    told = RankThinning(1, {WindowSource.TIME: clock, WindowSource.STEP: steps}, 0)
    return replace(
        trace, ranks=[replace(rank, windows=windows, thinning=told) for rank in trace.ranks]
    )


@pytest.mark.parametrize(
    ("steps", "source"),
    [(40 * FEWEST_WINDOWS, WindowSource.STEP), (1, WindowSource.TIME)],
    ids=["it trains at the end", "one step at the end"],
)
def test_steps_come_before_the_clock_if_enough_are_left(steps: int, source: WindowSource) -> None:
    kept = spliced(thinned(steps=steps, step_s=STEP_S)).kept
    assert kept is not None
    assert kept.source is source


def test_windows_of_the_start_alone_do_not_replace_long_steps() -> None:
    """Five steps are too few, and 400 windows of what came before them say nothing of them."""
    trace = spliced(thinned(steps=5, step_s=60.0))
    assert trace.kept is None
    assert [one.id for one in trace.damage] == ["thinned_away"]
