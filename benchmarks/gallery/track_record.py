"""What cures saved against what was predicted, over all tables of docs/accuracy.md.

    .envs/mpich/bin/python -m benchmarks.gallery.track_record

A program counts once for each table that it stands in with both numbers. What was predicted blind
is taken, and the mean of several measured savings.
"""

import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

ACCURACY = Path(__file__).parents[2] / "docs" / "accuracy.md"
MEASURED = re.compile(r"(real )?gain|less elapsed|cure saved")
PREDICTED = re.compile(r"predicted|promised, blind")
NUMBER = re.compile(r"-?\d+\.?\d*")
OF_WHOLE = re.compile(r"(\d) of \d.*")
AT_MOST = re.compile(r"up to|at most")
SAYS_NOTHING = re.compile(r"none|not|off by|within|.*page faults")
"""What stands in a table in place of a saving that was predicted for its fault."""


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


def ratios(text: str, *, is_bound: bool | None = None) -> list[float]:
    """How many times the predicted saving was measured, of each program that has both.

    `is_bound` leaves those alone of which a bound was told, or those of which another number was.
    """
    found = []
    for row in rows(text):
        cured = next((cell for name, cell in row.items() if MEASURED.match(name)), "")
        told = next((cell for name, cell in row.items() if PREDICTED.match(name)), "")
        if SAYS_NOTHING.match(told):
            continue
        measured, predicted = numbers(cured), numbers(told)
        if is_bound is not None and is_bound is not bool(AT_MOST.match(told)):
            continue
        if measured and predicted and "not clean" not in cured:
            found.append(statistics.mean(measured) / predicted[0])
    return found


def numbers(cell: str) -> list[float]:
    """The numbers of a cell, without those in brackets and the whole that they are of."""
    bare = OF_WHOLE.sub(r"\1", re.sub(r"\(.*?\)", "", cell))
    return [float(one) for one in NUMBER.findall(bare)]


def main() -> int:
    """Prints how many programs there are, and the quartiles."""
    text = ACCURACY.read_text(encoding="utf-8")
    for name, is_bound in (("all", None), ("one number", False), ("up to", True)):
        found = ratios(text, is_bound=is_bound)
        low, middle, high = statistics.quantiles(found, n=4)
        print(f"| {name} | {len(found)} | {low:.2f} | {middle:.2f} | {high:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
