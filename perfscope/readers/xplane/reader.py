"""Reads XPlane files of TensorFlow, JAX and torch_xla, one for each host.

Like Nsight Systems' tables they tell what a profile of Kineto tells, and go through its decoder.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from perfscope.engine import engine
from perfscope.errors import UnreadableInputError
from perfscope.readers.common.blocks import Growth, blocks
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.readers.kineto.file import EPOCH_NS, KinetoContents, Part, contents_of
from perfscope.readers.kineto.host import is_phase
from perfscope.readers.kineto.reader import joined
from perfscope.readers.xplane.planes import (
    DamagedError,
    Line,
    Plane,
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
NO_STEPS = "no event has a step number: mark steps with tf.profiler.experimental.Trace or "
NO_STEPS += "jax.profiler.StepTraceAnnotation"
NO_DEVICES = "the profile holds no plane of a device"


def _recognizes(place: Place) -> bool:
    head = place.head
    return head[:1] == bytes([PLANE_TAG]) and any(name in head for name in KNOWN)


def open_xplane(paths: Sequence[Path], options: ReadOptions) -> Trace:
    """The run that these profiles tell of, a rank for each file.

    Raises:
        UnreadableInputError: none of them can be read, or they are of several runs.
    """
    read = [_attempt(path, options.phase_rules) for path in paths]
    found = [one for one in read if isinstance(one, KinetoContents)]
    failures = [one for one in read if isinstance(one, UnreadableInputError)]
    if not found:
        raise failures[0]
    trace = joined(found, [f"{one.what} {one.why}" for one in failures], paths, options)
    trace.format = Format.XPLANE
    own = {"steps": NO_STEPS, "devices": NO_DEVICES}
    told = {name: own.get(name, why) for name, why in trace.not_recorded.items()}
    trace.not_recorded = {**told, "communication": NO_COMMUNICATION}
    return trace


def _attempt(path: Path, rules: Rules) -> KinetoContents | UnreadableInputError:
    try:
        return _contents(path, rules)
    except UnreadableInputError as error:
        return error


def _contents(path: Path, rules: Rules) -> KinetoContents:
    try:
        data = b"".join(blocks(path, lambda _: None, GROWTH))
        planes, hosts = space_of(data)
        file = engine.KinetoFile("", True)
        file.feed(_text(planes, rules).encode())
        file.finish()
    except DamagedError as error:
        raise UnreadableInputError(
            f"{path} cannot be read as a profile of TensorFlow or JAX.",
            why=f"It is cut off or damaged {error}.",
            action="Copy the file again, or profile again.",
        ) from error
    host = hosts[0] if hosts else ""
    return replace(contents_of(path, file), part=Part(host=host))


def _text(planes: Sequence[Plane], rules: Rules) -> str:
    """What they hold as a Chrome trace in nanoseconds."""
    origin = _origin_ns(planes)
    shown: list[dict[str, Any]] = []
    for plane in planes:
        if plane.name.startswith(HOST):
            for number, line in enumerate(plane.lines):
                name = {"name": line.name}
                shown.append({"ph": "M", "name": "thread_name", "pid": 0, "tid": number})
                shown[-1]["args"] = name
                shown += _of_host(plane, line, number, rules)
        elif plane.name.startswith(DEVICE):
            has_streams = any(_STREAM.match(line.name) for line in plane.lines)
            work = _STREAM if has_streams else _OPERATIONS
            for number, line in enumerate(plane.lines):
                if work.match(line.name):
                    shown += _of_device(plane, line, number)
    for event in shown:
        if event["ph"] == "X" and event["ts"] < EPOCH_NS:
            event["ts"] += origin
    return json.dumps({"traceEvents": shown})


def _origin_ns(planes: Sequence[Plane]) -> int:
    """When a session began whose times count from its begin; 0 unknown."""
    for plane in planes:
        began = plane.values(plane.told).get("profile_start_time")
        if isinstance(began, int) and EPOCH_NS <= began < 1 << 62:
            return began
    return 0


def _events(plane: Plane, line: Line) -> Iterator[tuple[str, int, int, dict[str, int | str]]]:
    """Name, begin, length in ns and statistics of what has a length."""
    for part in line.events:
        event = event_of(part)
        if event.offset_ps < 0 or not 0 < event.duration_ps < LONGEST_PS:
            continue
        if event.offset_ps >= LONGEST_PS:
            continue
        begin, end = event.offset_ps // 1000, (event.offset_ps + event.duration_ps) // 1000
        name = plane.events.get(event.metadata, "") or "unknown"
        yield name, line.timestamp_ns + begin, end - begin, plane.values(event.stats)


def _of_host(plane: Plane, line: Line, number: int, rules: Rules) -> Iterator[dict[str, Any]]:
    """Steps by their numbers, phases by their names, launches, and operators.

    What stands inside of an operator is a part of it, whatever it is called.
    """
    operator_end = 0
    for name, begin, length, told in sorted(
        _events(plane, line), key=lambda event: (event[1], -event[2])
    ):
        step, correlation = told.get("step_num"), told.get("correlation_id")
        if isinstance(step, int) and told.get("_r") == 1:
            yield _shown("user_annotation", f"ProfilerStep#{step}", begin, length, number, {})
        elif begin >= operator_end and is_phase(name, rules):
            yield _shown("user_annotation", name, begin, length, number, {})
        else:
            operator_end = max(operator_end, begin + length)
            arguments = {"correlation": correlation} if isinstance(correlation, int) else {}
            category = "cuda_runtime" if arguments else "cpu_op"
            yield _shown(category, name, begin, length, number, arguments)


def _of_device(plane: Plane, line: Line, number: int) -> Iterator[dict[str, Any]]:
    found = _DEVICE.match(plane.name)
    stream = _STREAM.match(line.name)
    track = int(stream[1]) if stream and stream[1] else number
    for name, begin, length, told in _events(plane, line):
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
        yield _shown(category, name, begin, length, track, arguments)


def _shown(
    category: str, name: str, begin: int, length: int, track: int, arguments: dict[str, Any]
) -> dict[str, Any]:
    times = {"ts": begin, "dur": length}
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 0,
        "tid": track,
        **times,
        "args": arguments,
    }


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
