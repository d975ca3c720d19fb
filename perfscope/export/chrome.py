"""Chrome trace JSON: for ui.perfetto.dev, chrome://tracing, and readers of PyTorch's Kineto traces.

Times are microseconds with three decimals since `baseTimeNanoseconds`: exact nanoseconds.
"""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import perfscope
from perfscope.dataframes.columns import Maybe
from perfscope.dataframes.source import Source
from perfscope.dataframes.tables.messages import TABLE as MESSAGES
from perfscope.dataframes.tables.messages import message_threads
from perfscope.export._chrome_events import Event, event
from perfscope.export._chrome_rank import counter_events, kernel_events, rank_events
from perfscope.export._source import facts_of, with_exposed_source
from perfscope.export.target import Target, opened
from perfscope.readers.common.exported import KEY, PARTNERS
from perfscope.trace.model import Trace

FLUSH_EVENTS = 4096
_MESSAGE_COLUMNS = ("source", "send_t0_ns", "target", "receive_t0_ns", "tag", "bytes")


def write(source: Source, output: Path) -> list[str]:
    """Writes a trace as one JSON object, compressed where the output's name ends in .gz."""
    dropped: list[str] = []
    source = with_exposed_source(source)
    with io.TextIOWrapper(opened(output), encoding="ascii", newline="\n") as stream:
        stream.write(json.dumps(beside(source))[:-1] + ', "traceEvents": [')
        first = True
        for text in _joined(events_of(source, dropped)):
            stream.write("\n" if first else ",\n")
            stream.write(text)
            first = False
        stream.write("\n]}\n")
    return dropped


def beside(source: Source) -> dict[str, Any]:
    """What stands beside the events."""
    trace = source.trace
    return {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": trace.origin_unix_ns,
        "distributedInfo": _job(trace),
        "otherData": {
            "tool": f"perfscope {perfscope.__version__}",
            "command": " ".join(trace.command),
            "world_size": trace.world_size,
            KEY: {**facts_of(source), PARTNERS: True},
        },
    }


def _job(trace: Trace) -> dict[str, Any]:
    """The ranks and process groups, as the profiler of PyTorch writes them."""
    groups = [
        {"pg_name": str(number), "pg_size": communicator.size, "ranks": list(communicator.members)}
        for number, communicator in enumerate(trace.communicators)
    ]
    job: dict[str, Any] = {"world_size": trace.world_size, "pg_count": len(groups)}
    if len(trace.ranks) == 1:
        job["rank"] = trace.ranks[0].number
    return {**job, "pg_config": groups}


def _joined(events: Iterator[str]) -> Iterator[str]:
    """Events as text, many at once."""
    block: list[str] = []
    for text in events:
        block.append(text)
        if len(block) >= FLUSH_EVENTS:
            yield ",\n".join(block)
            block.clear()
    if block:
        yield ",\n".join(block)


def events_of(source: Source, dropped: list[str]) -> Iterator[str]:
    """All events as JSON; what JSON has no words for is told in `dropped`."""
    for position in range(len(source.trace.ranks)):
        yield from rank_events(source, position)
        yield from kernel_events(source, position)
        yield from counter_events(source, position, dropped)
    yield from _messages(source)


def _messages(source: Source) -> Iterator[str]:
    """Arrows from the send to where the message had been received."""
    threads = message_threads(source)
    number = 0
    for block in MESSAGES.blocks(source):
        arrival = block["arrival_ns"]
        assert isinstance(arrival, Maybe)
        values = [np.asarray(block[name]).tolist() for name in _MESSAGE_COLUMNS]
        there = np.where(arrival.known, arrival.values, np.asarray(block["receive_t1_ns"])).tolist()
        for sender, start, receiver, posted, tag, size, end in zip(*values, there, strict=True):
            from_tid, to_tid = threads[0][number], threads[1][number]
            # an arrow ends inside the call, whose last nanosecond is before its end
            target = max(end - 1, posted)
            shared: Event = {"cat": "message", "name": "message", "id": number}
            yield event("s", sender, from_tid, start, shared, {"bytes": size, "tag": tag})
            yield event("f", receiver, to_tid, target, {**shared, "bp": "e"}, {})
            number += 1


TARGET = Target(
    "chrome",
    "one JSON file for ui.perfetto.dev and chrome://tracing",
    ".json",
    write,
    needs_events=True,
)
