"""What can be asked of a run that is replayed."""

from collections.abc import Sequence
from typing import Protocol

from perfscope.replay.charges import Charges
from perfscope.replay.model import Causes, Edit, Persistence, Prediction
from perfscope.replay.program import Program


class Predicts(Protocol):
    """What can be asked for what a change saves."""

    def predict(self, edits: Sequence[Edit], *, after: Sequence[Edit] = ()) -> Prediction | None:
        """What the edits save beyond `after`, applied first; None when not available.

        Raises:
            RefusedEditError: the run does not hold what an edit needs.
        """


class Replay(Predicts, Protocol):
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
    def deviation(self) -> float | None:
        """The same of a replay that is not available because of it; else None."""

    @property
    def ideal_runtime_s(self) -> float | None:
        """T_id: the run on a network without transfer time, in seconds; None when not available."""

    @property
    def causes(self) -> Causes | None:
        """Who made whom wait; None when not available."""

    @property
    def charges(self) -> Charges | None:
        """What made ranks wait, segment by segment; None when not available."""

    @property
    def program(self) -> Program | None:
        """The run as rows; None when it cannot be replayed."""

    def persistence(self, *, after: Sequence[Edit] = ()) -> Persistence | None:
        """How far a rank that is late in one step is late in the next one.

        None when not available, without known steps or with too few (`replay.persistence`).
        """
