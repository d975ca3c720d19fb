"""Series measured elsewhere, read from CSV, to be drawn beside the runs."""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from perfscope import files
from perfscope.errors import UnreadableInputError
from perfscope.output import csv_text
from perfscope.structures import dataclass

LABEL = "series"
QUANTITIES = ("time_s", "samples_per_s", "speedup")
SIZES = ("size", "ranks", "cores", "gpus", "nodes")
MOST_ROWS = 10_000
MOST_BYTES = 16 << 20
MOST_SERIES = 7  # with the runs' own line, as many as can be told apart
FORM = "a first line such as `series,size,time_s`, then one line for each size"


@dataclass(frozen=True)
class External:
    """One series; lists have equal lengths, None where a cell is empty."""

    label: str  # from the column `series`, else the name of the file
    file: str  # that it was read from
    sizes: tuple[float, ...]  # ascending, on whatever axis its author measured
    # at each size; None without such a column, as of the others
    time_s: tuple[float | None, ...] | None = None
    samples_per_s: tuple[float | None, ...] | None = None  # at each size
    speedup: tuple[float | None, ...] | None = None  # over its own smallest size

    def speedups(self, *, weak: bool) -> tuple[float | None, ...]:
        """As given, else from its times against its own smallest size."""
        if self.speedup is not None:
            return self.speedup
        times = self.time_s
        if not times or times[0] is None:
            return (None,) * len(self.sizes)
        first, size = times[0], self.sizes[0]
        return tuple(
            None if time is None else first / time * (own / size if weak else 1.0)
            for own, time in zip(self.sizes, times, strict=True)
        )


def read_external(path: Path) -> tuple[External, ...]:
    """The series of a CSV file.

    Raises:
        UnreadableInputError: it cannot be read, or a line is not what the first line says.
    """
    try:
        text = files.read_bytes(path, MOST_BYTES).decode("utf-8-sig")
        rows = list(_rows(path, csv.reader(io.StringIO(text, newline=""), strict=True)))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise _refused(path, f"{why}.") from error
    by_label: dict[str, list[tuple[float, dict[str, float | None]]]] = {}
    for label, size, values in rows:
        by_label.setdefault(label, []).append((size, values))
    if not rows:
        raise _refused(path, "It holds no line with numbers.")
    if len(by_label) > MOST_SERIES:
        raise _refused(path, f"It holds {len(by_label)} series, and {MOST_SERIES} can be shown.")
    return tuple(_series(label, path, found) for label, found in by_label.items())


def _rows(
    path: Path, lines: Iterator[list[str]]
) -> Iterator[tuple[str, float, dict[str, float | None]]]:
    head = [cell.strip().lower() for cell in next(lines, [])]
    size_column = next((name for name in SIZES if name in head), None)
    known = [name for name in QUANTITIES if name in head]
    if size_column is None or not known:
        raise _refused(
            path,
            f"Its first line names no column of sizes ({', '.join(SIZES)}) or none of "
            f"{', '.join(QUANTITIES)}.",
        )
    for number, cells in enumerate(lines, start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(head) or number > MOST_ROWS:
            raise _refused(path, f"Line {number} does not have {len(head)} cells, or is too far.")
        row = dict(zip(head, (cell.strip() for cell in cells), strict=True))
        size = _number(path, number, row[size_column])
        if size is None:
            raise _refused(path, f"Line {number} has no size.")
        values = {name: _number(path, number, row[name]) for name in known}
        yield csv_text(row.get(LABEL, "")) or path.stem, size, values


def _number(path: Path, line: int, cell: str) -> float | None:
    if not cell:
        return None
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise _refused(path, f"Line {line} has {cell!r} where a number above zero should be.")
    return value


def _series(
    label: str, path: Path, rows: Sequence[tuple[float, dict[str, float | None]]]
) -> External:
    ordered = sorted(rows, key=lambda row: row[0])
    sizes = tuple(size for size, _ in ordered)
    if len(set(sizes)) != len(sizes):
        raise _refused(path, f"The series {label!r} has a size twice.")
    return External(
        label=label,
        file=path.name,
        sizes=sizes,
        **{name: tuple(values[name] for _, values in ordered) for name in ordered[0][1]},
    )


def _refused(path: Path, why: str) -> UnreadableInputError:
    return UnreadableInputError(
        f"{path} is not a table of a scaling series.", why=why, action=f"Give {FORM}."
    )
