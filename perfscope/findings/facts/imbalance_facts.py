"""Who works more than the others, in what, and whether it is always the same ranks."""

from collections.abc import Sequence
from enum import Enum
from statistics import mean, median

from perfscope.attribution.start_up import StartUp
from perfscope.findings.core import thresholds
from perfscope.findings.facts.serial_work import SerialWork, edits_of
from perfscope.findings.facts.start_up_facts import StartUpFacts
from perfscope.findings.facts.step_growth import PARTS
from perfscope.findings.facts.uneven_work import (
    Excess,
    UnevenWork,
    come_last,
    equal_samples,
    excess_of,
    is_everywhere,
    is_single,
    slow_host,
    uneven_work,
)
from perfscope.judging import MAIN, SURE
from perfscope.losses.shifting import shares_over_time, shifts
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit, Level, Persistence, Prediction
from perfscope.replay.replay import Replay
from perfscope.structures import dataclass

JITTER_SHARE = 0.06  # of the focus: ordinary jitter, when another rank is late each time
RECURRING_SHARE = 0.25  # of the time: what makes ranks late more rarely is a disturbance
SHARED = Edit(level=Level.SHARED)
EVEN = Edit(level=Level.EVEN)
DIVIDE_ANEW = (
    "Rebalance the work every few steps by what each part of it costs, or divide it by something "
    "that stays fixed during the run"
)
"""What helps where work shifts between ranks."""


class Pattern(Enum):
    """What kind of imbalance it is."""

    CONSTANT = "constant"  # the same ranks have more to do, or it is not known that they have not
    STRAGGLER = "straggler"  # the same ranks take longer for the same work
    ALTERNATING = "alternating"  # another rank is late each time


@dataclass(frozen=True)
class ImbalanceFacts:
    """The work of the ranks, without what one rank does alone, set-up and waiting for input.

    `is_bound` says that `prediction` is more than a fix can save: ordinary spread of the step
    times was taken away with it.
    """

    ranks: tuple[int, ...]
    work_s: tuple[float, ...]
    overloaded: tuple[int, ...]  # numbers of the ranks that work more than the others
    pattern: Pattern
    everywhere: bool  # the overloaded ranks are slower in everything
    slow_host: str  # on which all overloaded ranks and no others run, "" where there is none
    excess: tuple[Excess, ...]
    equal_samples: bool | None  # whether all ranks processed as many samples; None unknown
    edits: tuple[Edit, ...]  # the change that the gain is about
    prediction: Prediction | None
    evenly: Prediction | None  # when the ranks work equally long, step times varying as they do
    as_others: Prediction | None
    """With the overloaded ranks as fast as the rest, where that is not `edits`."""
    is_bound: bool
    persistence: Persistence | None  # of being late, from a step to the next; None unknown
    explained: tuple[Edit, ...]  # what other findings explain
    is_single: bool  # whether most of the waiting for the overloaded ranks was one single wait
    is_shifting: bool  # whether what the overloaded ranks do more of was others' work before
    # of all work that of the overloaded ranks in each quarter of the steps, where it shifts
    parts: tuple[float, ...] = ()

    @property
    def others(self) -> tuple[int, ...]:
        """Numbers of the ranks that are not overloaded."""
        return tuple(rank for rank in self.ranks if rank not in self.overloaded)

    @property
    def load_balance(self) -> float:
        """Mean work over most work: of this work alone, and so not that of the whole run."""
        return mean(self.work_s) / max(self.work_s) if max(self.work_s) > 0 else 1.0

    @property
    def lasts(self) -> bool:
        """Whether ranks that take turns being late are so for several steps in a row."""
        return self.pattern is Pattern.ALTERNATING and self.is_bound and persists(self.persistence)

    @property
    def constant_s(self) -> float:
        """Maximum minus mean computation: lost to ranks that always work longer."""
        return max(self.work_s) - mean(self.work_s)

    @property
    def is_split(self) -> bool:
        """Whether the estimate is of work that is split evenly over the ranks."""
        return self.is_shifting or (bool(self.edits) and self.edits[0].level is Level.EVEN)

    @property
    def bound_s(self) -> float:
        """What `edits` save at most, from the work added up over the run."""
        if self.edits in ((EVEN,), (SHARED,)):
            return self.constant_s
        overloaded = set(self.overloaded)
        pairs = zip(self.ranks, self.work_s, strict=True)
        rest = [work for rank, work in pairs if rank not in overloaded]
        return max(0.0, max(self.work_s) - median(rest)) if rest else self.constant_s


def imbalance_facts(
    results: Results, replay: Replay, *, alone: Sequence[SerialWork], begun: StartUpFacts | None
) -> ImbalanceFacts:
    """The facts about a run of two ranks or more.

    What single ranks do alone, and the set-up, are set aside.
    """
    start_up = begun.start_up if begun and begun.explained else StartUp()
    work = uneven_work(results, alone, start_up)
    serial = (*edits_of(alone), *(begun.explained if begun else ()))
    ideal = replay.predict([SHARED], after=serial)
    constant = ideal is None or work.constant_s >= MAIN * ideal.gain_s
    equal = equal_samples(results)
    kind = _constant(results, work, start_up, equal) if constant else _Kind(Pattern.ALTERNATING)
    is_even = work.is_most and constant
    is_moved = _shifts(replay, kind.pattern, ideal)
    edits = (EVEN,) if is_even else _edits(work, kind.pattern, equal)
    prediction = replay.predict(edits, after=serial)
    evenly = replay.predict([EVEN], after=serial)
    if kind.pattern is Pattern.CONSTANT and _is_more(evenly, prediction):
        edits, prediction = (EVEN,), evenly
    if is_moved:
        edits, prediction = (SHARED,), ideal
    is_unknown = constant and not work.is_most and edits == (EVEN,) and equal is not False
    as_others = Edit(ranks=work.overloaded, level=Level.AS_OTHERS) if is_unknown else None
    persistence = replay.persistence(after=serial)
    is_bound = not constant and not _stands_out(prediction, persistence)
    return ImbalanceFacts(
        ranks=work.ranks,
        work_s=work.work_s,
        overloaded=work.overloaded if constant else (),
        pattern=kind.pattern,
        everywhere=kind.everywhere,
        slow_host=kind.slow_host,
        excess=kind.excess,
        equal_samples=equal,
        edits=(SHARED,) if is_bound else edits,
        prediction=ideal if is_bound else prediction,
        evenly=evenly,
        as_others=replay.predict([as_others], after=serial) if as_others else None,
        is_bound=is_bound,
        persistence=persistence,
        explained=serial,
        is_single=constant and is_single(results, work.overloaded),
        is_shifting=is_moved,
        parts=shares_over_time(replay, work.overloaded, PARTS) if is_moved else (),
    )


def _shifts(replay: Replay, pattern: Pattern, ideal: Prediction | None) -> bool:
    """Whether work shifts to the overloaded ranks: so much that it is not CPUs that are slow."""
    if pattern is not Pattern.CONSTANT or ideal is None:
        return False
    return ideal.gain_share >= thresholds.CHANCE_SHARE and shifts(replay)


@dataclass(frozen=True)
class _Kind:
    """What kind of imbalance it is, and where it shows; fields as `ImbalanceFacts` has them."""

    pattern: Pattern
    excess: tuple[Excess, ...] = ()
    everywhere: bool = False
    slow_host: str = ""


def _constant(results: Results, work: UnevenWork, start_up: StartUp, equal: bool | None) -> _Kind:
    """That always the same ranks are late: for the same work, or for more."""
    excess = excess_of(results, work.overloaded, start_up)
    everywhere = equal is not False and is_everywhere(excess, work.work_s)
    host, several = slow_host(results, work.overloaded), len(work.overloaded) > 1
    same_work = everywhere or (equal is True and not several)
    same_work = same_work or (bool(host) and several and equal is not False)
    is_slow = not work.is_most and same_work and come_last(results, work.overloaded)
    pattern = Pattern.STRAGGLER if is_slow else Pattern.CONSTANT
    return _Kind(pattern, excess, everywhere, host)


def _stands_out(prediction: Prediction | None, persistence: Persistence | None) -> bool:
    """Whether ranks are late again and again, and by more than step times vary anyway.

    What a step costs by its data mostly says nothing about the next one: a rank that is late in
    many steps on end may have a CPU that is slow for a while.
    """
    return (
        prediction is not None
        and prediction.reach >= RECURRING_SHARE
        and prediction.gain_share >= JITTER_SHARE
        and not persists(persistence)
    )


def persists(persistence: Persistence | None) -> bool:
    """Whether ranks that are late in one step are so in the next ones, too, beyond chance."""
    if persistence is None:
        return False
    return persistence.value >= max(thresholds.PERSISTENT, SURE * persistence.error)


def _is_more(one: Prediction | None, other: Prediction | None) -> bool:
    """Whether the first saves more, where both are known."""
    return one is not None and other is not None and one.gain_s > other.gain_s


def _edits(work: UnevenWork, pattern: Pattern, equal: bool | None) -> tuple[Edit, ...]:
    """The change that takes the imbalance away.

    Ranks that take longer for the same work should work as fast as the others; where they have
    more to do, or of two ranks it is not known, the ranks should work equally long. Where another
    rank is late each time, what is far beyond the ordinary should take the usual time.
    """
    if pattern is Pattern.ALTERNATING:
        return (Edit(level=Level.USUAL),)
    if pattern is Pattern.STRAGGLER:
        return (Edit(ranks=work.overloaded, level=Level.AS_OTHERS),)
    spread = equal is False or (equal is None and len(work.ranks) == 2)
    if spread:
        return (EVEN,)
    return (Edit(ranks=work.overloaded, level=Level.AS_OTHERS),)
