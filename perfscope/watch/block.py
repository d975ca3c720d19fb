"""A titled part of what is shown of a picture, and words that several of them use."""

from collections.abc import Sequence

from perfscope.structures import dataclass

MOST_NAMED = 12
SILENT_S = 5.0
"""So long without a sign of life is worth a word: signs come several times a second."""
Row = tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """A part of the picture."""

    title: str  # what it is about, "" for the head
    lines: Sequence[str] = ()  # sentences
    heads: Row = ()  # of the columns of its table
    rows: Sequence[Row] = ()  # of its table
    is_loud: bool = False  # whether it tells of trouble


def named(numbers: Sequence[int]) -> str:
    """Ranks by number, in runs: `ranks 0-3, 7`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in runs[:MOST_NAMED]]
    more = ", ..." if len(runs) > MOST_NAMED else ""
    return f"rank{'' if len(numbers) == 1 else 's'} {', '.join(shown)}{more}"
