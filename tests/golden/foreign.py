"""Small traces of other tools, written by hand: two ranks, four steps, rank 1 computes longer."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.support.otf2_archives import ArchiveWriter
from tests.support.write_kineto import KinetoWriter

RANKS, STEPS = 2, 4
STEP_US = 100_000
WORK_US = (40_000, 70_000)  # of each rank in a step; then both meet, for 5 ms
MEET_US = 5_000
US = 1_000


def kineto(place: Path) -> None:
    """Profiles of PyTorch with kernels, copies and collectives of NCCL."""
    folder = place / "input"
    folder.mkdir()
    for rank in range(RANKS):
        writer = KinetoWriter(rank=rank, world_size=RANKS, pid=4000 + rank, device=rank)
        end = (max(WORK_US) + MEET_US) * US
        for step in range(STEPS):
            start = step * STEP_US * US
            writer.step(step, start, start + STEP_US * US)
            launch = start + 1_000 * US
            copied, computed = start + 5_000 * US, start + WORK_US[rank] * US
            writer.kernel(
                "Memcpy HtoD", launch + 500 * US, copied, launch=launch, category="gpu_memcpy"
            )
            writer.kernel("sgemm_128x64", copied, computed, launch=launch + 10 * US)
            writer.allreduce(computed, start + end, launch=launch + 20 * US)
        writer.write(folder / f"rank{rank}.pt.trace.json")


def otf2(place: Path) -> None:
    """An archive of Score-P's kind: functions, an allreduce a step, a stream of a GPU."""
    writer = ArchiveWriter(place / "input")
    world = writer.ranks(RANKS)
    train, allreduce = writer.region("train_step"), writer.region("MPI_Allreduce", paradigm=4)
    kernel = writer.region("sgemm", paradigm=5)
    for rank in range(RANKS):
        writer.location(10 + rank, f"CUDA[{rank}:7]", rank, kind=2)
        for step in range(STEPS):
            start = step * STEP_US * US
            work, end = start + WORK_US[rank] * US, start + (max(WORK_US) + MEET_US) * US
            writer.event(rank, "Enter", start, train)
            writer.event(10 + rank, "Enter", start + 5_000 * US, kernel)
            writer.event(10 + rank, "Leave", work, kernel)
            writer.event(rank, "Enter", work, allreduce)
            writer.event(rank, "MpiCollectiveBegin", work)
            writer.event(rank, "MpiCollectiveEnd", end, 11, world, 0xFFFFFFFF, 1000, 1000)
            writer.event(rank, "Leave", end, allreduce)
            writer.event(rank, "Leave", start + STEP_US * US, train)
    writer.close()


def paraver(place: Path) -> None:
    """A trace of Extrae's kind: an allreduce a step."""
    _prv(place / "input", WORK_US)


def paraver_of_two_sizes(place: Path) -> None:
    """The same steps on one rank and on two, each a run of its own."""
    (place / "runs").mkdir()
    _prv(place / "runs" / "1", (sum(WORK_US),))
    _prv(place / "runs" / "2", WORK_US)


def _prv(folder: Path, work_us: Sequence[int]) -> None:
    """Steps of `work_us` on each rank, which all meet before the next begins."""
    step_us = max(work_us) + 2 * MEET_US
    length, tasks = STEPS * step_us, ",".join(["1:1"] * len(work_us))
    members = ":".join(str(rank + 1) for rank in range(len(work_us)))
    lines = [
        f"#Paraver (01/02/2024 at 10:00):{length}000_ns:1(4):1:{len(work_us)}({tasks}),1",
        f"c:1:1:{len(work_us)}:{members}",
    ]
    rows: list[tuple[int, str]] = []
    for rank, work in enumerate(work_us):
        who = f"{rank + 1}:1:{rank + 1}:1"
        for step in range(STEPS):
            start = step * step_us
            enter, leave = start + work, start + max(work_us) + MEET_US
            rows.append((start, f"1:{who}:{start}000:{enter}000:1"))
            collective = "50000002:10:50100001:1000:50100002:1000:50100004:1"
            rows.append((enter, f"2:{who}:{enter}000:{collective}"))
            rows.append((enter, f"1:{who}:{enter}000:{leave}000:9"))
            rows.append((leave, f"2:{who}:{leave}000:50000002:0"))
            rows.append((leave, f"1:{who}:{leave}000:{start + step_us}000:1"))
    lines += [text for _, text in sorted(rows, key=lambda row: row[0])]
    folder.mkdir()
    (folder / "job.prv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def horovod(place: Path) -> None:
    """A timeline of rank 0: one tensor, negotiated and reduced in each step."""
    epoch = {"start_time_since_epoch_in_micros": 1_790_000_000_000_000}
    events: list[dict[str, object]] = [
        {"name": "process_name", "ph": "M", "pid": 0, "args": epoch},
        {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "gradient"}},
    ]
    for step in range(STEPS):
        start, ready = step * STEP_US + min(WORK_US), step * STEP_US + max(WORK_US)
        events.append({"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": start, "pid": 1})
        for rank, work in enumerate(WORK_US):
            moment = step * STEP_US + work
            events.append({"ph": "X", "name": str(rank), "ts": moment, "dur": 0, "pid": 1})
        events.append({"ph": "E", "ts": ready, "pid": 1})
        events.append({"ph": "B", "name": "ALLREDUCE", "ts": ready, "pid": 1})
        events.append({"ph": "B", "name": "MPI_ALLREDUCE", "ts": ready + 100, "pid": 1})
        events.append({"ph": "E", "ts": ready + MEET_US - 100, "pid": 1})
        events.append({"ph": "E", "ts": ready + MEET_US, "pid": 1})
    (place / "input").mkdir()
    text = json.dumps(events)
    (place / "input" / "timeline.json").write_text(text, encoding="utf-8")


WRITERS: dict[str, Callable[[Path], None]] = {
    "horovod-timeline": horovod,
    "kineto": kineto,
    "otf2": otf2,
    "paraver": paraver,
}
