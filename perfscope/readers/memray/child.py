"""Reads one capture with memray's own library, in a process of its own.

`python -I -m perfscope.readers.memray.child CAPTURE`: what is read comes from anybody, and the
library is compiled code. It prints a JSON document with what `reader` takes from it.
"""

import json
import resource
import sys
from collections.abc import Iterable
from typing import Any

from perfscope.memory import memory_left_bytes
from perfscope.output import say_json

LEAST_ADDRESS_BYTES, MOST_ADDRESS_BYTES = 2 << 30, 64 << 30
"""What this process may map: what memory is left, between these."""
MOST_PLACES, MOST_FRAMES, MOST_SNAPSHOTS = 200, 32, 20_000


def reduced(path: str) -> dict[str, Any]:
    """What a capture tells, reduced to its largest places.

    Raises:
        OSError: it is no capture, or one of another version.
    """
    from memray import FileReader  # noqa: PLC0415 - not everybody has it

    reader = FileReader(path)
    told = reader.metadata
    snapshots = [[one.time, one.rss, one.heap] for one in reader.get_memory_snapshots()]
    return {
        "pid": told.pid,
        "command": told.command_line,
        "begin_ms": round(told.start_time.timestamp() * 1000),
        "end_ms": round(told.end_time.timestamp() * 1000),
        "allocations": told.total_allocations,
        "peak_bytes": told.peak_memory,
        "snapshots": snapshots[:: -(-len(snapshots) // MOST_SNAPSHOTS) or 1],
        "peak": _places(reader.get_high_watermark_allocation_records(merge_threads=True)),
        "left": _places(reader.get_leaked_allocation_records(merge_threads=True)),
    }


def _places(records: Iterable[Any]) -> dict[str, Any]:
    found = sorted(records, key=lambda one: -one.size)
    return {
        "bytes": sum(one.size for one in found),
        "count": sum(one.n_allocations for one in found),
        "places": [
            {"bytes": one.size, "count": one.n_allocations, "stack": _stack(one)}
            for one in found[:MOST_PLACES]
        ],
    }


def _stack(record: Any) -> list[list[str | int]]:
    frames = record.stack_trace(max_stacks=MOST_FRAMES)
    return [[name, file, line] for name, file, line in frames]


def main() -> None:
    """Writes the result, or why there is none."""
    source = sys.argv[1]
    most_bytes = max(LEAST_ADDRESS_BYTES, min(MOST_ADDRESS_BYTES, memory_left_bytes()))
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        result = reduced(source)
    except ImportError:
        result = {"missing": True}
    except (OSError, ValueError, RuntimeError, MemoryError) as error:
        result = {"error": str(error)[:300]}
    say_json(json.dumps(result))


if __name__ == "__main__":
    main()
