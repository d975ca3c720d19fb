"""The JSON of rocprof before rocprofv3 (`--hip-trace`, ...): Chrome traces with texts for numbers.

Each "process" of it is a GPU, the copies or an API; arrows lead from calls to what they launched.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

from perfscope.errors import UnreadableInputError
from perfscope.memory import rows_that_fit
from perfscope.readers.common import texts
from perfscope.readers.common.blocks import Growth, blocks, too_many_events
from perfscope.readers.kineto.made import Event
from perfscope.readers.rocprof import records
from perfscope.units import counted

GROWTH = Growth(ratio=100, most_bytes=1 << 40)
BYTES_A_BYTE = 12
"""What each byte of the text takes once it is objects of Python."""
_GPU = re.compile(r"GPU(\d{1,6})$")
ACTION = "Copy the file again, or record again: rocprofv3 --runtime-trace --output-format csv"
Row = Mapping[str, Any]
Call = tuple[int, int, int]
"""Begin and end in the microseconds that arrows have, and its number."""


def recognizes(head: bytes) -> bool:
    """Whether a file begins like this JSON."""
    is_trace = head.lstrip()[:1] == b"{" and b'"traceEvents"' in head[:256]
    return is_trace and b'"BeginNs"' in head and b'"DurationNs"' in head


def events_in(path: Path, notes: list[str]) -> Iterator[Event]:
    """What the file tells of devices and calls; what has no time is counted.

    Raises:
        UnreadableInputError: it is damaged or too large.
    """
    rows = [row for row in _rows(path) if row]
    about = [texts.mapping(row.get("args")) for row in rows]
    lanes = {
        str(row.get("pid")): texts.text(told, "name")
        for row, told in zip(rows, about, strict=True)
        if row.get("name") == "process_name"
    }
    launches = _launches(rows, about)
    left_out = 0
    for number, (row, told) in enumerate(zip(rows, about, strict=True)):
        if row.get("ph") != "X":
            continue
        when = _span(told)
        if when is None:
            left_out += 1
            continue
        name, lane = str(row.get("name", "")), lanes.get(str(row.get("pid")), "")
        queue = _number(row.get("tid"))
        gpu, call = _GPU.match(lane), launches.get((str(row.get("pid")), _number(row.get("ts"))))
        if gpu is not None and when[0] < when[1]:  # else a command that runs nothing: a barrier
            yield records.kernel(name, when, int(gpu[1]), queue, call)
        elif lane == "COPY":
            yield records.copy(name, when, _number(told.get("dev-id")), call)
        elif gpu is not None:
            continue
        else:
            kind = "MARKER" if "marker" in lane.lower() else lane
            yield records.call(kind, name, when, _number(told.get("tid")), number)
    if left_out:
        notes.append(f"{path.name}: left out {counted(left_out, 'event')} without a usable time.")


def _launches(rows: list[Row], about: list[Row]) -> dict[tuple[str, int], int]:
    """By lane and microsecond of what arrows lead to, the number of the call that they leave."""
    calls: dict[tuple[str, str], list[Call]] = {}
    for number, (row, told) in enumerate(zip(rows, about, strict=True)):
        if row.get("ph") == "X" and (when := _span(told)) is not None:
            lane = str(row.get("pid")), str(row.get("tid"))
            begin_us = _number(row.get("ts"))  # not of BeginNs: some count from the run's begin
            end_us = begin_us + (when[1] - when[0]) // 1000
            calls.setdefault(lane, []).append((begin_us, end_us, number))
    lanes = {lane: _Lane(own) for lane, own in calls.items()}
    left: dict[str, int] = {}
    for row in rows:
        if row.get("ph") != "s":
            continue
        lane = str(row.get("pid")), str(row.get("tid"))
        within = lanes[lane].innermost(_number(row.get("ts"))) if lane in lanes else None
        if within is not None:
            left[str(row.get("id"))] = within
    return {
        (str(row.get("pid")), _number(row.get("ts"))): left[str(row.get("id"))]
        for row in rows
        if row.get("ph") in ("t", "f") and str(row.get("id")) in left
    }


class _Lane:
    """The calls of one thread, to be found by the microsecond."""

    def __init__(self, calls: list[Call]) -> None:
        self._calls = sorted(calls)
        self._begins_us = [call[0] for call in self._calls]
        self._latest_us = list(accumulate((call[1] for call in self._calls), max))

    def innermost(self, at_us: int) -> int | None:
        """The number of the call that began last of those that a microsecond is in."""
        place = bisect_right(self._begins_us, at_us) - 1
        while place >= 0 and self._latest_us[place] >= at_us:
            if self._calls[place][1] >= at_us:
                return self._calls[place][2]
            place -= 1
        return None


def _rows(path: Path) -> list[Row]:
    cut: list[str] = []
    most = rows_that_fit(row_bytes=BYTES_A_BYTE)
    text = bytearray()
    for block in blocks(path, cut.append, GROWTH):
        text += block
        if len(text) > most:
            raise too_many_events(path)
    try:
        document = json.loads(text)  # what rocprof says of agents names fields twice
    except (ValueError, RecursionError) as error:
        why = cut[0] if cut else f"Its JSON ends early or is damaged: {error}."
        raise UnreadableInputError(
            f"{path} cannot be read as a trace of rocprof.", why=why, action=ACTION
        ) from error
    return list(texts.rows(texts.mapping(document).get("traceEvents")))


def _span(told: Row) -> records.Span | None:
    return records.span(_number(told.get("BeginNs")), _number(told.get("EndNs")))


def _number(told: object) -> int:
    """A number that may be a text; 0 for anything else."""
    text = str(told)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
