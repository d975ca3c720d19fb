"""Transfer that a program can do without: what is told of it, and what it saves."""

from perfscope.findings.core.finding import Evidence, Gain
from perfscope.schema.enums import Confidence
from perfscope.structures import dataclass
from perfscope.trace.model import Frame


@dataclass(frozen=True)
class Needless:
    """Why most of what is moved need not be, with the first thing to do about it."""

    told: str  # behind what the transfer takes, in a title
    summary: str
    gain: Gain
    rows: tuple[Evidence, ...]
    action: str
    where: tuple[Frame, ...] = ()  # none: where data is moved
    confidence: Confidence | None = None  # None: as of all transfer
    is_alone: bool = False  # what helps against transfer that is needed would help little here
