"""What one rank did, as events of a Chrome trace."""

from collections.abc import Callable, Iterator

import numpy as np

from perfscope.dataframes.columns import pieces
from perfscope.dataframes.source import Source
from perfscope.dataframes.tables.kernels import KINDS as KERNEL_KINDS
from perfscope.dataframes.tables.operations import CLASS_OF, CLASSES, NAMES
from perfscope.export._chrome_events import Arguments, Event, event, metadata
from perfscope.export._rows import Lanes, RowKind, Rows, nested, rank_rows, thread_names
from perfscope.readers.common.calls import EXCHANGES
from perfscope.trace.devices import DEVICE_DTYPE, LAUNCH_UNKNOWN
from perfscope.trace.model import PEER_PROC_NULL, Rank, RowFlag, Table
from perfscope.trace.operations import IS_COLLECTIVE

# Linux gives no thread a number this high; lanes and streams are tracks of their own.
FIRST_LANE, FIRST_STREAM = 1 << 40, 1 << 41
_COALESCED, _OPEN, _SAMPLED = map(int, (RowFlag.COALESCED, RowFlag.OPEN, RowFlag.SAMPLED))
_CATEGORIES = {"compute": "kernel", "communication": "kernel"}
_Described = tuple[str, Arguments]
ANNOTATION = "user_annotation"
"""What Kineto, and the tools that read its traces, call an interval that the program named."""
CALLS = {"operation": "operation", "background": "background_operation"}
"""Calls of communication libraries have categories of their own: they are no phases."""
REQUEST = "request_completed"


def rank_events(source: Source, position: int) -> Iterator[str]:
    """A rank as a process: its names, and what its threads did."""
    rank = source.trace.ranks[position]
    rows = rank_rows(source, position)
    yield metadata("process_name", rank.number, 0, f"rank {rank.number} ({rank.host})")
    yield metadata("process_labels", rank.number, 0, f"pid {rank.pid}")
    yield metadata("process_sort_index", rank.number, 0, rank.number)
    describe = _describer(source, position)
    lane_number = FIRST_LANE
    for order, (tid, name) in enumerate(thread_names(source, position, rows).items()):
        yield metadata("thread_name", rank.number, tid, name)
        yield metadata("thread_sort_index", rank.number, tid, order)
        tracks = [tid]
        for block, lanes in nested(rows.of_thread(tid)):
            while len(tracks) <= max(lanes, default=0):
                tracks.append(lane_number)
                label = f"{name} {tid} (overlapping {len(tracks) - 1})"
                yield metadata("thread_name", rank.number, lane_number, label)
                yield metadata("thread_sort_index", rank.number, lane_number, order)
                lane_number += 1
            times = zip(block.t0.tolist(), block.t1.tolist(), strict=True)
            for (start, end), lane, told in zip(times, lanes, describe(block), strict=True):
                label, arguments = told
                if lane:
                    arguments = {**arguments, "tid": tid}
                category = CALLS.get(str(arguments.get("kind")), ANNOTATION)
                fields: Event = {"cat": category, "name": label}
                yield event("X", rank.number, tracks[lane], start, fields, arguments, end - start)
        yield from _samples(source, rank, tid)
    yield from _requests(rank)


def _describer(source: Source, position: int) -> Callable[[Rows], list[_Described]]:
    """Name and arguments of intervals, block by block."""
    rank, prepared = source.trace.ranks[position], source.prepared
    ids = prepared.catalog.ids
    sampled = prepared.parts[position].samples.phase_rows[2]

    def describe(block: Rows) -> list[_Described]:
        found: list[_Described] = [("", {})] * len(block)
        for kind in RowKind:
            mine = np.flatnonzero(block.kind == kind)
            if not len(mine):
                continue
            place = block.place[mine]
            told: Iterator[_Described]
            if kind is RowKind.STEP:
                told = _steps(rank.steps[place])
            elif kind is RowKind.PHASE:
                labels = prepared.catalog.of_rows(source.trace, rank.phases[place])
                told = _phases(rank.phases[place], [ids[label] for label in labels.tolist()])
            elif kind is RowKind.SAMPLED_PHASE:
                labels = sampled[place]
                told = (
                    (ids[label], {"kind": "phase", "sampled": True}) for label in labels.tolist()
                )
            elif kind is RowKind.BACKGROUND:
                told = _operations(rank.background[place], "background")
            else:
                told = _operations(rank.operations[place], "operation")
            for row, description in zip(mine.tolist(), told, strict=True):
                found[row] = description
        return found

    return describe


def _steps(rows: Table) -> Iterator[_Described]:
    columns = ("number", "epoch", "samples", "global_batch")
    for number, epoch, samples, batch in zip(
        *(rows[name].tolist() for name in columns), strict=True
    ):
        arguments: dict[str, str | int] = {"kind": "step", "step": number}
        arguments |= {"epoch": epoch} if epoch >= 0 else {}
        arguments |= {"samples": samples} if samples > 0 else {}
        arguments |= {"global_batch": batch} if batch > 0 else {}
        yield (f"ProfilerStep#{number}" if number >= 0 else "step"), arguments


def _phases(rows: Table, names: list[str]) -> Iterator[_Described]:
    columns = (rows[name].tolist() for name in ("step", "epoch", "flags"))
    for name, step, epoch, flags in zip(names, *columns, strict=True):
        arguments: dict[str, str | int | bool] = {"kind": "phase"}
        arguments |= {"step": step} if step >= 0 else {}
        arguments |= {"epoch": epoch} if epoch >= 0 else {}
        arguments |= {"sampled": True} if flags & _SAMPLED else {}
        arguments |= {"open": True} if flags & _OPEN else {}
        yield name, arguments


def _operations(rows: Table, kind: str) -> Iterator[_Described]:
    classes = CLASS_OF[rows["op"]].tolist()
    ordered = IS_COLLECTIVE[rows["op"]].tolist()
    names = ("op", "flags", "comm", "seq", "peer", "tag", "sent", "received", "request")
    columns = (rows[name].tolist() for name in names)
    for cls, is_ordered, *values in zip(classes, ordered, *columns, strict=True):
        op, flags, comm, seq, peer, tag, sent, received, request = values
        arguments: dict[str, str | int | bool] = {"kind": kind, "class": CLASSES[cls]}
        if comm >= 0:
            arguments["Process Group Name"] = str(comm)
        if is_ordered and seq >= 0:
            arguments["Seq"] = seq
        arguments |= _partner(op, seq, peer, tag)
        if sent or received:
            arguments["sent_bytes"], arguments["received_bytes"] = sent, received
        if flags & _COALESCED:
            arguments["calls"] = request
        elif EXCHANGES[op]:
            arguments |= {"received_tag": request - 1} if request > 0 else {}
        elif request:
            arguments["request"] = request
        if flags & _OPEN:
            arguments["open"] = True
        yield NAMES[op], arguments


def _partner(op: int, seq: int, peer: int, tag: int) -> dict[str, str | int | bool]:
    """Whom a call names: a root, or partners of messages."""
    told: dict[str, str | int | bool] = {"tag": tag} if tag >= 0 else {}
    if peer >= 0:
        told["root" if IS_COLLECTIVE[op] else "peer"] = peer
    if EXCHANGES[op] and seq >= 0:
        told["source"] = seq
    if PEER_PROC_NULL in ((peer, seq) if EXCHANGES[op] else (peer,)):
        told["nobody"] = True
    return told


def _requests(rank: Rank) -> Iterator[str]:
    """When requests were seen to be over, as instants on the thread."""
    for part in pieces(len(rank.completions)):
        rows = rank.completions[part]
        times = zip(rows["t0"].tolist(), rows["tid"].tolist(), strict=True)
        told = _operations(rows, "request")
        for (at, tid), (name, arguments) in zip(times, told, strict=True):
            fields: Event = {"cat": REQUEST, "name": name, "s": "t"}
            yield event("i", rank.number, tid, at, fields, arguments)


def _samples(source: Source, rank: Rank, tid: int) -> Iterator[str]:
    """Stack samples as instants on the thread."""
    trace, labels = source.trace, source.prepared.labels
    mine = rank.stacks[rank.stacks["tid"] == tid]
    for at, stack in zip(mine["t"].tolist(), mine["stack"].tolist(), strict=True):
        frame = trace.frames[int(labels.user_frame[stack])]
        fields: Event = {"cat": "sample", "name": frame.function, "s": "t"}
        yield event("i", rank.number, tid, at, fields, {"file": frame.file, "line": frame.line})


def counter_events(source: Source, position: int, dropped: list[str]) -> Iterator[str]:
    """Memory, threads and CPUs over time, and the counters of frameworks and other tools."""
    rank, names = source.trace.ranks[position], source.trace.names
    yield from _process_counters(rank)
    left_out = 0
    for rows in (rank.metrics, rank.counters):
        columns = (rows[name].tolist() for name in ("t", "name", "value"))
        for at, name, value in zip(*columns, strict=True):
            if not np.isfinite(value):
                left_out += 1
                continue
            fields: Event = {"cat": "counter", "name": names[name]}
            yield event("C", rank.number, 0, at, fields, {"value": value})
    if left_out:
        dropped.append(
            f"{left_out} values of rank {rank.number} are no numbers; JSON has none such."
        )


def _process_counters(rank: Rank) -> Iterator[str]:
    for part in pieces(len(rank.process_samples)):
        rows = rank.process_samples[part]
        columns = (rows[name].tolist() for name in ("t", "rss_bytes", "threads", "runnable"))
        for at, rss, threads, runnable in zip(*columns, strict=True):
            memory: Event = {"cat": "counter", "name": "memory"}
            yield event("C", rank.number, 0, at, memory, {"rss_bytes": rss})
            count: Event = {"cat": "counter", "name": "threads"}
            told = {"threads": threads, "runnable": runnable}
            yield event("C", rank.number, 0, at, count, told)
    busy = rank.process_samples
    passed, used = np.diff(busy["t"]), np.diff(busy["cpu_ns"])
    shares = (used / np.maximum(passed, 1)).tolist()
    for at, share in zip(busy["t"][1:].tolist(), shares, strict=True):
        fields: Event = {"cat": "counter", "name": "CPUs busy"}
        yield event("C", rank.number, 0, at, fields, {"CPUs": round(share, 6)})


def kernel_events(source: Source, position: int) -> Iterator[str]:
    """Kernels, copies and fills, one track a stream, with arrows from their launches."""
    rank = source.trace.ranks[position]
    if rank.devices is None:
        return
    rows = rank.devices.rows
    streams = np.unique(rows[["device", "stream"]]) if len(rows) else ()
    track = FIRST_STREAM
    for device, stream in streams:
        mine = rows[(rows["device"] == device) & (rows["stream"] == stream)]
        name = rank.devices.stream_names.get((int(device), int(stream)), f"stream {stream}")
        lanes, tracks = Lanes(), 0
        for row in mine[np.lexsort((-mine["t1"], mine["t0"]))].tolist():
            lane = lanes.lane(row[0], max(row[0], row[1]))
            if lane >= tracks:
                tracks += 1
                label = f"device {device} {name}" + (f" (overlapping {lane})" if lane else "")
                yield metadata("thread_name", rank.number, track + lane, label)
                yield metadata("thread_sort_index", rank.number, track + lane, FIRST_STREAM)
            yield from _kernel(source, rank, track + lane, row)
        track += tracks


def _kernel(source: Source, rank: Rank, track: int, row: tuple[int, ...]) -> Iterator[str]:
    told = dict(zip(DEVICE_DTYPE.names or (), row, strict=True))
    t0, t1, launch, correlation = (told[key] for key in ("t0", "t1", "launch", "correlation"))
    if correlation >= 0:  # those of a process, which here shares the file with others
        correlation = correlation * source.trace.world_size + rank.number
    word = KERNEL_KINDS[told["kind"]]
    fields: dict[str, str | int] = {
        "cat": _CATEGORIES.get(word, f"gpu_{word}"),
        "name": source.trace.names[told["name"]],
    }
    known = {"correlation": correlation, "bytes": told["bytes"]}
    known["Seq"] = told["seq"]
    arguments: dict[str, str | int] = {"device": told["device"], "stream": told["stream"]}
    arguments |= {key: value for key, value in known.items() if value >= 0}
    arguments |= {"Process Group Name": str(told["comm"])} if told["comm"] >= 0 else {}
    arguments |= {"Group size": told["members"]} if told["members"] else {}
    arguments |= {"Collective name": source.trace.names[told["op"]]} if told["op"] >= 0 else {}
    yield event("X", rank.number, track, t0, fields, arguments, max(t1 - t0, 0))
    if launch != LAUNCH_UNKNOWN and correlation >= 0:
        shared: Event = {"cat": "ac2g", "name": "ac2g", "id": correlation}
        yield event("s", rank.number, rank.main_tid, launch, shared, {})
        yield event("f", rank.number, track, t0, {**shared, "bp": "e"}, {})
