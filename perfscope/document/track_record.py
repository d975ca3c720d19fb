"""How near predicted savings have been, in programs that were fixed and timed afterwards."""

from perfscope.savings import BOUNDED_HALF, REPLAYED_HALF
from perfscope.structures import dataclass


@dataclass(frozen=True)
class Record:
    """How near savings of one kind have been, by rows of docs/accuracy-programs.md.

    Most of the programs are by people who had not seen the diagnoses;
    `benchmarks.gallery.track_record` counts them.
    """

    programs: int
    told: str  # of what, and how it was predicted, in words
    half: tuple[float, float]  # how many times that the middle half of the fixes saved


REPLAYED = Record(38, "replayed fixes of other programs", REPLAYED_HALF)
BOUNDS = Record(39, "such fixes of other programs", BOUNDED_HALF)
BEYOND = " (other code became faster as well)"
"""How a fix can save more than all the time that it concerns."""


def track_record(*, is_bound: bool) -> str:
    """How near predicted savings, or upper bounds of them, have been, as a sentence."""
    of = BOUNDS if is_bound else REPLAYED
    least, most = of.half
    much = "that" if is_bound else "the prediction"
    less = f"one in four saved less than {least:g} times {much}"
    more = f"one in four over {most:g} times{BEYOND if is_bound else ''}"
    return f"Of {of.programs} {of.told}, {less}, {more}."
