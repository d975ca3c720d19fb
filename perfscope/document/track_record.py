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
    told: str  # of what, in words: `fixes`
    half: tuple[float, float]  # how many times that the middle half of the fixes saved


REPLAYED = Record(40, "replayed fixes", REPLAYED_HALF)
BOUNDS = Record(43, "fixes", BOUNDED_HALF)


def track_record(*, is_bound: bool, end: str = "") -> str:
    """Where the range of a saving comes from, as a sentence: how near such ones have been.

    `end` is why the range ends before such ones do; "" for where it does not.
    """
    of = BOUNDS if is_bound else REPLAYED
    least, most = of.half
    tried = f"half of the {of.programs} {of.told} tried in other programs"
    half = f"{tried} saved {least:g} to {most:g} times their estimate"
    return f"Range: {half}{f'; {end}' if end else ''}."
