"""Tables in text: what Horovod's autotuner tried, and what Slurm's sacct counted."""

import re
from pathlib import Path

from perfscope.readers.common.tool_reports import report, table
from perfscope.readers.joblog import slurm
from perfscope.schema.enums import Quantity
from perfscope.schema.other_tools import ToolReport

_NO_ID = (
    r"^(?=[\w|]*\bState\b)(?=[\w|]*\b(?:CPUTime|CPUTimeRAW|Elapsed|ElapsedRaw|MaxRSS|ReqMem|"
    r"ReqCPUS|AllocCPUS|Timelimit)\b)\w+(?:\|\w+)+\|?\r?$"
)
"""Fields that no other table has together, where that of the job was not asked for."""
SIGN = re.compile(
    rb"cycle_time_ms,tensor_fusion_threshold[\w,]*,score|^(?:\w+\|)*JobID(?:Raw)?(?:\||$)|"
    + _NO_ID.encode()
    + rb"|"
    rb"^(?=[\w,;\t]*\b(?:State|Elapsed|MaxRSS)\b)(?=[\w,;\t]*\bJobID(?:Raw)?\b)"
    rb"\w+[,;\t][\w,;\t]*$|"
    rb"^(?=[ \w]*?\bJobID(?:Raw)?\b)[ \w]*\n-+(?: -+)* *$",
    re.MULTILINE,
)
_AUTOTUNE = re.compile(r"^[\w,]*cycle_time_ms,tensor_fusion_threshold[\w,]*,score\s*$")
_SACCT = re.compile(r"^(?:\w+\|)*JobID(?:Raw)?(?:\||$)|" + _NO_ID)
_OTHER_SIGN = re.compile(
    r"(?=[\w,;\t]*\b(?:State|Elapsed|MaxRSS)\b)(?=[\w,;\t]*\bJobID(?:Raw)?\b)"
    r"\w+([,;\t])\w+(?:\1\w+)*\1?$"
)
"""With `--delimiter`: fields that no other table has together."""
_IN_COLUMNS = re.compile(r"^(?=[ \w]*?\bJobID(?:Raw)?\b)[ \w]*$")
_RULE = re.compile(r"-+(?: -+)* *")
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
        self._has_end = self._is_over = self._is_tuning = False
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
        self._is_tuning = _AUTOTUNE.match(line) is not None
        other = _OTHER_SIGN.match(line)
        if self._is_tuning:
            self._separator = ","
        else:
            self._separator = "|" if _SACCT.match(line) else other[1] if other else ""
        self._has_end = bool(self._separator) and line.rstrip("\r\n").endswith(self._separator)
        self._head = self._words(line) if self._separator else []

    def _words(self, line: str) -> list[str]:
        if self._columns:
            return [line[column].strip() for column in self._columns]
        words = line.strip(" \r\n").split(self._separator)
        return words[:-1] if self._has_end else words

    def report(self, path: Path) -> ToolReport | None:
        """The table, with sizes and scores as numbers."""
        if not self._rows:
            return None
        if self._is_tuning:
            return self._tuning(path)
        return slurm.jobs(self._head, self._rows, path)

    def _tuning(self, path: Path) -> ToolReport:
        columns = dict.fromkeys(self._head, Quantity.NUMBER)
        rows = [[slurm.size(word) for word in row] for row in self._rows]
        scored = [row for row in rows if row[-1] is not None]
        best = max(scored, key=lambda row: row[-1] or 0.0, default=None)
        said = []
        if best is not None:
            told = zip(self._head[:-1], best[:-1], strict=True)
            values = ", ".join(f"{name} {value:g}" for name, value in told if value is not None)
            said.append(f"Of {len(rows):,} settings that were tried the best was {values}.")
        ordered = sorted(rows, key=lambda row: -(row[-1] or 0.0))
        return report("Horovod's autotuner", path, said, [table("Settings", columns, ordered)])
