"""Files that do not belong together, of formats whose files do not say which rank wrote them.

Copies, several runs, other numbers of ranks, other units, kernels before their launch: each is
said, and nothing of it counts twice or among figures that it spoils.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from perfscope.document.analysis import analysis
from perfscope.errors import UnreadableInputError
from perfscope.export import _perfetto_packets as proto
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_traces
from tests.readers.xplane import profiles
from tests.support.trace_invariants import check_trace

SECOND = 10**9
MS = 10**6
BASE = 1_795_000_000 * SECOND
DAY = 86400 * SECOND
EVENTS = 20


class Run(NamedTuple):
    """What differs between two files."""

    begin_ns: int = BASE
    pid: int = 7  # or number of the host
    ranks: int = 2
    unit: int = 1  # so many times too short
    launch_ms: float = 1  # after the begin of a step; the kernel begins after 3


def perfetto(run: Run) -> bytes:
    """As rocprofv3 writes it: steps of 10 ms with a kernel each."""

    def slices(track: int, kind: str, name: str, begin: int, length: int, **facts: int) -> bytes:
        told = proto.text(22, kind) + proto.text(23, name)
        told += b"".join(proto.annotation(*fact) for fact in facts.items())
        end = begin + length // run.unit
        return proto.event(proto.BEGIN, track, begin, told) + proto.event(proto.END, track, end)

    thread = proto.held(
        4, proto.whole(1, run.pid) + proto.whole(2, run.pid) + proto.text(5, "main")
    )
    parts = [proto.clocks(run.begin_ns), proto.track(1, thread)]
    parts.append(proto.track(2, proto.text(2, "AGENT [2]")))
    for number in range(EVENTS):
        step, of_kernel = run.begin_ns + number * 10 * MS // run.unit, {"agent": 4, "queue": 1}
        launch = step + int(run.launch_ms * MS) // run.unit
        kernel = step + 3 * MS // run.unit
        parts += [
            slices(1, "marker_api", "train_step", step, 9 * MS),
            slices(1, "hip_api", "hipLaunchKernel", launch, MS // 10, corr_id=number + 1),
            slices(2, "kernel_dispatch", "gemm", kernel, 2 * MS, corr_id=number + 1, **of_kernel),
        ]
    return b"".join(parts)


def xplane(run: Run) -> bytes:
    """As JAX writes it, one file for each host."""
    rows: list[Any] = []
    kernels: list[Any] = []
    for number in range(EVENTS):
        at, told = 10.0 * number, {"correlation_id": number + 1}
        rows += [
            ("train", at / run.unit, 9.0 / run.unit, {"step_num": number, "_r": 1}),
            ("cuLaunchKernel", (at + run.launch_ms) / run.unit, 0.1 / run.unit, told),
        ]
        kernels.append(("gemm", (at + 3) / run.unit, 2.0 / run.unit, told))
    host = profiles.PlaneWriter("/host:CPU").line("python", rows)
    device = profiles.PlaneWriter("/device:GPU:1").line("Stream #14(Compute)", kernels)
    told = {"profile_start_time": run.begin_ns}
    environment = profiles.PlaneWriter("Task Environment", told=told)
    planes = b"".join(profiles.part(1, one.content()) for one in (host, device, environment))
    return planes + profiles.part(4, f"node{run.pid}")


def horovod(run: Run) -> bytes:
    """As rank 0 writes it: a tensor that is summed over the ranks."""
    start = {"start_time_since_epoch_in_micros": run.begin_ns // 1000}
    told: list[Any] = [
        {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "t", **start}}
    ]
    for number in range(EVENTS):
        at = 10_000 * number // run.unit
        told.append({"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": at, "pid": 0})
        told += [
            {"ph": "X", "name": str(rank), "ts": at + rank, "dur": 0, "pid": 0}
            for rank in range(run.ranks)
        ]
        told += [{"ph": "E", "ts": at + 3000 // run.unit, "pid": 0}]
        told += [{"ph": "B", "name": "ALLREDUCE", "ts": at + 3000 // run.unit, "pid": 0}]
        told += [{"ph": "E", "ts": at + 8000 // run.unit, "pid": 0}]
    return json.dumps(told).encode()


def mprof(run: Run) -> bytes:
    """As mprof writes it."""
    lines = [f"CMDLINE python train.py {run.pid}"]
    for number in range(EVENTS):
        at = run.begin_ns / SECOND + number / 100 / run.unit
        lines.append(f"MEM {100 + number:.1f} {at:.4f}")
    return "\n".join([*lines, ""]).encode()


Write = Callable[[Run], bytes]
SAME, LATER, OTHER = Run(), Run(begin_ns=BASE + DAY), Run(pid=8)
COPY, ASIDE = "it tells the same as", "left aside"
TWO_RUNS, UNITS = "of 2 runs", "in different units"
BEFORE = "before the call that launched them"
TABLE: Sequence[tuple[Write, Run, str]] = (
    (perfetto, SAME, COPY),
    (perfetto, LATER, ASIDE),
    (perfetto, LATER._replace(pid=8), TWO_RUNS),
    (perfetto, OTHER._replace(unit=1000), UNITS),
    (perfetto, OTHER._replace(launch_ms=5), BEFORE),
    (xplane, SAME, COPY),
    (xplane, LATER, ASIDE),
    (xplane, LATER._replace(pid=8), TWO_RUNS),
    (xplane, OTHER._replace(unit=1000), UNITS),
    (xplane, OTHER._replace(launch_ms=5), BEFORE),
    (horovod, SAME, ASIDE),
    (horovod, LATER, ASIDE),
    (horovod, Run(ranks=3), ASIDE),
    (horovod, Run(unit=1000), ASIDE),
    (mprof, OTHER, ASIDE),
    (mprof, LATER, ASIDE),
)


def said(paths: Sequence[Path]) -> tuple[str, dict[str, Any] | None]:
    """What is said of the files, and what comes of them; nothing where they are refused."""
    try:
        trace = open_traces(paths)
    except UnreadableInputError as error:
        return " ".join(error.lines()), None
    check_trace(trace)
    found = analysis(trace, Options())
    return " ".join([found["verdict"]["sentence"], *trace.notes]), found


@pytest.mark.parametrize(
    ("write", "other", "words"),
    TABLE,
    ids=[f"{write.__name__}-{place}" for place, (write, *_) in enumerate(TABLE)],
)
def test_what_does_not_belong_together_is_said_and_does_not_count(
    tmp_path: Path, write: Write, other: Run, words: str
) -> None:
    paths = [tmp_path / name for name in ("a", "b")]
    for path, run in zip(paths, (SAME, other), strict=True):
        path.write_bytes(write(run))
    text, found = said(paths)
    assert words in text
    if words == TWO_RUNS:
        assert found is None
        return
    assert found is not None
    assert found["metrics"]["parallel_efficiency"]["value"] is None
    if words in (UNITS, BEFORE):
        assert found["devices"]["value"] is None
        return
    _, alone = said(paths[:1])
    assert alone is not None
    for part in ("run", "metrics", "devices"):
        without = [{**one[part], "source": "", "damage": []} for one in (found, alone)]
        assert without[0] == without[1]


@pytest.mark.parametrize("write", [perfetto, xplane, horovod, mprof])
@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_a_cut_file_beside_a_whole_one_is_said(tmp_path: Path, write: Write, share: float) -> None:
    """Of those that are read up to the cut, it is another recording of the same time."""
    (tmp_path / "a").write_bytes(write(SAME))
    content = write(OTHER)
    (tmp_path / "b").write_bytes(content[: int(share * len(content))])
    text, _ = said([tmp_path / "a", tmp_path / "b"])
    assert str(tmp_path / "b") in text


@pytest.mark.parametrize("later", [mprof, horovod])
def test_a_file_of_another_tool_and_day_is_left_aside(tmp_path: Path, later: Write) -> None:
    (tmp_path / "a").write_bytes(xplane(SAME))
    (tmp_path / "b").write_bytes(later(LATER))
    text, found = said([tmp_path / "a", tmp_path / "b"])
    assert found is not None
    assert str(tmp_path / "b") in text
    assert ASIDE in text
