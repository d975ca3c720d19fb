"""The communication lines of DeepSpeed's comms logger, one by one and as its summary."""

import re
from collections import defaultdict
from pathlib import Path

from perfscope.readers.common.tool_reports import report, table
from perfscope.schema.enums import Quantity
from perfscope.schema.other_tools import ToolReport
from perfscope.units import format_seconds

_CALLED = r"(\w+(?: \| \[Caller Func: [^\]|]{1,200}\])?)"
"""An operation; with `debug` DeepSpeed also tells which of its functions called it."""
SIGN = re.compile(
    rb"comm op: \w+ \| (?:\[Caller Func: [^\n]{1,200}\] \| )?time \(ms\)"
    rb"|Comm\. Op +Message Size +Count"
)
_NUMBER = r"(\d{1,15}(?:\.\d{1,20})?)"
_CALL = re.compile(
    rf"comm op: {_CALLED} \| time \(ms\): {_NUMBER} \| msg size: {_NUMBER} ?([KMGT]?B)(?!\w)"
)
_HEAD = re.compile(r"Comm\. Op +Message Size +Count +Total (Latency|comm lat)\(ms\)")
_ROW = re.compile(rf"^\s+{_NUMBER} ?([KMGT]?B)\s+(\d{{1,12}})\s+{_NUMBER}\s+{_NUMBER}(?:\s|$)")
_OPERATION = re.compile(rf"^{_CALLED}\s*$")
UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
"""As DeepSpeed's convert_size has them: powers of 1024."""
MOST_S = 1e9
Sums = dict[str, list[float]]
"""By operation: calls, bytes, seconds, and of the straggler table those of waiting."""


def _nothing() -> Sums:
    return defaultdict(lambda: [0, 0.0, 0.0, 0.0])


class Deepspeed:
    """Operations with calls, bytes and time: single lines or the last summary, which knows more.

    A summary with `show_straggler=True` has a second table: the least time of all ranks, and how
    much longer this rank's calls were, which is waiting for the last rank.
    """

    def __init__(self) -> None:
        self._calls, self._summary, self._stragglers = _nothing(), _nothing(), _nothing()
        self._table: Sums | None = None
        self._operation = ""

    def take(self, line: str) -> bool:
        """Whether the line is DeepSpeed's."""
        if call := _CALL.search(line):
            self._table = None
            _add(self._calls[call[1]], 1, float(call[3]) * UNITS[call[4]], float(call[2]))
            return True
        if head := _HEAD.search(line):
            self._table = self._summary if head[1] == "Latency" else self._stragglers
            self._table.clear()
            return True
        if self._table is None:
            return False
        if row := _ROW.match(line):
            count = int(row[3])
            sums = self._table[self._operation or "unknown"]
            size = count * float(row[1]) * UNITS[row[2]]
            _add(sums, count, size, float(row[4]), float(row[5]))
            return True
        if (operation := _OPERATION.match(line)) is None:
            self._table = None
            return False
        self._operation = operation[1]
        return True

    def report(self, path: Path) -> ToolReport | None:
        """Operations with most time."""
        rows = [row[:-1] for row in _rows(max(self._calls, self._summary, key=_calls))]
        late = [(*row[:2], *row[3:]) for row in _rows(self._stragglers)]
        said = []
        if rows:
            whole = sum(row[3] for row in rows)
            said.append(
                f"Communication took {format_seconds(whole)} as DeepSpeed timed it, which "
                f"synchronizes before and after each call; the largest part is {rows[0][0]}, "
                f"{format_seconds(rows[0][3])}."
            )
        if waited := sum(row[3] for row in late):
            most = max(late, key=lambda row: row[3])
            said.append(
                f"For {format_seconds(waited)} the rank that wrote this waited for the last rank; "
                f"the largest part is {most[0]}, {format_seconds(most[3])}."
            )
        if not said:
            return None
        columns = {"Operation": Quantity.CODE, "Calls": Quantity.COUNT}
        took = {"Bytes": Quantity.BYTES, "Time": Quantity.SECONDS}
        least = {"Least of all ranks": Quantity.SECONDS, "Waiting here": Quantity.SECONDS}
        tables = [
            table("Communication", columns | took, rows),
            table("Waiting for the last rank", columns | least, late),
        ]
        return report("DeepSpeed", path, said, tables)


def _calls(found: Sums) -> float:
    return sum(sums[0] for sums in found.values())


def _rows(found: Sums) -> list[tuple[str, int, float, float, float]]:
    """Operations with most time first."""
    rows = [(name, int(n), size, s, waited) for name, (n, size, s, waited) in found.items()]
    return sorted((row for row in rows if max(row[3:]) < MOST_S), key=lambda row: -row[3])


def _add(sums: list[float], count: int, size: float, ms: float, waited_ms: float = 0.0) -> None:
    sums[0] += count
    sums[1] += size
    sums[2] += ms / 1e3
    sums[3] += waited_ms / 1e3
