"""Reads XPlane files of TensorFlow, JAX and torch_xla, one for each host.

Like Nsight Systems' tables they go through the decoder of Kineto's profiles.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from perfscope.errors import UnreadableInputError
from perfscope.readers.common.blocks import Growth, blocks
from perfscope.readers.common.protobuf import DamagedError
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.readers.kineto.file import EPOCH_NS, KinetoContents, Part
from perfscope.readers.kineto.host import is_phase
from perfscope.readers.kineto.made import Event, contents_from, interval
from perfscope.readers.kineto.reader import Form, joined, read_each
from perfscope.readers.xplane.planes import (
    Line,
    Plane,
    TooLongError,
    event_of,
    space_of,
)
from perfscope.trace.model import Format, Trace

GROWTH = Growth(ratio=200, most_bytes=1 << 31)
LONGEST_PS = 1 << 62
HOST, DEVICE = "/host:", "/device:"
KNOWN = (b"/host:", b"/device:", b"Task Environment")
PLANE_TAG = 0x0A
Rules = Sequence[tuple[str, str]]
_STREAM = re.compile(r"Stream #?(\d{1,9})")
_OPERATIONS = re.compile(r"(?:Async )?XLA Ops$|XLA Async Ops$")
"""Lines of a device that hold its work: streams, else operations; others hold sums of it."""
_DEVICE = re.compile(r"/device:\D+:(\d{1,6})")
NO_COMMUNICATION = "a profile of TensorFlow or JAX does not tell of communication between hosts"
XPLANE = Form(
    Format.XPLANE,
    no_devices="the profile holds no plane of a device",
    no_steps="no event has a step number: mark steps with tf.profiler.experimental.Trace or "
    "jax.profiler.StepTraceAnnotation",
)


def _recognizes(place: Place) -> bool:
    head = place.head
    return head[:1] == bytes([PLANE_TAG]) and any(name in head for name in KNOWN)


def open_xplane(paths: Sequence[Path], options: ReadOptions) -> Trace:
    """The run that these profiles tell of, a rank for each file.

    Raises:
        UnreadableInputError: none of them can be read, or they are of several runs.
    """
    files, notes = read_each(paths, lambda path: _contents(path, options.phase_rules))
    trace = joined(files, notes, paths, options, XPLANE)
    trace.not_recorded = {**trace.not_recorded, "communication": NO_COMMUNICATION}
    return trace


def _contents(path: Path, rules: Rules) -> KinetoContents:
    try:
        planes, hosts = space_of(_content(path))
        part = Part(host=hosts[0] if hosts else "")
        return contents_from(path, _events_of(planes, rules), {}, part)
    except DamagedError as error:
        raise UnreadableInputError(
            f"{path} cannot be read as a profile of TensorFlow or JAX.",
            why=f"It is cut off or damaged {error}.",
            action="Copy the file again, or profile again.",
        ) from error
    except TooLongError as error:
        raise UnreadableInputError(
            f"{path} is too long.", why=f"{error}.", action="Profile fewer steps."
        ) from error


def _content(path: Path) -> bytes:
    """What a file holds, decompressed: a message of protocol buffers has at most 2 GiB.

    Raises:
        TooLongError: it has more.
    """
    found = []
    left = GROWTH.most_bytes
    for block in blocks(path, lambda _: None, GROWTH):
        left -= len(block)
        if left < 0:
            raise TooLongError(f"It has more than {GROWTH.most_bytes >> 30} GiB")
        found.append(block)
    return b"".join(found)


def _events_of(planes: Sequence[Plane], rules: Rules) -> Iterator[Event]:
    """What the host and its devices did."""
    origin = _origin_ns(planes)
    for plane in planes:
        for event in _of_plane(plane, rules):
            if event.get("ts", EPOCH_NS) < EPOCH_NS:
                event["ts"] += origin
            yield {"pid": 0, **event}


def _of_plane(plane: Plane, rules: Rules) -> Iterator[Event]:
    has_streams = any(_STREAM.match(line.name) for line in plane.lines)
    work = _STREAM if has_streams else _OPERATIONS
    for number, line in enumerate(plane.lines):
        if plane.name.startswith(HOST):
            yield {"ph": "M", "name": "thread_name", "tid": number, "args": {"name": line.name}}
            yield from _of_host(plane, line, number, rules)
        elif plane.name.startswith(DEVICE) and work.match(line.name):
            yield from _of_device(plane, line, number)


def _origin_ns(planes: Sequence[Plane]) -> int:
    """When a session began whose times count from its begin; 0 unknown."""
    for plane in planes:
        began = plane.values(plane.told).get("profile_start_time")
        if isinstance(began, int) and EPOCH_NS <= began < 1 << 62:
            return began
    return 0


def _events(plane: Plane, line: Line) -> Iterator[tuple[str, int, int, dict[str, int | str]]]:
    """Name, begin and end in ns, and statistics of what has a length."""
    for part in line.events:
        event = event_of(part)
        if not (0 <= event.offset_ps < LONGEST_PS and 0 < event.duration_ps < LONGEST_PS):
            continue
        ends_ps = (event.offset_ps, event.offset_ps + event.duration_ps)
        begin, end = (line.timestamp_ns + at // 1000 for at in ends_ps)
        name = plane.events.get(event.metadata, "") or "unknown"
        yield name, begin, end, plane.values(event.stats)


def _of_host(plane: Plane, line: Line, number: int, rules: Rules) -> Iterator[Event]:
    """Steps by their numbers, phases by their names, launches, and operators.

    What stands inside of an operator is a part of it, whatever it is called.
    """
    operator_end = 0
    for name, begin, end, told in sorted(
        _events(plane, line), key=lambda event: (event[1], -event[2])
    ):
        step, correlation = told.get("step_num"), told.get("correlation_id")
        if isinstance(step, int) and told.get("_r") == 1:
            yield interval("user_annotation", f"ProfilerStep#{step}", begin, end, number, {})
        elif begin >= operator_end and is_phase(name, rules):
            yield interval("user_annotation", name, begin, end, number, {})
        else:
            operator_end = max(operator_end, end)
            arguments = {"correlation": correlation} if isinstance(correlation, int) else {}
            category = "cuda_runtime" if arguments else "cpu_op"
            yield interval(category, name, begin, end, number, arguments)


def _of_device(plane: Plane, line: Line, number: int) -> Iterator[Event]:
    found = _DEVICE.match(plane.name)
    stream = _STREAM.match(line.name)
    track = int(stream[1]) if stream and stream[1] else number
    for name, begin, end, told in _events(plane, line):
        plain = name.lower()
        category = "kernel"
        if "memcpy" in plain or plain.startswith("copy"):
            category = "gpu_memcpy"
        elif "memset" in plain:
            category = "gpu_memset"
        arguments = {"device": int(found[1]) if found else 0, "stream": track}
        correlation = told.get("correlation_id")
        if isinstance(correlation, int):
            arguments["correlation"] = correlation
        yield interval(category, name, begin, end, track, arguments)


READER = Reader(
    format=Format.XPLANE,
    description="an XPlane profile of TensorFlow or JAX (.xplane.pb, one for each host)",
    recognizes=_recognizes,
    open=open_xplane,
    tells=Tells(
        phases="steps by their numbers, phases by their names",
        devices="yes",
        clock="yes",
    ),
    joins=True,
)
