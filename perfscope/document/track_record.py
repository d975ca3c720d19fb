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
BOUNDS = Record(39, "fixes of other programs with an upper bound", (0.9, 1.5))


def track_record(saving_s: float, whole_s: float | None, *, is_bound: bool) -> str:
    """What that means for a saving, or for an upper bound of one, as a sentence.

    The seconds are left out where they would be more than `whole_s`, what the run takes.
    """
    of = BOUNDS if is_bound else REPLAYED
    low, high = (one * saving_s for one in of.half)
    is_possible = whole_s is not None and high < whole_s
    here = f" (here {format_seconds(low)} to {format_seconds(high)})" if is_possible else ""
    least, most = of.half
    return (
        f"Of {of.programs} {of.told}, half saved "
        f"{least:g} to {most:g} times the prediction{here}, a quarter less."
    )
