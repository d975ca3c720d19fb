"""What a replay answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfscope.metrics.ledger import Account


@dataclass(frozen=True)
class Edit:
    """A change to the run: scale the work of one kind on some ranks.

    `account` None means all work outside communication; `ranks` None means all ranks. `factor` 0
    removes it. The other three replace `factor`, and act segment by segment, a segment being the
    work between two collectives of all ranks: `balance` gives each of `ranks` the mean over them,
    so that no work is lost; `to_median` gives each of `ranks` at most the median over all ranks (of
    two, the lesser); `keep_every` k keeps every k-th segment that holds such work and removes the
    others.
    """

    account: Account | None = None
    ranks: tuple[int, ...] | None = None
    factor: float = 0.0
    balance: bool = False
    to_median: bool = False
    keep_every: int | None = None


@dataclass(frozen=True)
class Prediction:
    """Seconds that edits give back over the focus of analysis, with a 95 % interval."""

    gain_s: float
    interval_s: tuple[float, float]
    gain_share: float
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
