"""How near predicted savings have been, in programs that were fixed and timed afterwards."""

from perfscope.units import format_seconds

PROGRAMS = 113
"""By people who had not seen the diagnoses; `benchmarks.gallery.track_record` counts them."""

HALF = (0.9, 1.7)
"""How many times the predicted saving the middle half of the fixes saved."""


def track_record(saving_s: float, whole_s: float | None) -> str:
    """What that means for a saving, as a sentence.

    The seconds are left out where they would be more than `whole_s`, what the run takes.
    """
    low, high = (one * saving_s for one in HALF)
    is_possible = whole_s is not None and high < whole_s
    here = f" (here {format_seconds(low)} to {format_seconds(high)})" if is_possible else ""
    least, most = HALF
    return (
        f"In {PROGRAMS} other programs, half of the fixes saved {least:g} to {most:g} times the "
        f"prediction{here}, a quarter less."
    )
