"""A picture as titled blocks of lines and tables, which terminal, page and file show alike."""

from collections.abc import Sequence

from perfscope.standstill.now import RankNow
from perfscope.standstill.reasons import SILENT_S, in_start, named, reasons, silence
from perfscope.structures import dataclass
from perfscope.units import (
    MISSING,
    counted,
    format_bytes,
    format_ratio,
    format_seconds,
    format_share,
)
from perfscope.watch.picture import HostMemory, Picture, ProcessNow

Row = tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """A part of the picture."""

    title: str  # what it is about, "" for the head
    lines: Sequence[str] = ()  # sentences
    heads: Row = ()  # of the columns of its table
    rows: Sequence[Row] = ()  # of its table
    is_loud: bool = False  # whether it tells of trouble


MOST_RANKS = 32
MOST_PENDING = 8


def blocks(picture: Picture, *, stall_s: float, all_ranks: bool = False) -> list[Block]:
    """What is shown of a picture, the most important first.

    The job is called stalled after `stall_s` without progress of any rank.
    """
    found = [_head(picture), stalled(picture, stall_s)]
    if picture.ranks and not picture.starting:
        found += [_progress(picture), _late(picture), _pending(picture)]
        found += [_ranks(picture, None if all_ranks else MOST_RANKS)]
        found += [_memory(picture), _gpus(picture)]
    found.append(processes(picture.processes))
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
    if not picture.ranks:
        how_long = format_seconds(picture.running_s)
        return Block("", [head, f"nothing is recorded yet, running, {how_long}"])
    if picture.starting:
        seen = counted(picture.starting, "process", "processes")
        asked = picture.asked_for or 0
        of_all = f" of {asked}" if asked > picture.starting else ""
        where = f"{seen}{of_all} on {counted(hosts, 'host')}"
        line = f"{where}, in MPI_Init: none has been told its rank yet"
        return Block("", [head, line])
    there = len(picture.ranks)
    of_all = "" if there == picture.world_size else f" of {picture.world_size}"
    ranks = f"{there}{of_all} rank{'' if picture.world_size == 1 else 's'}"
    line = f"{ranks} on {counted(hosts, 'host')}, {state}, {format_seconds(picture.running_s)}"
    return Block("", [head, line])


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
    lines.append(", ".join(f"{name} {format_ratio(metric.value)}" for name, metric in parts))
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
            one.name,
            one.communicator,
            format_seconds(one.since_s),
            named(one.inside),
            named(one.missing) if one.missing else "nobody",
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


def processes(found: Sequence[ProcessNow]) -> Block:
    """What the kernel shows of the job's processes."""
    rows = [
        (str(one.pid), one.state, format_seconds(one.cpu_s), one.command or MISSING)
        for one in found
    ]
    title = "Processes of the job on this host"
    return Block(title, heads=("process", "state", "CPU time", "command"), rows=rows)


def _gpus(picture: Picture) -> Block:
    rows = [
        (
            one.host,
            one.name or MISSING,
            format_share(one.idle),
            format_bytes(one.memory_bytes),
            named(one.ranks) if one.ranks else MISSING,
        )
        for one in picture.gpus
    ]
    return Block("GPUs", heads=("host", "GPU", "idle", "memory", "used by"), rows=rows)


def stalled(picture: Picture, stall_s: float) -> Block:
    """What holds up a job in which nothing has begun or ended for so long; else empty."""
    if picture.is_over or picture.stalled_s < stall_s:
        return Block("")
    how_long = format_seconds(picture.stalled_s)
    if not picture.ranks:
        line = (
            f"After {how_long} nothing is recorded: no process of the job has called MPI or run "
            "Python."
        )
        return Block("Stalled", [line], is_loud=True)
    if picture.starting:
        lines = [
            f"No process has come out of MPI_Init for {how_long}.",
            in_start(picture.starting, picture.asked_for),
        ]
        return Block("Stalled", lines, is_loud=True)
    last = "" if picture.steps is None else f" The last step of all was {picture.steps.last}."
    lines = [f"No rank has begun or finished a call, phase or step for {how_long}.{last}"]
    lines += reasons(picture.ranks, picture.pending)
    lines += filter(None, [silence(picture.age_s)])
    return Block("Stalled", lines, is_loud=True)
