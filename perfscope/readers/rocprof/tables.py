"""The CSV files of rocprof and rocprofv3: kernels, copies and the calls that launched them.

rocprofv3 writes one file for each kind of event, with the process id in front of its name; rocprof
one for all kernels.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from perfscope.errors import UnreadableInputError
from perfscope.readers.common import texts
from perfscope.readers.kineto.made import Event
from perfscope.readers.rocprof import records
from perfscope.units import counted

BEGINS, ENDS = ("start_timestamp", "beginns"), ("end_timestamp", "endns")
KERNELS = ("kernel_name", "kernelname")
DEVICES, QUEUES = ("agent_id", "gpu-id"), ("queue_id", "queue-id")
_HEAD = re.compile(
    rb'\s*"?(?:Guid"?,"?Kind|Kind|Domain|Index|KernelName)"?,[^\n]*(?:Start_Timestamp|BeginNs)'
)
_DIGITS = re.compile(r"(\d{1,9})\D*$")
ACTION = "Copy the files again, or record again: rocprofv3 --runtime-trace --output-format csv"


def recognizes(head: bytes) -> bool:
    """Whether a file begins like one of these tables."""
    return _HEAD.match(head) is not None


def events_in(path: Path, notes: list[str]) -> Iterator[Event]:
    """What the rows of a file tell; those without a time are counted.

    Raises:
        UnreadableInputError: it is no table.
    """
    left_out = 0
    for event in _events(path, notes):
        if event is None:
            left_out += 1
        else:
            yield event
    if left_out:
        notes.append(f"{path.name}: left out {counted(left_out, 'row')} without a usable time.")


def _events(path: Path, notes: list[str]) -> Iterator[Event | None]:
    """What each row tells; None for one that tells no time."""
    rows = csv.reader(texts.lines(path, notes.append), skipinitialspace=True)
    try:
        head = [name.strip().lower() for name in next(rows)]
        for row in rows:
            if row:
                yield _event(dict(zip(head, row, strict=False)))
    except (csv.Error, StopIteration) as error:
        raise UnreadableInputError(
            f"{path} cannot be read as a table of rocprof.",
            why=f"Its CSV is damaged: {str(error)[:200] or 'it is empty'}.",
            action=ACTION,
        ) from error


def _event(row: Mapping[str, str]) -> Event | None:
    span = records.span(_number(row, BEGINS), _number(row, ENDS))
    if span is None:
        return None
    call = _number(row, ("correlation_id",))
    if kernel := _text(row, KERNELS):
        device, queue = _last_number(row, DEVICES), _last_number(row, QUEUES)
        return records.kernel(kernel, span, device, queue, call)
    if direction := _text(row, ("direction",)):
        device = _last_number(row, _copying(direction))
        return records.copy(direction, span, device, call)
    thread = _number(row, ("thread_id", "tid")) or 0
    called = _text(row, ("function", "name")) or "unknown"
    return records.call(_text(row, ("domain", "kind")), called, span, thread, call)


def _copying(direction: str) -> tuple[str, ...]:
    """The column of the device that a copy belongs to."""
    is_to_host = records.is_to_host(direction)
    return ("source_agent_id",) if is_to_host else ("destination_agent_id",)


def _text(row: Mapping[str, str], names: Sequence[str]) -> str:
    return next((row[name] for name in names if row.get(name)), "")


def _number(row: Mapping[str, str], names: Sequence[str]) -> int | None:
    text = _text(row, names)
    return int(text) if text.isdecimal() and len(text) < 20 else None


def _last_number(row: Mapping[str, str], names: Sequence[str]) -> int:
    """Of "Agent 4" or 4; of queues that are addresses the end, which tells them apart."""
    found = _DIGITS.search(_text(row, names))
    return int(found[1]) if found else 0
