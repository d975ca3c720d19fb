"""How near predicted savings have been, in programs that were fixed and timed afterwards."""

from perfscope.structures import dataclass
from perfscope.units import format_seconds


@dataclass(frozen=True)
class Record:
    """How near savings of one kind have been, by rows of docs/accuracy.md.

    Most of the programs are by people who had not seen the diagnoses;
    `benchmarks.gallery.track_record` counts them.
    """

    programs: int
    told: str  # of what, and how it was predicted, in words
    half: tuple[float, float]  # how many times that the middle half of the fixes saved


REPLAYED = Record(38, "replayed fixes of other programs", (0.9, 1.8))
BOUNDS = Record(39, "such fixes of other programs", (0.9, 1.5))
BEYOND = " (more than it where other code became faster as well)"
"""How a fix can save more than all the time that it concerns."""


def track_record(saving_s: float, whole_s: float | None, *, is_bound: bool, has_range: bool) -> str:
    """What that means for a saving, or for an upper bound of one, as a sentence.

    The seconds are left out beside a range of the saving's own, beside a bound, and where they
    would be more than `whole_s`, what the run takes.
    """
    of = BOUNDS if is_bound else REPLAYED
    low, high = (one * saving_s for one in of.half)
    is_told = not is_bound and not has_range and whole_s is not None and high < whole_s
    here = f" (here {format_seconds(low)} to {format_seconds(high)})" if is_told else ""
    least, most = of.half
    much = f"the bound{BEYOND}" if is_bound else f"what was predicted{here}"
    half = f"half saved {least:g} to {most:g} times {much}"
    return f"Of {of.programs} {of.told}, {half}, a quarter less."
