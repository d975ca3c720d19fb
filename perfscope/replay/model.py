"""What a replay answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfscope.metrics.ledger import Account


class Level(Enum):
    """How work is levelled between ranks.

    The work of one segment, between two collectives of all ranks, is compared in `SHARED`; the
    others compare ranks over all segments of a kind, so that the spread of the step times stays.
    """

    SHARED = "shared"  # each rank does an equal part of each segment's work: none is lost
    EVEN = "even"  # each rank works as long as the ranks do on average: none is lost
    AS_OTHERS = "as_others"  # the chosen ranks work as long as the usual one of the others
    USUAL = "usual"  # work far beyond the ordinary spread takes as long as that of the others


@dataclass(frozen=True)
class Edit:
    """A change to the run: scale the work of one kind on some ranks.

    `account` None means all work outside communication; `ranks` None means all ranks. `factor` 0
    removes it. The others replace `factor`: `level` levels the work between ranks, of which waiting
    for input or a device is no part; `keep_every` k keeps every k-th segment that holds such work
    and removes it from the others.
    """

    account: Account | None = None
    ranks: tuple[int, ...] | None = None
    factor: float = 0.0
    level: Level | None = None
    keep_every: int | None = None


@dataclass(frozen=True)
class Prediction:
    """Seconds that edits give back over the focus of analysis, with a 95 % interval.

    `reach` is the share of the time of the edited run that lies in segments which became shorter:
    near 1 the edits matter in every step, near 0 only now and then.
    """

    gain_s: float
    interval_s: tuple[float, float]
    gain_share: float
    reach: float
    assumptions: tuple[str, ...]


class Replay(Protocol):
    """The run as a system that can be asked what-if questions."""

    @property
    def available(self) -> bool:
        """Whether the run can be replayed at all."""

    @property
    def reason(self) -> str:
        """Why not, when it cannot; "" otherwise."""

    @property
    def relative_error(self) -> float | None:
        """|replayed - measured| / measured of the unedited run; None when not available."""

    @property
    def ideal_runtime_s(self) -> float | None:
        """T_id: the run on a network without transfer time, in seconds; None when not available."""

    def predict(self, edits: Sequence[Edit], *, after: Sequence[Edit] = ()) -> Prediction | None:
        """What the edits give back beyond `after`, applied first; None when not available."""
