"""Where each rank is, and when it last got on."""

from collections.abc import Iterator

import numpy as np

from perfscope import places
from perfscope.arrays import Ints
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.schema.enums import EndKind
from perfscope.standstill.calls import open_call, peers_of, told
from perfscope.standstill.now import ASLEEP, COMPUTING, RankNow
from perfscope.trace.model import Ending, Frame, Rank, RowFlag, Table, Trace, open_rows
from perfscope.trace.operations import OperationClass, codes_mask

_POLLS = codes_mask([OperationClass.TEST, OperationClass.CONTROL])
"""Calls that ask whether there is anything to do, again and again where there is not."""


def ranks_now(trace: Trace, now_ns: int, user_frames: Ints) -> list[RankNow]:
    """What every rank does at a moment.

    The trace is as it was read: its stacks are those that were sampled. `user_frames` has by stack
    the frame that stands for it.
    """
    return [_rank_now(trace, rank, now_ns, user_frames) for rank in trace.ranks]


def _rank_now(trace: Trace, rank: Rank, now_ns: int, user_frames: Ints) -> RankNow:
    has_ended = rank.ending.kind is not EndKind.UNKNOWN
    call = None if has_ended else open_call(rank)
    seen = rank.main_stacks
    last = int(seen["stack"][-1]) if len(seen) else -1
    since_ns = progress_ns(rank)
    doing = ASLEEP if is_asleep(rank, since_ns) else COMPUTING
    if has_ended:
        doing, since_ns = _ended(rank.ending), rank.end_ns
    elif call is not None:
        doing, since_ns = told(trace, call), int(call["t0"])
    sampled = None if last < 0 else (now_ns - int(seen["t"][-1])) / 1e9
    return RankNow(
        number=rank.number,
        host=rank.host,
        pid=rank.pid,
        doing=doing,
        since_s=max(0.0, (now_ns - since_ns) / 1e9),
        place="" if last < 0 or has_ended else place_of(trace.frames[int(user_frames[last])]),
        stack=tuple(place_of(trace.frames[level]) for level in trace.stacks[last])
        if last >= 0
        else (),
        sampled_s=sampled,
        step=int(rank.steps["number"][-1]) if len(rank.steps) else None,
        memory_bytes=_latest(rank.process_samples, "rss_bytes"),
        silent_s=max(0.0, (now_ns - rank.end_ns) / 1e9),
        has_ended=has_ended,
        lacks_detail=rank.detail_end_ns is not None and call is None,
        awaits=() if call is None else peers_of(rank, call),
        phase="" if has_ended else open_phase(trace, rank),
    )


def open_phase(trace: Trace, rank: Rank) -> str:
    """The innermost phase that the main thread is in by its name, "" none."""
    rows = rank.phases
    found = rows[open_rows(rows["flags"])]
    found = found[found["tid"] == rank.main_tid]
    names = [trace.names[int(row["name"])] for row in found if row["name"] >= 0]
    return names[-1] if names else ""


def is_asleep(rank: Rank, since_ns: int) -> bool:
    """Whether the main thread neither had a CPU nor waited for one, most of the time since then."""
    rows = rank.main_samples[rank.main_samples["t"] >= since_ns]
    if len(rows) < FEWEST_SAMPLES:
        return False
    first, last = rows[0], rows[-1]
    wanted_ns = sum(int(last[name]) - int(first[name]) for name in ("cpu_ns", "queue_delay_ns"))
    return wanted_ns < (1.0 - MAIN) * (int(last["t"]) - int(first["t"]))


def progress_ns(rank: Rank) -> int:
    """When the rank last finished or began anything but a look whether something has come.

    What Horovod's thread exchanges all the time to learn what is ready is such a look.
    """
    return max(_last(times) for times in moments_of(rank))


def moments_of(rank: Rank) -> Iterator[Ints]:
    """When the rank finished or began anything that counts as progress, in no order."""
    calls = rank.operations[~_POLLS[rank.operations["op"]]]
    background = rank.background[~_POLLS[rank.background["op"]]]
    yield np.array([rank.start_ns])
    for table in (calls, background, rank.phases, rank.steps, rank.completions):
        yield table["t0"]
        if "flags" in (table.dtype.names or ()):
            yield table["t1"][(table["flags"] & RowFlag.OPEN) == 0]
        else:
            yield table["t1"]
    yield rank.metrics["t"]


def place_of(frame: Frame) -> str:
    """A frame as `function() (file:line)`."""
    return places.place(frame.function, frame.file, frame.line)


def _ended(ending: Ending) -> str:
    code = "" if ending.code is None else f" ({ending.code})"
    return f"{ending.kind.value.replace('_', ' ')}{code}"


def _last(times: Ints) -> int:
    return int(times.max()) if len(times) else 0


def _latest(table: Table, column: str) -> int | None:
    return int(table[column][-1]) if len(table) else None
