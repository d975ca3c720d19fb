"""Reads the CSV files of rocprof and rocprofv3: kernels, copies and the calls that launched them.

rocprofv3 writes one file for each kind of event, with the process id in front of its name; rocprof
one for all kernels. They go through the decoder of Kineto's profiles, like Nsight Systems' tables.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from perfscope.errors import UnreadableInputError
from perfscope.readers.common import texts
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.readers.kineto.file import KinetoContents, Part
from perfscope.readers.kineto.made import Event, contents_from, interval
from perfscope.readers.kineto.reader import Form, joined, read_each
from perfscope.trace.model import Format, Trace
from perfscope.units import counted

BEGINS, ENDS = ("start_timestamp", "beginns"), ("end_timestamp", "endns")
KERNELS = ("kernel_name", "kernelname")
DEVICES, QUEUES = ("agent_id", "gpu-id"), ("queue_id", "queue-id")
_HEAD = re.compile(
    rb'\s*"?(?:Guid"?,"?Kind|Kind|Domain|Index|KernelName)"?,[^\n]*(?:Start_Timestamp|BeginNs)',
)
_PID = re.compile(r"(\d{1,9})_")
_DIGITS = re.compile(r"(\d{1,9})\D*$")
LATEST_NS = 1 << 62
MOST_ROWS = 3_000_000
"""Of a process: each becomes an object of Python."""
ACTION = "Copy the files again, or record again: rocprofv3 --runtime-trace --output-format csv"
NO_COMMUNICATION = "rocprof tells what devices did, and not how long the ranks' hosts waited"
ROCPROF = Form(
    Format.ROCPROF,
    no_devices="the files hold no kernel: rocprofv3 --kernel-trace",
    no_steps="rocprof does not know steps",
)


def _recognizes(place: Place) -> bool:
    return not place.is_directory and _HEAD.match(place.head) is not None


def _open(paths: Sequence[Path], options: ReadOptions) -> Trace:
    """The run that these files tell of, a rank for each process.

    Raises:
        UnreadableInputError: none of them can be read.
    """
    groups: dict[tuple[Path, str], list[Path]] = defaultdict(list)
    for path in paths:
        pid = _PID.match(path.name)
        groups[path.parent, pid[1] if pid else ""].append(path)
    firsts = [files[0] for files in groups.values()]
    read = _Process({files[0].absolute(): (pid, files) for (_, pid), files in groups.items()})
    files, notes = read_each(firsts, read)
    trace = joined(files, notes, paths, options, ROCPROF)
    trace.not_recorded = {**trace.not_recorded, "communication": NO_COMMUNICATION}
    return trace


class _Process:
    """Reads all files of a process, which lie beside its first one."""

    def __init__(self, files: Mapping[Path, tuple[str, Sequence[Path]]]) -> None:
        self._files = files

    def __call__(self, first: Path) -> KinetoContents:
        """What they tell; where files are read elsewhere, the path is whole."""
        pid, files = self._files[first.absolute()]
        return _contents(pid, [first.with_name(file.name) for file in files])


def _contents(pid: str, paths: Sequence[Path]) -> KinetoContents:
    notes: list[str] = []
    events: list[Event] = []
    for path in sorted(paths):
        left_out = 0
        for event in _events(path, notes):
            if event is None:
                left_out += 1
            elif len(events) < MOST_ROWS:
                events.append({"pid": 0, **event})
            else:
                raise UnreadableInputError(
                    f"{path} and the files beside it have too many events to be read.",
                    why=f"At most {MOST_ROWS:,} of a process are kept, as each takes memory.",
                    action="Record a shorter part of the run.",
                )
        if left_out:
            notes.append(f"{path.name}: left out {counted(left_out, 'row')} without a usable time.")
    events.sort(key=lambda event: int(event["ts"]))
    contents = contents_from(paths[0], events, {}, Part(pid=pid))
    contents.notes += notes
    return contents


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
    begin, end = _number(row, BEGINS), _number(row, ENDS)
    if begin is None or end is None or not 0 < begin <= end < LATEST_NS:
        return None
    told = {"correlation": _number(row, ("correlation_id",))}
    arguments = {name: value for name, value in told.items() if value is not None}
    kernel = _text(row, KERNELS)
    if kernel:
        device, queue = _last_number(row, DEVICES), _last_number(row, QUEUES)
        arguments |= {"device": device, "stream": queue}
        name = kernel.removesuffix(" [clone .kd]").removesuffix(".kd")
        return interval("kernel", name, begin, end, queue, arguments)
    direction = _text(row, ("direction",))
    if direction:
        arguments |= {"device": _last_number(row, _copying(direction)), "stream": 0}
        return interval("gpu_memcpy", direction, begin, end, 0, arguments)
    thread = _number(row, ("thread_id", "tid")) or 0
    called = _text(row, ("function", "name")) or "unknown"
    is_marker = "MARKER" in _text(row, ("domain", "kind"))
    category = "user_annotation" if is_marker else "cuda_runtime"
    return interval(category, called, begin, end, thread, arguments)


def _copying(direction: str) -> tuple[str, ...]:
    """The column of the device that a copy belongs to."""
    is_to_host = direction.upper().endswith(("DEVICE_TO_HOST", "D2H"))
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


READER = Reader(
    format=Format.ROCPROF,
    description="CSV files of AMD's rocprof or rocprofv3 (kernel_trace, memory_copy_trace, ...)",
    recognizes=_recognizes,
    open=_open,
    tells=Tells(devices="yes", phases="markers (roctx), by their names"),
    joins=True,
)
