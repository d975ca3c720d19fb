"""A picture as titled blocks of lines and tables, which terminal, page and file show alike."""

from collections.abc import Sequence

from perfscope.schema.common import Metric
from perfscope.structures import dataclass
from perfscope.units import (
    MISSING,
    counted,
    format_bytes,
    format_ratio,
    format_seconds,
    format_share,
)
from perfscope.watch.picture import ASLEEP, COMPUTING, HostMemory, Pending, Picture, RankNow

MOST_RANKS = 32
MOST_PENDING = 8
MOST_NAMED = 12
SILENT_S = 5.0
"""So long without a sign of life is worth a word: signs come several times a second."""
Row = tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """A part of the picture."""

    title: str  # what it is about, "" for the head
    lines: Sequence[str] = ()  # sentences
    heads: Row = ()  # of the columns of its table
    rows: Sequence[Row] = ()  # of its table
    is_loud: bool = False  # whether it tells of trouble


def blocks(picture: Picture, *, stall_s: float, all_ranks: bool = False) -> list[Block]:
    """What is shown of a picture, the most important first.

    The job is called stalled after `stall_s` without progress of any rank.
    """
    if picture.starting:
        return [_head(picture)]
    found = [_head(picture), _stall(picture, stall_s), _progress(picture), _late(picture)]
    found += [_pending(picture), _ranks(picture, None if all_ranks else MOST_RANKS)]
    found += [_memory(picture), _gpus(picture)]
    return [block for block in found if block.lines or block.rows]


def _head(picture: Picture) -> Block:
    state = "running"
    if picture.exit_code is not None:
        state = f"over, exit code {picture.exit_code}"
    elif picture.is_over:
        state = "over"
    elif picture.age_s > SILENT_S:
        state = f"no sign of life for {format_seconds(picture.age_s)}"
    hosts = len({rank.host for rank in picture.ranks})
    head = f"{picture.source}: {picture.command}"
    if picture.starting:
        processes = counted(picture.starting, "process", "processes")
        where = f"{processes} on {counted(hosts, 'host')}"
        line = f"{where}, in MPI_Init: none has been told its rank yet"
        return Block("", [head, line])
    there = len(picture.ranks)
    of_all = "" if there == picture.world_size else f" of {picture.world_size}"
    ranks = f"{there}{of_all} rank{'' if picture.world_size == 1 else 's'}"
    line = f"{ranks} on {counted(hosts, 'host')}, {state}, {format_seconds(picture.running_s)}"
    return Block("", [head, line])


def _stall(picture: Picture, stall_s: float) -> Block:
    if picture.is_over or picture.stalled_s < stall_s:
        return Block("")
    last = "" if picture.steps is None else f" The last step of all was {picture.steps.last}."
    lines = [f"No rank has made progress for {format_seconds(picture.stalled_s)}.{last}"]
    lines += [_why(one, picture) for one in picture.pending if one.missing or one.is_mismatch]
    return Block("Stalled", lines, is_loud=True)


def _why(pending: Pending, picture: Picture) -> str:
    """Who holds up a collective, and what they do instead."""
    what = f"{pending.operation} #{pending.ordinal} on {pending.communicator}"
    if pending.is_mismatch:
        return f"{what}: its members called different operations, which can never end."
    absent = [rank for rank in picture.ranks if rank.number in pending.missing]
    told = [f"rank {rank.number} is in {_doing(rank)}" for rank in absent[:3]]
    unknown = sorted(set(pending.missing) - {rank.number for rank in absent})
    if unknown:
        told.append(f"{_named(unknown)} left no recording")
    more = len(absent) - len(told[:3])
    if more > 0:
        told.append(f"{more} more")
    wait = "waits" if len(pending.inside) == 1 else "wait"
    who = f"{_named(pending.inside)} {wait} for {_named(pending.missing)}"
    return f"{what}: {who}; {', '.join(told)}."


def _doing(rank: RankNow) -> str:
    if rank.has_ended:
        return f"its end: {rank.doing}"
    where = rank.place or "code without Python"
    if rank.doing == ASLEEP:
        return f"{where}, {ASLEEP}"
    return where if rank.doing == COMPUTING else f"{rank.doing}, called in {where}"


def _progress(picture: Picture) -> Block:
    window = f"last {format_seconds(picture.window_s)}"
    lines = []
    if picture.steps is not None:
        step = f"step {picture.steps.last}, {picture.steps.per_s:.3g} steps/s"
        samples = picture.steps.samples_per_s
        lines.append(step + (f", {samples:,.0f} samples/s" if samples is not None else ""))
    parts = [
        ("parallel efficiency", picture.parallel_efficiency),
        ("load balance", picture.load_balance),
        ("communication efficiency", picture.communication_efficiency),
    ]
    lines.append(", ".join(f"{name} {_ratio(metric)}" for name, metric in parts))
    if reason := picture.parallel_efficiency.reason:
        lines.append(f"No efficiency: {reason}")
    return Block(f"Progress ({window})", lines)


def _late(picture: Picture) -> Block:
    rows = [
        (str(one.rank), format_seconds(one.waiting_s), str(one.times), one.place or MISSING)
        for one in picture.late
    ]
    title = "Who is waited for"
    return Block(title, heads=("rank", "others waited", "times", "what it did"), rows=rows)


def _pending(picture: Picture) -> Block:
    rows = [
        (
            f"{one.operation} #{one.ordinal}",
            one.communicator,
            format_seconds(one.since_s),
            _named(one.inside),
            _named(one.missing) if one.missing else "nobody",
        )
        for one in picture.pending[:MOST_PENDING]
    ]
    heads = ("collective", "on", "since", "in it", "missing")
    return Block("Collectives under way", heads=heads, rows=rows)


def _ranks(picture: Picture, most: int | None) -> Block:
    # those that others wait for, and those that have been at it longest, come first
    waited_for = {number for one in picture.pending for number in one.missing}
    order = sorted(picture.ranks, key=lambda r: (r.number not in waited_for, -r.since_s, r.number))
    shown = sorted(order[:most], key=lambda rank: rank.number)
    rows = [
        (
            str(rank.number),
            _cell(rank),
            format_seconds(rank.since_s),
            rank.place or MISSING,
            MISSING if rank.step is None else str(rank.step),
            format_bytes(rank.memory_bytes),
        )
        for rank in shown
    ]
    left = len(picture.ranks) - len(shown)
    lines = [f"{left} more ranks are not shown; these are waited for, or longest at it."]
    heads = ("rank", "now", "for", "line", "step", "memory")
    return Block("Ranks", lines if left else (), heads=heads, rows=rows)


def _cell(rank: RankNow) -> str:
    if rank.has_ended:
        return rank.doing
    silent = f" (no sign of life: {format_seconds(rank.silent_s)})"
    unsure = " (or in a call: --max-size is reached)" if rank.lacks_detail else ""
    return rank.doing + unsure + (silent if rank.silent_s > SILENT_S else "")


def _memory(picture: Picture) -> Block:
    rows = [
        (
            host.host,
            format_bytes(host.held_bytes),
            format_bytes(host.room_bytes),
            host.limit or MISSING,
            _pace(host),
            MISSING if host.left_s is None else format_seconds(host.left_s),
        )
        for host in picture.memory
    ]
    heads = ("host", "ranks hold", "room left", "set by", "steady growth", "full in")
    return Block("Memory", heads=heads, rows=rows)


def _pace(host: HostMemory) -> str:
    pace = host.growth_bytes_per_s
    return f"{format_bytes(pace)}/s" if pace > 0 else "none"


def _gpus(picture: Picture) -> Block:
    rows = [
        (
            one.host,
            one.name or MISSING,
            format_share(one.idle),
            format_bytes(one.memory_bytes),
            _named(one.ranks) if one.ranks else MISSING,
        )
        for one in picture.gpus
    ]
    return Block("GPUs", heads=("host", "GPU", "idle", "memory", "used by"), rows=rows)


def _named(numbers: Sequence[int]) -> str:
    """Ranks by number, in runs: `ranks 0-3, 7`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in runs[:MOST_NAMED]]
    more = ", ..." if len(runs) > MOST_NAMED else ""
    return f"rank{'' if len(numbers) == 1 else 's'} {', '.join(shown)}{more}"


def _ratio(metric: Metric) -> str:
    return format_ratio(metric.value)
