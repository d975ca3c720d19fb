"""The communication lines of DeepSpeed's comms logger, one by one and as its summary."""

import re
from collections import defaultdict
from pathlib import Path

from perfscope.readers.common.tool_reports import report, table
from perfscope.schema.enums import Quantity
from perfscope.schema.other_tools import ToolReport
from perfscope.units import format_seconds

SIGN = re.compile(rb"comm op: \w+ \| time \(ms\)|Comm\. Op +Message Size +Count")
_NUMBER = r"(\d{1,15}(?:\.\d{1,20})?)"
_CALL = re.compile(
    rf"comm op: (\w+) \| time \(ms\): {_NUMBER} \| msg size: {_NUMBER} ?([KMGT]?B)(?!\w)"
)
_HEAD = re.compile(r"Comm\. Op +Message Size +Count")
_ROW = re.compile(rf"^\s+{_NUMBER} ([KMGT]?B)\s+(\d{{1,12}})\s+{_NUMBER}\s")
_OPERATION = re.compile(r"^(\w+)\s*$")
UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
"""As DeepSpeed's convert_size has them: powers of 1024."""
MOST_S = 1e9


class Deepspeed:
    """Operations with calls, bytes and time, from single lines, else from the last summary."""

    def __init__(self) -> None:
        self._calls: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
        self._summary: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
        self._is_summary = False
        self._operation = ""

    def take(self, line: str) -> bool:
        """Whether the line is DeepSpeed's."""
        if call := _CALL.search(line):
            self._is_summary = False
            _add(self._calls[call[1]], 1, float(call[3]) * UNITS[call[4]], float(call[2]))
            return True
        if _HEAD.search(line):
            self._summary.clear()
            self._is_summary = True
            return True
        if not self._is_summary:
            return False
        if row := _ROW.match(line):
            count = int(row[3])
            sums = self._summary[self._operation or "unknown"]
            _add(sums, count, count * float(row[1]) * UNITS[row[2]], float(row[4]))
            return True
        operation = _OPERATION.match(line)
        self._is_summary = operation is not None
        self._operation = operation[1] if operation else ""
        return self._is_summary

    def report(self, path: Path) -> ToolReport | None:
        """Operations with most time."""
        found = self._calls or self._summary
        rows = sorted(
            ((name, int(n), size, s) for name, (n, size, s) in found.items() if s < MOST_S),
            key=lambda row: -row[3],
        )
        if not rows:
            return None
        columns = {
            "Operation": Quantity.CODE,
            "Calls": Quantity.COUNT,
            "Bytes": Quantity.BYTES,
            "Time": Quantity.SECONDS,
        }
        whole = sum(row[3] for row in rows)
        said = (
            f"Communication took {format_seconds(whole)} as DeepSpeed timed it, which synchronizes "
            f"before and after each call; the largest part is {rows[0][0]}, "
            f"{format_seconds(rows[0][3])}."
        )
        return report("DeepSpeed", path, [said], [table("Communication", columns, rows)])


def _add(sums: list[float], count: int, size: float, milliseconds: float) -> None:
    sums[0] += count
    sums[1] += size
    sums[2] += milliseconds / 1e3
