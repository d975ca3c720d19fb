"""What an export of perfscope says of the recording that it was made of."""

from perfscope.structures import dataclass
from perfscope.trace.damage import Damage


@dataclass(frozen=True)
class Judged:
    """How the recording was judged: over which time, and what was wrong with it.

    `kind` and `reason` are those of its focus of analysis.
    """

    start_ns: int
    end_ns: int
    kind: str
    reason: str
    damage: tuple[Damage, ...] = ()
