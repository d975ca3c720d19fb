"""How near predicted savings have been, in programs that were fixed and timed afterwards."""

from perfscope.savings import BOUNDED_HALF, REPLAYED_HALF
from perfscope.structures import dataclass
from perfscope.units import format_seconds


@dataclass(frozen=True)
class Record:
    """How near savings of one kind have been, by rows of docs/accuracy-programs.md.

    Most of the programs are by people who had not seen the diagnoses;
    `benchmarks.gallery.track_record` counts them.
    """

    programs: int
    told: str  # of what, in words
    half: tuple[float, float]  # how many times that the middle half of the fixes saved


REPLAYED = Record(40, "replayed fixes of other programs", REPLAYED_HALF)
BOUNDS = Record(43, "such fixes of other programs", BOUNDED_HALF)


def track_record(*, is_bound: bool, has_end: bool = True) -> str:
    """Where the range of a saving comes from, as a sentence: how near such ones have been.

    `has_end` tells that the range has an upper end: that of a bound has none, nor one that would
    be more than all that is lost.
    """
    of = BOUNDS if is_bound else REPLAYED
    least, most = of.half
    those = f"Of {of.programs} {of.told}"
    if is_bound or not has_end:
        return f"{those}, three in four saved at least {least:g} times the estimate."
    half = f"half saved {least:g} to {most:g} times the estimate"
    return f"{those}, {half}, and two in three more than it."


def likely(odds: tuple[float, float | None], *, most: str = "") -> str:
    """The range of a saving, and what it rests on, as a clause behind the saving.

    How many fixes it holds for the record tells, which stands with the finding.

    `odds` are its ends in seconds; of a range without an upper end that is None, and `most` says
    what there is to save, if that is known.
    """
    low_s, high_s = odds
    those = "as fixes in other programs show"
    if high_s is not None:
        return f"likely {format_seconds(low_s)} to {format_seconds(high_s)}, {those}"
    told = f"likely at least {format_seconds(low_s)}, {those}"
    return f"{told}; {most}" if most else told
