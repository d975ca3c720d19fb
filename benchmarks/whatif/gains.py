"""Measured gains with their intervals, beside predicted ones, as a table in Markdown."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from benchmarks.whatif.runs import Measured

NARROW = 0.2
"""Of the measured gain: rows whose interval is narrower are judged."""

GOAL = 0.1
T_QUANTILES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Student's t, 97.5 %, for 1 to 10 degrees of freedom."""

EXPLAINED = (
    "Both runs of a row are recorded, in turn with those of the other rows; seconds are the "
    "programs' own, medians over the repeats. The measured gain is the difference of the medians, "
    "its interval that of Welch's t for the difference of the means. Predicted is the median over "
    "the recordings with the fault, in brackets the least and the most. Judged are rows whose "
    f"interval is narrower than {NARROW:.0%} of the gain; the goal is a prediction within "
    f"{GOAL:.0%}. A wider interval misses it as well where no gain inside it would meet it."
)
HEADER = (
    "fault",
    "fix",
    "`--edit`",
    "with the fault, s",
    "fixed, s",
    "measured gain, s (95 %)",
    "predicted gain, s",
    "off by",
    "judgment",
)


@dataclass(frozen=True)
class Gain:
    """One row of the table, in seconds."""

    before: float
    after: float
    interval: tuple[float, float] | None  # None of a single repeat
    predicted: float | None

    @property
    def measured(self) -> float:
        """What the fix gave back."""
        return self.before - self.after

    @property
    def error(self) -> float | None:
        """Predicted over measured, less one."""
        if self.predicted is None or not self.measured:
            return None
        return self.predicted / self.measured - 1.0

    @property
    def judgment(self) -> str:
        """Whether the goal was met, where that can be told."""
        if self.error is None:
            return "not predicted"
        if self.interval is None:
            return "one repeat"
        low, high = self.interval
        if high - low >= NARROW * abs(self.measured):
            return "missed" if self._is_beyond(low, high) else "too noisy to tell"
        return "within 10 %" if abs(self.error) <= GOAL else "missed"

    def _is_beyond(self, low: float, high: float) -> bool:
        """Whether no gain of an interval is within the goal of what was predicted."""
        predicted = self.predicted or 0.0
        return 0.0 < high * (1.0 + GOAL) < predicted or predicted < low * (1.0 - GOAL)


def gain_of(found: Measured) -> Gain:
    """What a row measured."""
    predicted = statistics.median(found.predicted_s) if found.predicted_s else None
    return Gain(
        statistics.median(found.before_s),
        statistics.median(found.after_s),
        welch(found.before_s, found.after_s),
        predicted,
    )


def welch(before: Sequence[float], after: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of the difference of the means; None of fewer than two values each."""
    if min(len(before), len(after)) < 2:
        return None
    a, b = statistics.variance(before) / len(before), statistics.variance(after) / len(after)
    middle = statistics.fmean(before) - statistics.fmean(after)
    if a + b == 0:
        return middle, middle
    freedom = (a + b) ** 2 / (a**2 / (len(before) - 1) + b**2 / (len(after) - 1))
    place = min(max(int(freedom), 1), len(T_QUANTILES))
    half = T_QUANTILES[place - 1] * sqrt(a + b)
    return middle - half, middle + half


def table(found: Sequence[Measured]) -> str:
    """All rows."""
    lines = ["| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER)]
    lines += ["| " + " | ".join(_cells(item)) + " |" for item in found]
    return "\n".join([EXPLAINED, "", *lines])


def _cells(item: Measured) -> list[str]:
    gain = gain_of(item)
    interval = gain.interval
    spread = f" ({interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
    told = "none"
    if gain.predicted is not None:
        told = f"{gain.predicted:.2f}"
        if len(item.predicted_s) > 1:
            told += f" ({min(item.predicted_s):.2f} to {max(item.predicted_s):.2f})"
    elif item.reasons:
        told = f"none: {item.reasons[0]}"
    return [
        item.row.fault,
        item.row.fix,
        f"`{item.row.edit}`",
        f"{gain.before:.2f}",
        f"{gain.after:.2f}",
        f"{gain.measured:.2f}{spread}",
        told,
        "" if gain.error is None else f"{gain.error:+.1%}",
        gain.judgment,
    ]
