"""Where each rank is, when it last got on, and in which collectives ranks wait for others."""

from collections.abc import Sequence

import numpy as np

from perfscope import places
from perfscope.arrays import Ints
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.matching.codes import NONBLOCKING_CODES
from perfscope.schema.enums import EndKind
from perfscope.trace.model import Communicator, Ending, Frame, Rank, RowFlag, Table, Trace
from perfscope.trace.operations import IS_COLLECTIVE, OperationClass, codes_mask, name_of
from perfscope.watch.picture import ASLEEP, COMPUTING, Pending, RankNow

_POLLS = codes_mask([OperationClass.TEST])
_WAITS = codes_mask([OperationClass.WAIT])
_MOST_MEMBERS = 8


def ranks_now(trace: Trace, now_ns: int, user_frames: Ints) -> list[RankNow]:
    """What every rank does at a moment.

    `user_frames` has by stack of the trace the frame that stands for it.
    """
    return [_rank_now(trace, rank, now_ns, user_frames) for rank in trace.ranks]


def _rank_now(trace: Trace, rank: Rank, now_ns: int, user_frames: Ints) -> RankNow:
    has_ended = rank.ending.kind is not EndKind.UNKNOWN
    call = None if has_ended else open_call(rank)
    seen = rank.main_stacks
    last = int(seen["stack"][-1]) if len(seen) else -1
    since_ns = progress_ns(rank)
    doing = ASLEEP if _is_asleep(rank, since_ns) else COMPUTING
    if has_ended:
        doing, since_ns = _ended(rank.ending), rank.end_ns
    elif call is not None:
        doing, since_ns = _told(trace, call), int(call["t0"])
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
    )


def _is_asleep(rank: Rank, since_ns: int) -> bool:
    """Whether the main thread neither had a CPU nor waited for one, most of the time since then."""
    rows = rank.main_samples[rank.main_samples["t"] >= since_ns]
    if len(rows) < FEWEST_SAMPLES:
        return False
    first, last = rows[0], rows[-1]
    wanted_ns = sum(int(last[name]) - int(first[name]) for name in ("cpu_ns", "queue_delay_ns"))
    return wanted_ns < (1.0 - MAIN) * (int(last["t"]) - int(first["t"]))


def open_call(rank: Rank) -> np.void | None:
    """The call that the main thread is in, None outside any."""
    rows = rank.operations
    found = rows[((rows["flags"] & RowFlag.OPEN) != 0) & (rows["tid"] == rank.main_tid)]
    return found[-1] if len(found) else None


def progress_ns(rank: Rank) -> int:
    """When the rank last finished or began anything but a look whether something has come."""
    calls = rank.operations[~_POLLS[rank.operations["op"]]]
    background = rank.background[~_POLLS[rank.background["op"]]]
    moments = [rank.start_ns]
    for table in (calls, background, rank.phases, rank.steps, rank.completions):
        moments.append(_last(table["t0"]))
        if "flags" in (table.dtype.names or ()):
            moments.append(_last(table["t1"][(table["flags"] & RowFlag.OPEN) == 0]))
        else:
            moments.append(_last(table["t1"]))
    moments.append(_last(rank.metrics["t"]))
    return max(moments)


def pending_collectives(trace: Trace, now_ns: int) -> list[Pending]:
    """The collectives that ranks are in, and which members have yet to come, longest first."""
    inside: dict[tuple[int, int], list[tuple[int, np.void]]] = {}
    for rank in trace.ranks:
        call = None if rank.ending.kind is not EndKind.UNKNOWN else _waited_for(rank)
        if call is not None and IS_COLLECTIVE[int(call["op"])] and call["comm"] >= 0 <= call["seq"]:
            key = int(call["comm"]), int(call["seq"])
            inside.setdefault(key, []).append((rank.number, call))
    found = []
    by_number = {rank.number: rank for rank in trace.ranks}
    for (comm, seq), callers in inside.items():
        names = sorted({name_of(int(call["op"])) for _, call in callers})
        present = {number for number, _ in callers}
        since_ns = min(int(call["t0"]) for _, call in callers)
        one = Pending(
            operation=" and ".join(names),
            communicator=communicator_name(trace.communicators, comm),
            ordinal=seq,
            inside=tuple(sorted(present)),
            missing=tuple(
                member
                for member in trace.communicators[comm].members
                if member not in present and not _has_called(by_number.get(member), comm, seq)
            ),
            since_s=max(0.0, (now_ns - since_ns) / 1e9),
            is_mismatch=len(names) > 1,
        )
        found.append(one)
    return sorted(found, key=lambda one: -one.since_s)


def _has_called(rank: Rank | None, comm: int, seq: int) -> bool:
    """Whether a rank has come to a collective, or to a later one of that communicator.

    Who only gives to a root is through with it while others still wait.
    """
    if rank is None:
        return False
    tables = (rank.operations, rank.background)
    return any(bool(np.any((rows["comm"] == comm) & (rows["seq"] >= seq))) for rows in tables)


def _waited_for(rank: Rank) -> np.void | None:
    """The call that the rank waits in; of a wait the oldest nonblocking collective under way."""
    call = open_call(rank)
    if call is None or not _WAITS[int(call["op"])]:
        return call
    started = rank.operations[NONBLOCKING_CODES[rank.operations["op"]]]
    going_on = started[~np.isin(started["request"], rank.completions["request"])]
    return going_on[0] if len(going_on) else call


def communicator_name(communicators: Sequence[Communicator], index: int) -> str:
    """What a communicator is called: by number, and by its members where they are not all."""
    if index == 0:
        return "MPI_COMM_WORLD"
    members = communicators[index].members
    if len(members) == len(communicators[0].members):
        return f"communicator {index} (all ranks)"
    shown = ", ".join(map(str, members[:_MOST_MEMBERS]))
    more = ", ..." if len(members) > _MOST_MEMBERS else ""
    return f"communicator {index} (ranks {shown}{more})"


def place_of(frame: Frame) -> str:
    """A frame as `function() (file:line)`."""
    return places.place(frame.function, frame.file, frame.line)


def _told(trace: Trace, call: np.void) -> str:
    """A call with what it waits for: its communicator and ordinal, or its peer and tag."""
    name, comm = name_of(int(call["op"])), int(call["comm"])
    if IS_COLLECTIVE[int(call["op"])] and comm >= 0 and call["seq"] >= 0:
        return f"{name} #{int(call['seq'])} on {communicator_name(trace.communicators, comm)}"
    if call["peer"] >= 0:
        tag = f", tag {int(call['tag'])}" if call["tag"] >= 0 else ""
        return f"{name} (rank {int(call['peer'])}{tag})"
    return name


def _ended(ending: Ending) -> str:
    code = "" if ending.code is None else f" ({ending.code})"
    return f"{ending.kind.value.replace('_', ' ')}{code}"


def _last(times: Ints) -> int:
    return int(times.max()) if len(times) else 0


def _latest(table: Table, column: str) -> int | None:
    return int(table[column][-1]) if len(table) else None
