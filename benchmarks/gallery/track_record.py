"""What cures saved against what was predicted, over all tables of docs/accuracy-programs.md.

    .envs/mpich/bin/python -m benchmarks.gallery.track_record

A row counts where its blind prediction and its measured saving are one plain number each, in the
same unit; a program counts once, with its first such row. All other rows are counted as left out.
"""

import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from perfscope.structures import dataclass

ACCURACY = Path(__file__).parents[2] / "docs" / "accuracy-programs.md"
MEASURED = re.compile(r"(real )?gain|less elapsed|cure saved")
ESTIMATED = "(estimated)"
"""In the name of a column: what stands there was not measured."""
PREDICTED = re.compile(r"predicted|promised, blind")
PLAIN = re.compile(
    r"(?P<bound>up to |at most )?(?P<number>\d+(\.\d+)?)(?: (?P<unit>%|s))?"
    r"(?: \((?:q|\d+(\.\d+)? to \d+(\.\d+)?)\))?"
)
"""One number, or "up to" one, with no more behind it than its interval or the mark of a pair of
runs on a quiet machine."""
UNIT_OF_COLUMN = re.compile(r", (s|%)$")
SAME = "the same"
"""How a row begins that tells another fault of the program above it."""


@dataclass(frozen=True)
class Amount:
    """A cell that holds one plain number."""

    number: float
    unit: str  # "s" or "%"
    is_bound: bool


@dataclass(frozen=True)
class Pair:
    """A row with both numbers."""

    program: str
    ratio: float  # how many times the prediction the fix saved
    is_bound: bool  # whether an upper bound was predicted


def rows(text: str) -> Iterator[dict[str, str]]:
    """The rows of all tables of a Markdown text, by the names of their columns."""
    names: list[str] | None = None
    for line in text.splitlines():
        if not line.startswith("|"):
            names = None
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if names is None:
            names = cells
        elif not set(line) <= set("|-: "):
            yield dict(zip(names, cells, strict=False))


def amount(column: str, cell: str) -> Amount | None:
    """What a cell says where that is one plain number with a unit, of its own or of its column."""
    found = PLAIN.fullmatch(cell)
    of_column = UNIT_OF_COLUMN.search(column)
    unit = (found and found["unit"]) or (of_column and of_column[1])
    if found is None or not unit:
        return None
    return Amount(float(found["number"]), unit, is_bound=found["bound"] is not None)


def pairs(text: str) -> tuple[list[Pair], int]:
    """The rows that count, and how many rows with a saving in either column do not."""
    found: dict[tuple[str, str], Pair] = {}
    left_out = 0
    for row in rows(text):
        cured = next((name for name in row if MEASURED.match(name)), None)
        told = next((name for name in row if PREDICTED.match(name)), None)
        if cured is None or told is None or not (row[cured] or row[told]):
            continue
        program = next(iter(row.values()))
        pair = _pair(program, amount(cured, row[cured]), amount(told, row[told]))
        key = program, row.get("trial", "")  # another trial may have a program of the same name
        is_again = key in found or program.startswith(SAME)
        if pair is None or is_again or ESTIMATED in cured:
            left_out += 1
        else:
            found[key] = pair
    return list(found.values()), left_out


def _pair(program: str, measured: Amount | None, predicted: Amount | None) -> Pair | None:
    if measured is None or predicted is None or measured.is_bound or not predicted.number:
        return None
    if measured.unit != predicted.unit:
        return None
    return Pair(program, measured.number / predicted.number, predicted.is_bound)


def ratios(text: str, *, is_bound: bool) -> list[float]:
    """How many times the prediction was saved, of bounds or of numbers that are none."""
    return [one.ratio for one in pairs(text)[0] if one.is_bound is is_bound]


def main() -> int:
    """Prints how many programs there are, and the quartiles."""
    text = ACCURACY.read_text(encoding="utf-8")
    for name, is_bound in (("one number", False), ("up to", True)):
        found = ratios(text, is_bound=is_bound)
        low, middle, high = statistics.quantiles(found, n=4)
        print(f"| {name} | {len(found)} | {low:.2f} | {middle:.2f} | {high:.2f} |")
    print(f"{pairs(text)[1]} rows are left out.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
