"""Memory, threads and CPU of the ranks from the native samples."""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from signal import SIGKILL
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Ints, counter_growth, median, quantile
from perfscope.attribution.focus import Focus
from perfscope.attribution.ledger import IS_COMMUNICATION
from perfscope.attribution.preparation import Prepared
from perfscope.metrics.host.file_waits import files
from perfscope.metrics.host.resources import NodeThreads, RankMemory, Resources
from perfscope.metrics.host.run_queue import cpu_waits
from perfscope.schema.common import Series
from perfscope.schema.enums import EndKind
from perfscope.schema.resources import MemoryOfNode, ThreadGroup, ThreadsOfRank
from perfscope.trace.host_cpus import cpu_set
from perfscope.trace.model import Rank, Table, Trace

MAX_POINTS = 500
"""Of one series of one rank; of all ranks together `ALL_POINTS`, but `LEAST_POINTS` of each."""
ALL_POINTS = 32_000
LEAST_POINTS = 8
SLOPE_POINTS = 300
"""Theil-Sen looks at every pair, so that more points would cost much and tell little."""

MIN_SLOPE_POINTS = 10
BIN_NS = 100_000_000


def busy_ns(rank: Rank, focus: Focus) -> int:
    """How long threads of a rank's process ran or waited for a CPU: at most so long it computed.

    A main thread may wait for threads that wait themselves, as for what another process asks for.
    All of the focus where that was not sampled.
    """
    rows = rank.process_samples
    if not len(rows):
        return focus.length_ns
    used = rows["cpu_ns"] + rows["queue_delay_ns"]
    return int(counter_growth((focus.start_ns, focus.end_ns), rows["t"], used)[0])


def resources(prepared: Prepared) -> Resources:
    """Memory and threads of the run inside its focus of analysis."""
    ranks, focus = prepared.trace.ranks, prepared.focus
    hosts = list(dict.fromkeys(rank.host for rank in ranks))
    by_host = {host: [rank for rank in ranks if rank.host == host] for host in hosts}
    sampled = {
        position: _inside(rank.process_samples, focus)
        for position, rank in enumerate(ranks)
        if len(rank.process_samples)
    }
    return Resources(
        memory=tuple(_memory(prepared, position, rows) for position, rows in sampled.items()),
        node_memory=tuple(_node_memory(host, by_host[host]) for host in hosts),
        threads=tuple(
            _threads(ranks[position], rows, focus, _points(len(ranks)))
            for position, rows in sampled.items()
        ),
        node_threads=tuple(
            node for host in hosts if (node := _node_threads(prepared, host)) is not None
        ),
        read_bytes_by_rank=tuple(_last(rank.system_samples, "read_bytes") for rank in ranks),
        written_bytes_by_rank=tuple(_last(rank.system_samples, "written_bytes") for rank in ranks),
        files=files(prepared),
        cpu_waits=cpu_waits(prepared),
    )


def _inside(table: Table, focus: Focus) -> Table:
    """Samples in the focus, all samples when none is."""
    rows = focus.within(table)
    return rows if len(rows) else table


def _points(ranks: int) -> int:
    """How many points a series of each of so many ranks may have."""
    return max(LEAST_POINTS, min(MAX_POINTS, ALL_POINTS // ranks))


def _series(times: npt.NDArray[np.int64], values: npt.NDArray[np.float64], most: int) -> Series:
    """Thinned evenly; of the values between two points kept the largest is shown."""
    if not len(times):
        return Series((), ())
    step = -(-len(times) // most)
    starts = np.arange(0, len(times), step)
    highest = np.maximum.reduceat(values, starts)
    return Series(tuple((times[starts] / 1e9).tolist()), tuple(highest.tolist()))


def _memory(prepared: Prepared, position: int, rows: Table) -> RankMemory:
    rank = prepared.trace.ranks[position]
    rss = rows["rss_bytes"]
    tenth = max(1, len(rows) // 10)
    return RankMemory(
        rank=rank.number,
        host=rank.host,
        peak_bytes=int(rank.process_samples["rss_bytes"].max()),
        start_bytes=int(median(rss[:tenth])),
        end_bytes=int(median(rss[-tenth:])),
        slope_bytes_per_s=theil_sen(rows["t"][len(rows) // 2 :], rss[len(rows) // 2 :]),
        series=_series(
            rank.process_samples["t"],
            rank.process_samples["rss_bytes"].astype(np.float64),
            _points(len(prepared.trace.ranks)),
        ),
        limit_bytes=rank.cgroup_memory_bytes,
        peak_phase=_phase_of_peak(prepared, position),
        tree_bytes=_tree_bytes(rank),
        descendants=int(rank.tree_samples["descendants"].max(initial=0)),
        **_group_use(rank),
    )


def _phase_of_peak(prepared: Prepared, position: int) -> str:
    """The phase in which the memory of a rank was largest, "" outside any."""
    samples = prepared.trace.ranks[position].process_samples
    moment = int(samples["t"][int(np.argmax(samples["rss_bytes"]))])
    phase = prepared.timelines[position].phase_at(moment)
    return prepared.catalog.ids[phase] if phase >= 0 else ""


def _tree_bytes(rank: Rank) -> int | None:
    """Proportional memory of a rank and its descendants at its peak; None where it was not read.

    It is read more rarely than resident memory: what that was larger by at its peak is added.
    """
    tree = rank.tree_samples
    if not len(tree):
        return None
    rss = rank.process_samples["rss_bytes"].astype(np.float64)
    times: Ints = tree["t"]
    sampled: Ints = rank.process_samples["t"]
    own: Ints = tree["own_bytes"]
    theirs: Ints = tree["descendants_bytes"]
    needed = own + theirs + (float(rss.max()) - np.interp(times, sampled, rss))
    latest = len(tree) // 2  # the first are of a process that still loads its libraries
    return int(np.max(needed[latest:]))


def _group_use(rank: Rank) -> dict[str, int | None]:
    """Memory used in the control group of a rank, at most and at the end; None unknown."""
    used = rank.node_samples["cgroup_bytes"]
    known = rank.cgroup_memory_bytes is not None and len(used) and int(used.max()) > 0
    return {
        "group_peak_bytes": int(used.max()) if known else None,
        "group_end_bytes": int(used[-1]) if known else None,
    }


def theil_sen(times_ns: npt.NDArray[np.int64], values: npt.NDArray[np.int64]) -> float | None:
    """Median slope over all pairs of points, per second; None with too few points to say."""
    return median_slope(times_ns / 1e9, values)


def median_slope(places: npt.NDArray[np.float64], values: npt.NDArray[Any]) -> float | None:
    """Median slope over all pairs of points; None with too few points to say."""
    if len(places) < MIN_SLOPE_POINTS:
        return None
    keep = np.linspace(0, len(places) - 1, min(len(places), SLOPE_POINTS)).astype(np.int64)
    kept, heights = places[keep], values[keep].astype(np.float64)
    first, second = _pairs(len(keep))
    run = kept[second] - kept[first]
    rise = heights[second] - heights[first]
    is_later = run > 0
    return median(rise[is_later] / run[is_later]) if is_later.any() else None


@lru_cache(maxsize=1)
def _pairs(points: int) -> tuple[Ints, Ints]:
    """All pairs of points: the numbers of the earlier and of the later ones."""
    first, second = np.triu_indices(points, 1)
    return first, second


def _node_memory(host: str, ranks: Sequence[Rank]) -> MemoryOfNode:
    tables = [rank.node_samples for rank in ranks if len(rank.node_samples)]
    total = max((int(table["total_bytes"].max()) for table in tables), default=0)
    least = min((int(table["available_bytes"].min()) for table in tables), default=0)
    kills = [rank.system_samples["oom_kills"] for rank in ranks if len(rank.system_samples)]
    return MemoryOfNode(
        host=host,
        total_bytes=total or None,
        least_available_bytes=least if total else None,
        oom_kills=max((int(c.max()) - int(c[0]) for c in kills), default=0),
        ranks=tuple(rank.number for rank in ranks),
    )


def memory_ran_out(rank: Rank) -> bool:
    """Whether the kernel killed a process for memory while the rank was there."""
    kills = rank.system_samples["oom_kills"]
    return bool(len(kills)) and int(kills.max()) > int(kills[0])


def kills_with(trace: Trace, rank: Rank) -> int:
    """Processes that the kernel ended for memory on the host of a rank that may be one of them.

    It is 0 unless the rank was killed by signal 9, among the first so many of its host that were,
    and none had failed before: launchers end by that signal whom the kernel leaves.
    """
    if not _is_ended_by_9(rank) or not (count := _kills_meanwhile(trace, rank.host)):
        return 0
    if any(_has_failed(other) and other.end_ns < rank.end_ns for other in trace.ranks):
        return 0
    killed = [r for r in trace.ranks if r.host == rank.host and _is_ended_by_9(r)]
    first = sorted(killed, key=lambda one: one.end_ns)[:count]
    return count if any(one is rank for one in first) else 0


def _has_failed(rank: Rank) -> bool:
    """Whether a rank ended in a way that makes a launcher end the others."""
    return not rank.ending.is_natural and not _is_ended_by_9(rank)


def _is_ended_by_9(rank: Rank) -> bool:
    return rank.ending.kind is EndKind.KILLED and rank.ending.code == SIGKILL


def _kills_meanwhile(trace: Trace, host: str) -> int:
    """What the launcher's host counted from the start of the run to its end; 0 elsewhere."""
    told = trace.environment.get("oom_kills")
    count = told.get(host) if isinstance(told, Mapping) else None
    return count if isinstance(count, int) else 0


def cpus_available(rank: Rank) -> float:
    """CPUs that a rank may use: its affinity mask or the cgroup's quota if smaller; 0 unknown."""
    mask = float(rank.cpu_count_allowed or len(cpu_set(rank.cpus_allowed)))
    if rank.cgroup_cpus is None:
        return mask
    return min(mask, rank.cgroup_cpus) if mask else rank.cgroup_cpus


def _threads(rank: Rank, rows: Table, focus: Focus, points: int) -> ThreadsOfRank:
    system = _inside(rank.system_samples, focus)
    cpu_s = _growth(rows, "cpu_ns") / 1e9
    available = cpus_available(rank)
    span = (int(rows["t"][-1]) - int(rows["t"][0])) / 1e9
    busy = _busy(rank.process_samples, points)
    return ThreadsOfRank(
        rank=rank.number,
        host=rank.host,
        pool_threads=None,  # known from its libraries, not from samples
        threads_max=int(rows["threads"].max()),
        runnable_mean=int(rows["runnable"].sum()) / len(rows),
        runnable_p95=quantile(rows["runnable"], 0.95),
        cpu_s=cpu_s,
        cpu_utilization=cpu_s / (span * available) if span > 0 and available else 0.0,
        queue_delay_s=_growth(rows, "queue_delay_ns") / 1e9,
        involuntary_switches=_growth(system, "involuntary_switches"),
        voluntary_switches=_growth(system, "voluntary_switches"),
        cpus_allowed=rank.cpus_allowed,
        cpus_available=available,
        groups=_groups(rank),
        threads_series=_column_series(rank, "threads", points),
        runnable_series=_column_series(rank, "runnable", points),
        cpu_series=busy,
    )


def _column_series(rank: Rank, column: str, points: int) -> Series:
    samples = rank.process_samples
    return _series(samples["t"], samples[column].astype(np.float64), points)


def _growth(rows: Table, column: str) -> int:
    """How much a counter grew from the first to the last row."""
    return max(0, int(rows[column][-1]) - int(rows[column][0])) if len(rows) else 0


def _busy(samples: Table, points: int) -> Series:
    """CPUs busy between samples, from the growth of the CPU time."""
    step = max(1, -(-len(samples) // points))
    kept = samples[::step]
    if len(kept) < 2:
        return Series((), ())
    run = np.diff(kept["t"])
    usable = run > 0
    rate = np.maximum(np.diff(kept["cpu_ns"])[usable], 0) / run[usable]
    return Series(tuple((kept["t"][1:][usable] / 1e9).tolist()), tuple(rate.tolist()))


@cache
def _stem(name: str) -> str:
    """What threads of a group have in common in their names."""
    return re.sub(r"[\W\d_]+$", "", name) or name or "unnamed"


def _groups(rank: Rank) -> tuple[ThreadGroup, ...]:
    """Threads by the stem of their name, most CPU first."""
    stems: dict[str, list[int]] = {}
    for place, thread in enumerate(rank.threads):
        stems.setdefault(_stem(thread.name), []).append(place)
    longest = max((thread.samples for thread in rank.threads), default=0)
    groups = []
    for stem, places in stems.items():
        members = [rank.threads[place] for place in places]
        runnable = sum(thread.runnable_samples for thread in members)
        groups.append(
            ThreadGroup(
                stem=stem,
                count=len(members),
                cpu_s=sum(thread.cpu_ns for thread in members) / 1e9,
                runnable_mean=runnable / longest if longest else 0.0,
            )
        )
    return tuple(sorted(groups, key=lambda group: (-group.cpu_s, group.stem)))


def _node_threads(prepared: Prepared, host: str) -> NodeThreads | None:
    """All ranks of a node together against the CPUs they may use together."""
    ranks = [rank for rank in prepared.trace.ranks if rank.host == host]
    if not all(len(rank.process_samples) for rank in ranks):
        return None
    masks = [cpu_set(rank.cpus_allowed) for rank in ranks]
    together = len(frozenset[int]().union(*masks)) or max(r.cpu_count_allowed for r in ranks)
    quotas = [rank.cgroup_cpus for rank in ranks if rank.cgroup_cpus is not None]
    runnable, samples = _runnable_together(prepared, ranks)
    return NodeThreads(
        host=host,
        ranks=tuple(rank.number for rank in ranks),
        cpus=min([float(together), *quotas]),
        runnable_mean=float(runnable.mean()) if len(runnable) else 0.0,
        samples=samples,
        runnable_p95=float(np.percentile(runnable, 95)) if len(runnable) else 0.0,
        ranks_sharing_a_cpu=_sharing(ranks, masks),
    )


def _sharing(ranks: Sequence[Rank], masks: Sequence[frozenset[int]]) -> tuple[int, ...]:
    """Ranks that share a mask with more ranks than it has CPUs."""
    sharing: set[int] = set()
    for mask in set(masks):
        inside = [r.number for r, other in zip(ranks, masks, strict=True) if other <= mask]
        if mask and len(inside) > len(mask):
            sharing.update(inside)
    return tuple(sorted(sharing))


def _runnable_together(
    prepared: Prepared, ranks: Sequence[Rank]
) -> tuple[npt.NDArray[np.float64], int]:
    """Runnable threads of all ranks, in stretches of 0.1 s in which no rank was communicating.

    Where there are none, all stretches of the focus count. Also, in how many all were sampled.
    """
    focus = prepared.focus
    count = max(1, -(-focus.length_ns // BIN_NS))
    if count > 10_000_000:
        return np.empty(0), 0
    total, computing = np.zeros(count), np.ones(count, np.bool_)
    everybody = np.ones(count, np.bool_)
    positions = {rank.number: place for place, rank in enumerate(prepared.trace.ranks)}
    for rank in ranks:
        samples = rank.process_samples
        inside = focus.within(samples)
        place = (inside["t"] - focus.start_ns) // BIN_NS
        seen = np.bincount(place, minlength=count)
        mean = np.bincount(place, inside["runnable"], minlength=count) / np.maximum(seen, 1)
        total += mean
        everybody &= seen > 0
        timeline = prepared.timelines[positions[rank.number]]
        waiting = IS_COMMUNICATION[timeline.accounts[timeline.at(inside["t"])]]
        computing[place[waiting]] = False
    chosen = everybody & computing
    return total[chosen if np.any(chosen) else everybody], int(np.count_nonzero(everybody))


def _last(table: Table, column: str) -> int:
    return int(table[column][-1]) if len(table) else 0
