"""What ranks lose by unequal work of their own, whatever CPUs they waited for."""

import pytest

from perfscope.metrics.compute import compute
from perfscope.replay.model import Edit, Level
from perfscope.replay.own_work import OWN, least_uneven_s
from perfscope.replay.program import Program
from perfscope.replay.segments import SegmentReplay
from perfscope.trace.model import Trace
from tests.support.shared_cpus import Life, meeting, recorded

SHARED = Edit(level=Level.SHARED)


def replayed(trace: Trace) -> tuple[SegmentReplay, Program]:
    replay = SegmentReplay(compute(trace))
    assert replay.program is not None
    return replay, replay.program


def truth_s(lives: list[Life]) -> float:
    """Of each step what the longer own time is beyond the mean of both."""
    pairs = zip(lives[0].steps, lives[1].steps, strict=True)
    return sum(abs(one[0] - other[0]) / 2 for one, other in pairs)


def test_work_without_waiting_is_replayed() -> None:
    """Each of 60 steps: 20 ms of work, and by turns 40 ms of waiting: 40 ms less of each step."""
    lives = [Life(), Life()]
    for step in range(60):
        for place, life in enumerate(lives):
            life.go(queued=0.04 if step % 2 == place else 0.0)
            life.go(ran=0.02)
        for life in lives:
            life.call(max(one.at_s for one in lives) + 0.0001)
    replay, program = replayed(recorded(lives))
    found, halved = replay.predict([OWN]), replay.predict([Edit(waits_for_cpu=True, factor=0.5)])
    assert found is not None
    assert halved is not None
    assert found.gain_s == pytest.approx(60 * 0.04, rel=0.02)
    assert halved.gain_s == pytest.approx(60 * 0.02, rel=0.02)
    rest = replay.predict([SHARED], after=[OWN])
    assert rest is not None
    assert rest.gain_s == pytest.approx(0.0, abs=0.02)
    assert least_uneven_s(program) == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize("slept", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_drawn_runs(seed: int, slept: bool) -> None:
    """Clocks tell what is lost by own work; without, no more is claimed than is lost.

    Where sleep is a part of it, which of a stretch was sleep is told by its neighbors as well.
    """
    lives = meeting(seed, steps=80, own_s=(0.01, 0.03, 0.06), waited_s=0.03, slept=slept)
    lost_s = truth_s(lives)
    replay, program = replayed(recorded(lives))
    found = replay.predict([SHARED], after=[OWN])
    assert found is not None
    assert found.gain_s == pytest.approx(lost_s, rel=0.2 if slept else 0.1)
    assert 0.8 * lost_s <= least_uneven_s(program) <= 1.2 * lost_s
    _, unclear = replayed(recorded(lives, clocks=False))
    assert least_uneven_s(unclear) <= lost_s


@pytest.mark.parametrize("clocks", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_equal_work_is_no_loss_however_long_ranks_wait(seed: int, clocks: bool) -> None:
    lives = meeting(seed, steps=80, own_s=(0.01, 0.03, 0.06), waited_s=0.05, same=True)
    _, program = replayed(recorded(lives, clocks=clocks))
    assert least_uneven_s(program) <= 0.02
