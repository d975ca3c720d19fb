"""One event of many at a time that cannot be, in each format that keeps times as text or numbers.

Whatever the reader does with it, the others are read as if it were not there, or it is said first.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from perfscope.document.analysis import analysis
from perfscope.errors import UnreadableInputError
from perfscope.export import _perfetto_packets as proto
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace
from perfscope.trace.model import Trace
from tests.readers.xplane.profiles import MS_PS, PlaneWriter, space
from tests.support.trace_invariants import check_trace

BASE_S = 1_795_000_000
EVENTS = 40
Write = Callable[[Sequence[object]], bytes]
"""A file of events that begin at these numbers of ms after the first and last 5 ms each."""


def mprof(times: Sequence[object]) -> bytes:
    lines = ["CMDLINE python train.py"]
    for at in times:
        when = f"{BASE_S + at / 1e3:.6f}" if isinstance(at, int | float) else at
        lines.append(f"MEM 100.5 {when}")
    return "\n".join([*lines, ""]).encode()


def mprof_calls(times: Sequence[object]) -> bytes:
    lines = [f"MEM 100.5 {BASE_S + at / 100:.6f}" for at in range(EVENTS)]
    for at in times:
        when = f"{BASE_S + at / 1e3:.6f}" if isinstance(at, int | float) else at
        lines.append(f"FUNC train.step 100 {when} 101 {BASE_S + 0.5:.6f} 0")
    return "\n".join(["CMDLINE python train.py", *lines, ""]).encode()


def speedscope_events(times: Sequence[object]) -> bytes:
    events = []
    for at in times:
        later = at + 5 if isinstance(at, int | float) else at
        events += [
            {"type": "O", "frame": 0, "at": at},
            {"type": "C", "frame": 0, "at": later},
        ]
    return _speedscope({"type": "evented", "events": events, "startValue": 0, "endValue": 400})


def speedscope_samples(times: Sequence[object]) -> bytes:
    weights = [5 if isinstance(at, int) and 0 <= at < 10**6 else at for at in times]
    stacks = [[0] for _ in times]
    return _speedscope({"type": "sampled", "samples": stacks, "weights": weights})


def _speedscope(profile: dict[str, object]) -> bytes:
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": "train", "file": "train.py", "line": 3}]},
        "profiles": [{"name": "MainThread", "unit": "milliseconds", **profile}],
        "exporter": "py-spy@0.4.1",
    }
    return json.dumps(document).encode()


def horovod(times: Sequence[object]) -> bytes:
    start = {"start_time_since_epoch_in_micros": BASE_S * 10**6}
    told = [{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "t", **start}}]
    for at in times:
        for kind, later in (("B", 0), ("E", 5)):
            when = (at + later) * 1000 if isinstance(at, int | float) else at
            told.append({"ph": kind, "name": "NEGOTIATE_ALLREDUCE", "ts": when, "pid": 0})
            told[-1] |= {"tid": 0}
    return json.dumps(told).encode()


def perfetto(times: Sequence[object]) -> bytes:
    thread = proto.held(4, proto.whole(1, 7) + proto.whole(2, 7) + proto.text(5, "main"))
    parts = [proto.clocks(BASE_S * 10**9), proto.track(1, thread)]
    for at in times:
        begin = BASE_S * 10**9 + int(at * 10**6) if isinstance(at, int) else 0
        begin = min(begin, (1 << 64) - 10**7) % (1 << 64)
        parts.append(proto.event(proto.BEGIN, 1, begin, proto.text(23, "train_step")))
        parts.append(proto.event(proto.END, 1, (begin + 5 * 10**6) % (1 << 64)))
    return b"".join(parts)


def xplane(times: Sequence[object]) -> bytes:
    """Times are whole numbers of 64 bits: what is no number is one that overflows."""
    most = ((1 << 63) - 1) / MS_PS
    rows: list[tuple[str, float, float, Mapping[str, int]]] = [
        ("train_step", min(at, most) if isinstance(at, int) else most, 5.0, {}) for at in times
    ]
    return space(PlaneWriter("/host:CPU").line("python", rows, BASE_S * 10**9))


FORMATS: Sequence[Write] = (
    xplane,
    mprof,
    mprof_calls,
    speedscope_events,
    speedscope_samples,
    horovod,
    perfetto,
)
ODD = {
    "not a number": float("nan"),
    "without end": float("inf"),
    "long before": -(10**12),
    "long after": 10**12,
    "of another unit": 10**9,
    "beyond all numbers": 10**300,
    "a text": "x",
}


CASES = [
    (write, odd)
    for write in FORMATS
    for odd in ODD
    # a sample may stand for any length of time
    if (write, odd) != (speedscope_samples, "of another unit")
]


@pytest.mark.parametrize(("write", "odd"), CASES, ids=lambda part: getattr(part, "__name__", part))
def test_one_time_that_cannot_be_spoils_no_other(tmp_path: Path, write: Write, odd: str) -> None:
    sound = [10 * at for at in range(EVENTS)]
    path = tmp_path / "file"
    path.write_bytes(write(sound))
    expected = open_trace(path)
    path.write_bytes(write([*sound[:20], ODD[odd], *sound[21:]]))
    trace = opened(path)
    if isinstance(trace, UnreadableInputError):
        assert all(trace.lines())
        return
    check_trace(trace)
    document = analysis(trace, Options())
    assert document["metrics"]["parallel_efficiency"]["value"] is None
    if "far outside of all others" in document["verdict"]["sentence"]:
        return
    assert len(trace.notes) > len(expected.notes)
    assert trace.wall_ns <= 1.1 * expected.wall_ns


def opened(path: Path) -> Trace | UnreadableInputError:
    try:
        return open_trace(path)
    except UnreadableInputError as error:
        return error
