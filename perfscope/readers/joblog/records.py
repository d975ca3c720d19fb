"""Tables in text: what Horovod's autotuner tried, and what Slurm's sacct counted."""

import re
from pathlib import Path

from perfscope.readers.common.tool_reports import report, table
from perfscope.schema.enums import Quantity
from perfscope.schema.other_tools import Cell, ToolReport

SIGN = re.compile(
    rb"cycle_time_ms,tensor_fusion_threshold[\w,]*,score|^(?:\w+\|)*JobID(?:Raw)?(?:\||$)|"
    rb"^(?=[ \w]*?\bJobID(?:Raw)?\b)[ \w]*\n-+(?: -+)* *$",
    re.MULTILINE,
)
_AUTOTUNE = re.compile(r"^[\w,]*cycle_time_ms,tensor_fusion_threshold[\w,]*,score\s*$")
_SACCT = re.compile(r"^(?:\w+\|)*JobID(?:Raw)?(?:\||$)")
_IN_COLUMNS = re.compile(r"^(?=[ \w]*?\bJobID(?:Raw)?\b)[ \w]*$")
_RULE = re.compile(r"-+(?: -+)* *")
_SIZE = re.compile(r"([\d.]{1,20})([KMGTP]?)$")
_POWERS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}
MOST_ROWS = 100_000


class Records:
    """Lines below a header of one of the two.

    sacct without `-P` writes columns of a fixed width, told by a line of dashes below the header;
    `-p` ends each line with the sign that stands between values.
    """

    def __init__(self) -> None:
        self._head: list[str] = []
        self._rows: list[list[str]] = []
        self._separator = ""
        self._has_end = self._is_over = False
        self._columns: list[slice] = []
        self._before = ""

    def take(self, line: str) -> bool:
        """Whether the line is the header, or one below it."""
        if not self._head:
            self._find_head(line)
            return bool(self._head)
        words = [] if self._is_over else self._words(line)
        # columns have nothing but their places: what follows an empty line is something else
        self._is_over = self._is_over or (bool(self._columns) and not any(words))
        if self._is_over or len(words) != len(self._head) or len(self._rows) >= MOST_ROWS:
            return False
        self._rows.append(words)
        return True

    def _find_head(self, line: str) -> None:
        before, self._before = self._before, line if _IN_COLUMNS.match(line) else ""
        if before and _RULE.fullmatch(line):
            self._columns = [slice(*found.span()) for found in re.finditer("-+", line)]
            self._head = self._words(before)
            return
        kinds = (("|", _SACCT), (",", _AUTOTUNE))
        self._separator = next((sign for sign, head in kinds if head.match(line)), "")
        self._has_end = self._separator == "|" and line.strip().endswith("|")
        self._head = self._words(line) if self._separator else []

    def _words(self, line: str) -> list[str]:
        if self._columns:
            return [line[column].strip() for column in self._columns]
        words = line.strip().split(self._separator)
        return words[:-1] if self._has_end else words

    def report(self, path: Path) -> ToolReport | None:
        """The table, with sizes and scores as numbers."""
        if not self._rows:
            return None
        return self._tuning(path) if self._separator == "," else self._jobs(path)

    def _jobs(self, path: Path) -> ToolReport:
        sizes = [name.endswith(("RSS", "VMSize", "Pages")) for name in self._head]
        columns = {
            name: Quantity.BYTES if is_size else Quantity.TEXT
            for name, is_size in zip(self._head, sizes, strict=True)
        }
        rows: list[list[Cell]] = [
            [_size(w) if is_size else w or None for w, is_size in zip(row, sizes, strict=True)]
            for row in self._rows
        ]
        said = []
        for name in ("MaxRSS", "ConsumedEnergy", "ConsumedEnergyRaw"):
            place = self._head.index(name) if name in self._head else -1
            told = [row[place] for row in self._rows if place >= 0 and row[place]]
            if told:
                most = max(told, key=lambda text: _size(text) or 0.0)
                said.append(f"{name} is {most} at most.")
        return report("Slurm (sacct)", path, said, [table("Jobs and steps", columns, rows)])

    def _tuning(self, path: Path) -> ToolReport:
        columns = dict.fromkeys(self._head, Quantity.NUMBER)
        rows = [[_size(word) for word in row] for row in self._rows]
        scored = [row for row in rows if row[-1] is not None]
        best = max(scored, key=lambda row: row[-1] or 0.0, default=None)
        said = []
        if best is not None:
            told = zip(self._head[:-1], best[:-1], strict=True)
            values = ", ".join(f"{name} {value:g}" for name, value in told if value is not None)
            said.append(f"Of {len(rows):,} settings that were tried the best was {values}.")
        ordered = sorted(rows, key=lambda row: -(row[-1] or 0.0))
        return report("Horovod's autotuner", path, said, [table("Settings", columns, ordered)])


def _size(text: str) -> float | None:
    found = _SIZE.fullmatch(text.strip())
    try:
        return float(found[1]) * _POWERS[found[2]] if found else None
    except ValueError:
        return None
