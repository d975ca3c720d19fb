"""Reads XPlane files of TensorFlow, JAX and torch_xla, one for each host.

Like Nsight Systems' tables they go through the decoder of Kineto's profiles.
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from perfscope.arrays import Bools
from perfscope.engine import engine
from perfscope.readers.common.amounts import LATEST_NS
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.readers.kineto.elsewhere import FileRead, processes_of, read_files
from perfscope.readers.kineto.file import EPOCH_NS, KinetoContents, Part
from perfscope.readers.kineto.host import is_phase
from perfscope.readers.kineto.made import MADE_DTYPE, begun, ended, feed
from perfscope.readers.kineto.reader import Form, joined
from perfscope.readers.xplane.planes import Plane, Space, Told
from perfscope.trace.model import Format, Table, Trace
from perfscope.units import counted

HOST, DEVICE = "/host:", "/device:"
KNOWN = (b"/host:", b"/device:", b"Task Environment")
PLANE_TAG = 0x0A
PROCESS = "0"
ENDING, PACKED = ".xplane.pb", ".gz"
DRAWN, PERFETTO = (".trace.json.gz", ".trace.json"), "perfetto_trace.json.gz"
CATEGORIES = ["user_annotation", "cuda_runtime", "cpu_op", "kernel", "gpu_memcpy", "gpu_memset"]
ANNOTATION, RUNTIME, OPERATOR, KERNEL, COPY, FILL = range(len(CATEGORIES))
Rules = Sequence[tuple[str, str]]
Truths = Bools
_STREAM = re.compile(r"Stream #?(\d{1,9})")
_OPERATIONS = re.compile(r"(?:Async )?XLA Ops$|XLA Async Ops$")
"""Lines of a device that hold its work: streams, else operations; others hold sums of it."""
_DEVICE = re.compile(r"/device:\D+:(\d{1,6})")
_COPY = re.compile(r"memcpy|^copy|.* (?:HtoD|DtoH|DtoD|HtoH)$", re.IGNORECASE | re.DOTALL)
"""Copies: as a driver calls them, or instructions of XLA with the way that the decoder found."""
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


def _companions(path: Path) -> Sequence[Path]:
    """What the profiler draws of the same profile for viewers, with less in it."""
    host = path.name.removesuffix(PACKED).removesuffix(ENDING)
    return [path.with_name(f"{host}{ending}") for ending in DRAWN] + [path.with_name(PERFETTO)]


def open_xplane(paths: Sequence[Path], options: ReadOptions) -> Trace:
    """The run that these profiles tell of, a rank for each file.

    Raises:
        UnreadableInputError: none of them can be read, or they are of several runs.
    """
    read, notes = read_files(paths, partial(_read, rules=options.phase_rules), options)
    trace = joined(processes_of(read), notes, paths, options, XPLANE)
    trace.not_recorded = {**trace.not_recorded, "communication": NO_COMMUNICATION}
    trace.notes += [
        f"{drawn.name}, the same profile as it is drawn for viewers, was not read: it tells less."
        for drawn in dict.fromkeys(one for path in paths for one in _companions(path))
        if drawn.is_file()
    ]
    return trace


def _read(path: Path, *, rules: Rules) -> FileRead:
    return FileRead([_contents(path, rules)], [])


def _contents(path: Path, rules: Rules) -> KinetoContents:
    space = Space(path)
    file = begun({})
    origin = _origin_ns(space)
    named, used = set[str](), set[str]()
    for place, plane in enumerate(space.planes):
        has_streams = any(_STREAM.match(name) for name in plane.lines)
        work = _STREAM if has_streams else _OPERATIONS
        device = _DEVICE.match(plane.name)
        named |= {device[0]} if device else set()
        for number, name in enumerate(plane.lines):
            if plane.name.startswith(HOST):
                thread = {"ph": "M", "name": "thread_name", "pid": 0, "tid": number}
                feed(file, [{**thread, "args": {"name": name}}])
                rows, names = _of_host(plane, space.events(place, number), rules)
            elif plane.name.startswith(DEVICE) and work.match(name):
                rows, names = _of_device(plane, space.events(place, number))
                _place(rows, plane.name, name, number)
                used |= {device[0]} if device and len(rows) else set()
            else:
                continue
            rows["thread"] = number if plane.name.startswith(HOST) else rows["stream"]
            early = rows["t0"] < EPOCH_NS
            rows["t0"][early] += origin
            rows["t1"][early] += origin
            engine.take_rows(file, rows.view(np.uint8), names, CATEGORIES, PROCESS)
    host = space.hosts[0] if space.hosts else ""
    part = _part(host, space, len(named))
    contents = ended(path, file, part, without_time=space.without_time)
    if used and named - used:
        contents.notes.append(
            f"{path.name}: {counted(len(named - used), 'device')} of {len(named)} did nothing in "
            "it; figures of devices are of the others."
        )
    return contents


def _part(host: str, space: Space, devices: int) -> Part:
    """The process of a host that names so many devices, and as many hosts as the file shows.

    Collectives and the programs that hold them tell among how many devices they are; each host has
    as many. On TPUs an event is called as its instruction, `%all-reduce = ...
    replica_groups={{0,1,2,3}}`, and shown under a shorter name. Where the programs tell that they
    are among several devices, and all of these are here, there are no others, as far as XLA's
    programs tell: what else a job runs elsewhere is in none of them.
    """
    on_devices = (plane.devices for plane in space.planes if plane.name.startswith(DEVICE))
    most = max([*on_devices, space.program_devices]) if devices else 0
    is_whole = space.program_devices > 1 and most <= devices
    return Part(host=host, shown_ranks=-(-most // max(devices, 1)), is_alone=is_whole)


def _origin_ns(space: Space) -> int:
    """When a session began whose times count from its begin; 0 unknown."""
    for place in range(len(space.planes)):
        began = space.told(place, "profile_start_time")
        if began is not None and EPOCH_NS <= began < LATEST_NS:
            return began
    return 0


def _made(events: Table) -> Table:
    """Rows with the times, names and correlations of events, of no thread or device."""
    rows = np.zeros(len(events), MADE_DTYPE)
    rows["bytes"] = rows["device"] = rows["stream"] = -1
    rows["t0"], rows["t1"] = events["t0"], events["t1"]
    has_call = (events["told"] & Told.CORRELATION) != 0
    # beyond 63 bits it is none that a launch can have
    rows["correlation"] = np.where(has_call, events["correlation"].astype(np.int64), -1)
    return rows


def _of_host(plane: Plane, events: Table, rules: Rules) -> tuple[Table, list[str]]:
    """Steps by their numbers, phases by their names, launches, and operators; with their names."""
    events = events[np.lexsort((-events["t1"], events["t0"]))]
    rows = _made(events)
    used, places = np.unique(events["name"], return_inverse=True)
    names = [plane.names[place] for place in used.tolist()]
    stepping = Told.STEP | Told.ROOT
    is_step = (events["told"] & stepping) == stepping
    named = np.array([is_phase(name, rules) for name in names], np.bool_)
    phases = _outside(events, named[places] & ~is_step, ~named[places] & ~is_step)
    is_call = (events["told"] & Told.CORRELATION) != 0
    rows["category"] = np.where(is_call, RUNTIME, OPERATOR)
    rows["category"][is_step | phases] = ANNOTATION
    rows["correlation"][rows["category"] != RUNTIME] = -1
    numbers, steps = np.unique(events["step"][is_step], return_inverse=True)
    rows["name"] = places
    rows["name"][is_step] = len(names) + steps
    return rows, [*names, *(f"ProfilerStep#{number}" for number in numbers.tolist())]


def _outside(events: Table, named: Truths, operators: Truths) -> Truths:
    """Which of the events that are named like phases are phases.

    What stands inside of an operator is a part of it, whatever it is called.
    """
    reached = np.maximum.accumulate(np.where(operators, events["t1"], 0))
    found = named.copy()
    end = 0
    places = np.flatnonzero(named)
    begins, ends = events["t0"][places].tolist(), events["t1"][places].tolist()
    for place, begin, own_end, before in zip(
        places.tolist(), begins, ends, reached[places].tolist(), strict=True
    ):
        if begin < max(end, before):
            found[place] = False
            end = max(end, own_end)
    return found


def _of_device(plane: Plane, events: Table) -> tuple[Table, list[str]]:
    """Kernels, copies and fills, with their names."""
    rows = _made(events)
    used, places = np.unique(events["name"], return_inverse=True)
    names = [plane.names[place] for place in used.tolist()]
    kinds = np.array([_kind(name) for name in names], np.uint32)
    rows["name"], rows["category"] = places, kinds[places]
    return rows, names


def _kind(name: str) -> int:
    if _COPY.search(name):
        return COPY
    return FILL if "memset" in name.lower() else KERNEL


def _place(rows: Table, plane: str, line: str, number: int) -> None:
    """Says on which device and stream the work of a line ran."""
    device, stream = _DEVICE.match(plane), _STREAM.match(line)
    rows["device"] = int(device[1]) if device else 0
    rows["stream"] = int(stream[1]) if stream and stream[1] else number


READER = Reader(
    format=Format.XPLANE,
    description="an XPlane profile of TensorFlow or JAX (.xplane.pb, one for each host)",
    recognizes=_recognizes,
    open=open_xplane,
    tells=Tells(
        phases="steps by their numbers, phases by their names",
        devices="yes",
        clock="yes",
        known_from="files of TensorFlow and JAX; GPUs and TPUs by the facts of published ones",
    ),
    joins=True,
    companions=_companions,
)
