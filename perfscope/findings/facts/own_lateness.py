"""Ranks that take turns being late by work of their own, whatever they waited for CPUs."""

from collections.abc import Sequence
from statistics import NormalDist

from perfscope.findings.core import thresholds
from perfscope.findings.facts.hot_operands import grown_operand
from perfscope.findings.facts.imbalance_facts import JITTER_SHARE, SHARED, persists
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit, Prediction
from perfscope.replay.own_work import OWN, least_uneven_s
from perfscope.replay.replay import Replay
from perfscope.structures import dataclass
from perfscope.trace.model import Frame
from perfscope.trace.operands import Operand, WorkedOn
from perfscope.units import NS


@dataclass(frozen=True)
class OwnLateness:
    """What ranks that take turns being late lose through their own work."""

    prediction: Prediction  # equal work for all in every step, of a run without waiting for CPUs
    least_s: float  # what is surely lost so, in single segments
    frame: Frame | None  # where late ranks were met most, in which others waited longest
    caller: Frame | None
    operand: Operand | None
    """What the function works on, where that was seen to be of different sizes."""


def own_lateness(
    results: Results,
    replay: Replay,
    told: Sequence[Sequence[WorkedOn]],
    *,
    after: Sequence[Edit] = (),
) -> OwnLateness | None:
    """That of a run; None where it may all be chance.

    Equal work takes unequal CPU time, too, and of many ranks the slowest one is late by the more:
    as much is lost to that spread. A CPU that is slow for a while is no work.

    Args:
        results: the run.
        replay: asked.
        told: what each rank's lines were seen to work on.
        after: changes that take away what other findings explain.
    """
    program, before = replay.program, (*after, OWN)
    if program is None or not program.delays:
        return None
    quiet, found = replay.predict([OWN], after=after), replay.predict([SHARED], after=before)
    if quiet is None or found is None:
        return None
    left_s = results.focus.length_ns * NS - quiet.gain_s
    least_s = least_uneven_s(program, after=after)
    by_chance = JITTER_SHARE * _largest_of(len(program.ranks)) / _largest_of(2)
    if least_s < thresholds.FAIL_SHARE * left_s or found.gain_s < by_chance * left_s:
        return None
    if persists(replay.persistence(after=before)):
        return None
    late = max(results.communication.late_arrivals, key=lambda one: one.waiting_s, default=None)
    if late is None:
        return OwnLateness(found, least_s, None, None, None)
    operand = grown_operand(told, late.caller) or grown_operand(told, late.frame)
    return OwnLateness(found, least_s, late.frame, late.caller, operand)


def _largest_of(count: int) -> float:
    """The mean of the largest of so many normally distributed values, in deviations (Blom)."""
    return NormalDist().inv_cdf((count - 0.375) / (count + 0.25))
