"""Looks at a recording that is being written: the last minute of it, and what is open now."""

from pathlib import Path

from perfscope.attribution.focus import Focus
from perfscope.attribution.preparation import Prepared, prepare
from perfscope.errors import NothingYetError
from perfscope.metrics.communication.late_arrivals import late_arrivals
from perfscope.metrics.devices.gpus import GpuUse, gpus
from perfscope.metrics.efficiency.pop import efficiency
from perfscope.metrics.host.memory_growth import memory_growth
from perfscope.readers.recording import agent_metadata
from perfscope.readers.recording.reader import open_recording
from perfscope.readers.recording.run_directory import read_run
from perfscope.readers.secrets import without_secrets
from perfscope.schema.common import Metric
from perfscope.schema.enums import EndKind
from perfscope.standstill.pending import pending_collectives
from perfscope.standstill.ranks import place_of, progress_ns, ranks_now
from perfscope.trace.model import Rank, Trace
from perfscope.trace.worlds import asked_for, starting
from perfscope.watch.clock import own_clock, since_ns
from perfscope.watch.picture import GpuNow, HostMemory, Late, Picture, Steps

WINDOW_S = 60.0
MOST_LATE = 5


def look(path: Path, *, window_s: float = WINDOW_S) -> Picture:
    """A picture of the job that is recorded in a directory.

    Rates and efficiencies are taken over `window_s` before now.

    Raises:
        UnreadableInputError: nothing is recorded there, and no job runs that could.
    """
    try:
        trace = open_recording(path, recent_s=window_s)
    except NothingYetError:
        return _nothing_yet(path)
    without_secrets(trace)
    seen_ns = max(rank.end_ns for rank in trace.ranks)
    now_ns = _now_ns(trace, seen_ns)
    focus = _window(trace, seen_ns, window_s)
    prepared = prepare(trace, focus=focus)
    now_ranks = ranks_now(trace, now_ns, prepared.labels.user_frame)
    trace = prepared.trace
    alive = [rank for rank, now in zip(trace.ranks, now_ranks, strict=True) if not now.has_ended]
    tree = efficiency(prepared)
    return Picture(
        source=str(path),
        command=" ".join(trace.command),
        at_unix_s=(trace.origin_unix_ns + seen_ns) / 1e9,
        age_s=(now_ns - seen_ns) / 1e9,
        running_s=now_ns / 1e9,
        window_s=focus.length_ns / 1e9,
        exit_code=trace.exit_code,
        world_size=trace.world_size,
        ranks=tuple(now_ranks),
        steps=_steps(trace, focus),
        parallel_efficiency=tree.parallel_efficiency,
        load_balance=tree.load_balance,
        communication_efficiency=tree.communication_efficiency,
        late=_late(prepared),
        memory=_memory(prepared),
        gpus=tuple(map(_gpu, gpus(prepared).gpus)),
        pending=tuple(pending_collectives(trace, now_ns)),
        stalled_s=(now_ns - max(map(progress_ns, alive), default=now_ns)) / 1e9,
        notes=tuple(trace.notes),
        starting=starting(trace),
        asked_for=asked_for(trace),
    )


def _nothing_yet(path: Path) -> Picture:
    """The picture of a job of which no process is recorded."""
    run = read_run(path)
    values = run.values
    clock = run.boot_id, run.time_namespace or own_clock()[1]
    start_unix_ns = run.moment("start_unix_ns")
    running_s = max(0, since_ns(clock, run.moment("start_mono_ns"), start_unix_ns)) / 1e9
    none = Metric(None, "nothing is recorded yet")
    return Picture(
        source=str(path),
        command=" ".join(agent_metadata.texts(values, "command")),
        at_unix_s=(start_unix_ns or 0) / 1e9,
        age_s=0.0,
        running_s=running_s,
        window_s=running_s,
        exit_code=None,
        world_size=0,
        ranks=(),
        steps=None,
        parallel_efficiency=none,
        load_balance=none,
        communication_efficiency=none,
        late=(),
        memory=(),
        gpus=(),
        pending=(),
        stalled_s=running_s,
        asked_for=agent_metadata.integer(values, "ranks_requested"),
    )


def _now_ns(trace: Trace, seen_ns: int) -> int:
    """Now, in the time of the trace; of a job that is over, or ahead of this clock, its last sign.

    What all ranks do not return from may give no sign: perfscope's own thread runs in a program
    without Python only from the end of MPI_Init on, and not in one that is stopped.
    """
    if trace.exit_code is not None or all(map(_has_ended, trace.ranks)):
        return seen_ns
    return max(seen_ns, since_ns(trace.clock, trace.origin_mono_ns, trace.origin_unix_ns))


def _has_ended(rank: Rank) -> bool:
    return rank.ending.kind is not EndKind.UNKNOWN


def _gpu(use: GpuUse) -> GpuNow:
    return GpuNow(
        host=use.gpu.host,
        name=use.gpu.name,
        idle=None if use.busy is None else 1.0 - use.busy,
        memory_bytes=use.memory_peak_bytes,
        ranks=use.ranks,
    )


def _window(trace: Trace, now_ns: int, window_s: float) -> Focus:
    """The time before now, from when all ranks had begun to communicate."""
    begun = [rank.init_exit_ns or rank.start_ns for rank in trace.ranks]
    start = min(max(now_ns - round(window_s * 1e9), *begun), now_ns)
    return Focus(start, now_ns, "recent", f"the last {window_s:g} s, or less if it is younger")


def _steps(trace: Trace, focus: Focus) -> Steps | None:
    """Rate and number of the steps; ranks without any, or that are over, are left out."""
    there = [rank for rank in trace.ranks if not _has_ended(rank)] or trace.ranks
    stepping = [rank for rank in there if len(rank.steps)]
    length_s = focus.length_ns / 1e9
    if not stepping or length_s <= 0:
        return None
    recent = [focus.ending(rank.steps) for rank in stepping]
    samples = sum(int(rows["samples"].sum()) for rows in recent)
    return Steps(
        last=min(int(rank.steps["number"][-1]) for rank in stepping),
        per_s=min(len(rows) for rows in recent) / length_s,
        samples_per_s=samples / length_s if samples else None,
    )


def _late(prepared: Prepared) -> tuple[Late, ...]:
    found = late_arrivals(prepared)[:MOST_LATE]
    return tuple(
        Late(
            rank=one.rank,
            waiting_s=one.waiting_s,
            times=one.instances,
            place=place_of(one.frame) if one.frame else one.phase,
        )
        for one in found
    )


def _memory(prepared: Prepared) -> tuple[HostMemory, ...]:
    pace = {growth.rank: growth.slope_bytes_per_s for growth in memory_growth(prepared)}
    hosts: dict[str, list[Rank]] = {}
    for rank in prepared.trace.ranks:
        if len(rank.process_samples):
            hosts.setdefault(rank.host, []).append(rank)
    return tuple(_host_memory(host, ranks, pace) for host, ranks in sorted(hosts.items()))


def _host_memory(host: str, ranks: list[Rank], pace: dict[int, float]) -> HostMemory:
    held = sum(int(rank.process_samples["rss_bytes"][-1]) for rank in ranks)
    growth = sum(pace.get(rank.number, 0.0) for rank in ranks)
    rooms: list[tuple[int, str]] = []
    for rank in ranks:
        if not len(rank.node_samples):
            continue
        node = rank.node_samples[-1]
        rooms.append((int(node["available_bytes"]), "memory of the node"))
        if rank.cgroup_memory_bytes is not None and node["cgroup_bytes"] > 0:
            left = max(0, rank.cgroup_memory_bytes - int(node["cgroup_bytes"]))
            rooms.append((left, "limit of the control group"))
    room, limit = min(rooms, default=(None, ""))
    left_s = room / growth if room is not None and growth > 0 else None
    return HostMemory(host, held, room, limit, growth, left_s)
