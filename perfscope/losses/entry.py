"""What the loss account is made of: entries, and what the run would be shorter by without each."""

from collections.abc import Callable

from perfscope.losses.cause import LossCause
from perfscope.losses.turns import Turns
from perfscope.replay.model import Edit
from perfscope.replay.steps import Steps
from perfscope.schema.enums import AwaitedThing, Basis, LossKind, LossPattern
from perfscope.schema.losses import LossSaving
from perfscope.structures import dataclass
from perfscope.trace.model import Frame

NO_LOSS = frozenset({LossKind.OUTSIDE, LossKind.UNKNOWN})
"""Kinds of which it is not known that they cost the analyzed window anything."""


@dataclass(frozen=True)
class Saving:
    """Seconds that the run would be shorter by, with a 95 % interval where one can be had.

    `edits` are what was replayed; a bound without edits was found from the steps' lengths.
    """

    seconds: float
    interval_s: tuple[float, float] | None
    basis: Basis
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class NoSaving:
    """Why nothing can be said of what would be saved, as a clause."""

    reason: str


def told(found: Saving | NoSaving) -> LossSaving:
    """A saving as results and tables have it: nulls and a reason where none is known."""
    if isinstance(found, Saving):
        return LossSaving(found.seconds, found.interval_s, found.basis, None)
    return LossSaving(None, None, None, found.reason)


TOO_SMALL = NoSaving("it is one of many small ones")


@dataclass(frozen=True)
class Entry:
    """What one cause took from the ranks."""

    cause: LossCause  # what it was
    own_ns: int  # time of all ranks in which it was done
    waiting_ns: int  # time of all ranks in which others waited for it, directly and through a third
    ranks: tuple[int, ...]  # numbers of the ranks that did it, those that cost most first
    # of `own_ns`, what the rank spent on it that spent most; of calls whose waiting is not known no
    # more than every rank communicates
    most_ns: int = 0
    # of what all ranks caused of it, the share of the first of `ranks`; 0 unknown
    first_share: float = 0.0
    frame: Frame | None = None  # the user's function, at the line seen most often; None unknown
    # of sleeping, further lines of that function in which it was at least half as long
    also: tuple[int, ...] = ()
    # how it is spread over the steps; None where there are too few to tell
    pattern: LossPattern | None = None
    # whether halves of the steps tell the same pattern; None where not asked
    is_certain: bool | None = None
    # numbers of the first and the last step in which it costs time; None where no steps are known
    steps: tuple[int, int] | None = None
    # of waiting, the share that is due to late ranks that had no CPU: at least and at most; None
    # unknown
    queued: tuple[float, float] | None = None
    causes: int = 1  # how many causes are told together in it
    # what threads and locks are waited for; None of other causes
    waited_for: AwaitedThing | None = None
    # edits that take its cause away, where these do not follow from the cause
    without: tuple[Edit, ...] = ()
    # what the run would be shorter by without it, or why that is not known
    saving: Saving | NoSaving = TOO_SMALL
    # of a thinned run, what lies before or behind its steps, and so comes once
    once_ns: float = 0.0
    # of a thinned run, the relative standard error of what it costs in all steps; None where steps
    # do not tell
    error: float | None = None

    @property
    def ns(self) -> int:
        """What was lost to it."""
        return self.own_ns + self.waiting_ns


@dataclass(frozen=True)
class LossAccount:
    """All time of the ranks: training work, and the entries of what was lost, most first.

    `window_ns` is the ranks' time in the focus of analysis; all training work lies in it.
    """

    life_ns: int
    window_ns: int
    training_ns: int
    entries: tuple[Entry, ...]
    steps: Steps | None = None
    """Over which patterns are told; None where waits are not known step by step."""
    turns: Turns | None = None
    """Of the run as it was; None where `steps` are."""

    @property
    def lost_ns(self) -> int:
        """What is not training work; the entries add up to it."""
        return self.life_ns - self.training_ns

    @property
    def lost_share(self) -> float | None:
        """What a known cause took of the ranks' time in the focus; None of an empty focus."""
        return self._share(lambda kind: kind not in NO_LOSS)

    @property
    def unknown_share(self) -> float | None:
        """Of how much of the ranks' time in the focus nothing is known; None of an empty focus."""
        return self._share(lambda kind: kind is LossKind.UNKNOWN)

    def _share(self, is_meant: Callable[[LossKind], bool]) -> float | None:
        spent = sum(entry.ns for entry in self.entries if is_meant(entry.cause.kind))
        return spent / self.window_ns if self.window_ns else None

    @property
    def queued(self) -> float | None:
        """Of all waiting for ranks, the share that may be for want of CPUs; None unknown."""
        known = [(one.waiting_ns, one.queued[1]) for one in self.entries if one.queued is not None]
        waiting_ns = sum(ns for ns, _ in known)
        return sum(ns * most for ns, most in known) / waiting_ns if waiting_ns else None
