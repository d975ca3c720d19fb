"""Reads PyTorch's profiler traces (Kineto), one rank a file, and other Chrome traces."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from perfscope.arrays import Ints
from perfscope.parallel import each
from perfscope.readers.common import exported
from perfscope.readers.common.clocks import shift
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.readers.kineto.calls import (
    USER_PHASE,
    as_exported,
    calls,
    is_export,
    own_rules,
    tells_partners,
    told_by_export,
    without_readiness,
)
from perfscope.readers.kineto.clocks import measure_clocks
from perfscope.readers.kineto.communication import look_like_communication, named_by_user
from perfscope.readers.kineto.devices import device_activity, in_steps, settle
from perfscope.readers.kineto.elsewhere import FileRead, processes_of, read_files
from perfscope.readers.kineto.file import (
    BACKGROUND,
    EPOCH_NS,
    REQUEST,
    KinetoContents,
    Thread,
    read_kineto,
)
from perfscope.readers.kineto.foreign import NOT_TOLD, is_foreign, is_of_torch, notes_on
from perfscope.readers.kineto.groups import Groups
from perfscope.readers.kineto.host import HostTables, host_tables, step_at
from perfscope.readers.kineto.processes import split
from perfscope.readers.kineto.ranks import number_ranks, process_of
from perfscope.readers.kineto.runs import refuse_several_runs
from perfscope.readers.kineto.size import (
    NO_SIZE,
    is_of_unknown_size,
    is_size_told,
    of_unknown_members,
    of_unknown_size,
    world_size,
)
from perfscope.readers.kineto.unusable import (
    cut_profiles,
    left_out,
    losses,
    tells_hosts,
    without_times,
)
from perfscope.readers.kineto.window import judged_from
from perfscope.schema.enums import EndKind
from perfscope.structures import dataclass
from perfscope.trace.model import (
    COUNTER_DTYPE,
    OPERATION_DTYPE,
    PEER_NONE,
    Ending,
    Format,
    Rank,
    Table,
    Trace,
)
from perfscope.trace.operations import BY_NAME, HOROVOD_EXPOSED
from perfscope.trace.totals import totals_of

_PHASE = re.compile(rb'"ph"\s*:')  # every event has one; notes beside a recording hold a "pid"
_OWN = re.compile(rb'\s*\{\s*"schema(_version)?"')  # what perfscope itself leaves in a recording
_OF_ROCPROF = re.compile(rb'"BeginNs"\s*:\s*"')  # numbers as texts: its own reader takes it
_START = re.compile(rb"\s*(?:\{|\[\s*\{)")
NOT_RECORDED = {
    "memory": "a profiler trace holds no samples of the process's memory",
    "threads": "a profiler trace holds no samples of threads and cores",
    "io": "a profiler trace does not count bytes of files",
    "environment": "a profiler trace does not hold the environment",
    "messages": "a profiler trace holds no point-to-point messages",
}
NO_HOSTS = (
    "the profile holds nothing of the hosts but calls of the devices' runtime, if any{}: how long "
    "they waited is not known"
)


@dataclass(frozen=True)
class Form:
    """Whose files a trace is read from, and what they lack where there are no devices or steps."""

    format: Format
    no_devices: str
    no_steps: str
    with_hosts: str = ""  # what makes the tool record the hosts


KINETO = Form(
    Format.KINETO,
    no_devices="the profile holds no device events (ProfilerActivity.CUDA)",
    no_steps="no ProfilerStep#N: call profiler.step() after each step",
    with_hosts="ProfilerActivity.CPU",
)


def is_kineto(place: Place) -> bool:
    """Whether this is a Kineto or Chrome trace: a JSON object or list with such events."""
    head = place.head
    if place.is_directory or _START.match(head) is None or _OWN.match(head):
        return False
    if _OF_ROCPROF.search(head):
        return False
    return b'"traceEvents"' in head or b'"deviceProperties"' in head or bool(_PHASE.search(head))


def open_kineto(paths: Sequence[Path], options: ReadOptions) -> Trace:
    """The run whose ranks wrote these files.

    Raises:
        UnreadableInputError: none of them can be read, or they are of several runs.
    """
    read, notes = read_files(paths, _read, options)
    return joined(processes_of(read), notes, paths, options)


def _read(path: Path) -> FileRead:
    return FileRead(*split(read_kineto(path)))


def joined(
    files: Sequence[KinetoContents],
    notes: list[str],
    paths: Sequence[Path],
    options: ReadOptions,
    form: Form = KINETO,
) -> Trace:
    """The run of which these are the processes.

    Raises:
        UnreadableInputError: they are of several runs.
    """
    refuse_several_runs(files)
    ranked, rank_notes, doubles = number_ranks(files)
    ranked = {
        number: as_exported(number, named_by_user(contents, options.communication))
        for number, contents in ranked.items()
    }
    world = world_size(ranked)
    groups = Groups(world)
    origin = min(contents.start_ns for contents in ranked.values())
    names: dict[str, int] = {"": 0}
    ranks, said = _ranks(ranked, groups, names, options)
    unknown = of_unknown_size(ranks, ranked)
    kept, clock_notes = _on_one_clock(ranks, list(names), origin)
    of_unknown_members(ranks if unknown else [])
    notes += said + rank_notes + clock_notes + look_like_communication(ranks, list(names))
    judged, reason = judged_from(ranks, list(names))
    trace = Trace(
        origin_unix_ns=kept if kept >= EPOCH_NS else 0,
        wall_ns=max(rank.end_ns for rank in ranks),
        world_size=world,
        ranks=ranks,
        names=list(names),
        communicators=groups.communicators,
        environment={
            "hosts": sorted({rank.host for rank in ranks}),
            "is_export": all(map(is_export, ranked.values())),
            "is_size_told": is_size_told(ranked),
        },
        notes=notes,
        choices=[note for contents in ranked.values() for note in notes_on(contents)][:1],
        source=str(paths[0] if len(paths) == 1 else paths[0].parent),
        format=form.format,
        not_recorded=_not_recorded(ranks, form, list(ranked.values())),
        damage=[*unknown, *without_times(ranked), *cut_profiles(ranked), *doubles],
        judged_from_ns=judged,
        judged_reason=reason,
    )
    is_one = len({contents.path for contents in ranked.values()}) == 1
    told = told_by_export(next(iter(ranked.values()))) if is_one else {}
    return exported.as_judged(trace, told)


def _ranks(
    ranked: dict[int, KinetoContents], groups: Groups, names: dict[str, int], options: ReadOptions
) -> tuple[list[Rank], list[str]]:
    """The ranks by number, and what is to be said of them; what hosts did is read at once."""
    numbers = sorted(ranked)
    files = [ranked[number] for number in numbers]
    hosts = each(
        lambda contents: host_tables(contents, (*options.phase_rules, *own_rules(contents))),
        files,
        rows=sum(len(contents.host) for contents in files),
    )
    ranks = [
        _rank(number, contents, host, groups, names)
        for number, contents, host in zip(numbers, files, hosts, strict=True)
    ]
    settle([rank.devices for rank in ranks])
    _clock_domains(ranks, ranked)
    return ranks, [note for one in zip(ranks, files, hosts, strict=True) for note in _said(*one)]


def _said(rank: Rank, contents: KinetoContents, host: HostTables) -> list[str]:
    """What is to be said of the file of a rank."""
    notes = host.notes + without_readiness(contents, rank.operations)
    reason = rank.devices.clock_reason if rank.devices is not None else ""
    if reason:
        notes.append(f"{contents.path.name}: {reason}. Why devices were idle is not told.")
    return [*notes, *losses(contents)]


def _on_one_clock(ranks: Sequence[Rank], names: list[str], origin: int) -> tuple[int, list[str]]:
    """Puts the ranks on one clock; returns what it counts from, and what is to be said of it."""
    rows = sum(rank.devices.count for rank in ranks if rank.devices is not None)
    each(lambda rank: shift(rank, -origin), ranks, rows=rows)
    notes = measure_clocks(ranks, names)
    first = min(rank.start_ns for rank in ranks)
    each(lambda rank: shift(rank, -first), ranks, rows=rows)
    return origin + first, notes


def _rank(
    number: int,
    contents: KinetoContents,
    host: HostTables,
    groups: Groups,
    names: dict[str, int],
) -> Rank:
    groups.learn(contents)
    labels, numbers = _interned(contents, host, names)
    thread = contents.threads[host.main_thread] if contents.threads else Thread("", "", "", 0)
    pid = contents.part.pid or thread.process
    tid = thread.number(0)
    cut = contents.cut_at is not None
    rank = Rank(
        number=number,
        host=contents.host_name,
        pid=int(pid) if pid.isascii() and pid.isdigit() and len(pid) < 10 else 0,
        start_ns=contents.start_ns,
        end_ns=contents.end_ns,
        main_tid=tid,
        ending=Ending(
            EndKind.UNKNOWN if cut else EndKind.EXITED,
            source="the file ends in the middle" if cut else "the end of the profile",
        ),
        metadata={"frameworks": {"torch": {}} if is_of_torch(contents) else {}},
    )
    rank.steps, rank.phases = host.steps, host.phases
    rank.phases["name"] = labels[rank.phases["name"]]
    rank.phases["tid"] = tid
    rank.operations = _operations(contents, host, groups, tid)
    rank.background = calls(contents, groups, BACKGROUND)
    rank.completions = calls(contents, groups, REQUEST)
    rank.totals = totals_of(rank.operations)
    rank.devices = device_activity(contents, host, numbers, groups)
    rank.counters = _counters(contents.counters, numbers, tid)
    rank.dropped_records = left_out(contents)
    return rank


def _interned(
    contents: KinetoContents, host: HostTables, names: dict[str, int]
) -> tuple[Ints, Ints]:
    """What phases, and what events are called in the trace, by their numbers in the file."""
    used = np.zeros(len(contents.names), np.bool_)
    for places in (contents.device_names, host.runtime["name"]):
        used[places] = True
    used[contents.counters["name"]] = True
    labels = np.zeros(len(used) + 1, np.int64)
    for place in np.unique(host.phases["name"][host.phases["name"] > 0]).tolist():
        label = contents.names[place - 1].removeprefix(USER_PHASE)
        labels[place] = names.setdefault(label, len(names))
    numbers = np.zeros(len(used), np.int64)
    for place in np.flatnonzero(used).tolist():
        numbers[place] = names.setdefault(contents.names[place], len(names))
    return labels, numbers


def _counters(found: Table, numbers: Ints, tid: int) -> Table:
    rows = np.zeros(len(found), COUNTER_DTYPE)
    rows["t"], rows["tid"], rows["value"] = found["t"], tid, found["value"]
    rows["name"] = numbers[found["name"]]
    rows.sort(order="t", kind="stable")
    return rows


def _operations(contents: KinetoContents, host: HostTables, groups: Groups, tid: int) -> Table:
    """What the host called, by time; what it only waited for Horovod belongs to its main thread."""
    found = np.concatenate([_collectives(host, groups, tid), calls(contents, groups)])
    found["tid"][found["op"] == HOROVOD_EXPOSED] = tid
    found.sort(order="t0", kind="stable")
    return found


def _collectives(host: HostTables, groups: Groups, tid: int) -> Table:
    """Collectives of CPU backends as operations of the main location."""
    rows = np.zeros(len(host.collectives), OPERATION_DTYPE)
    if not len(rows):
        return rows
    rows["t0"] = [collective.start_ns for collective in host.collectives]
    rows["t1"] = [collective.end_ns for collective in host.collectives]
    rows["op"] = [BY_NAME[collective.operation].code for collective in host.collectives]
    rows["tid"], rows["comm"], rows["peer"] = tid, groups.only, PEER_NONE
    rows["seq"] = in_steps(rows["comm"], step_at(host.steps, rows["t0"]))
    return rows


def _clock_domains(ranks: Sequence[Rank], ranked: dict[int, KinetoContents]) -> None:
    """Ranks of one file, or of one named host, read one clock; of others nothing is known."""
    domains: dict[str, int] = {}
    for rank in ranks:
        contents = ranked[rank.number]
        key = process_of(contents).host or f"rank {rank.number}"
        if contents.part.process:
            key = f"in {contents.path}"
        rank.clock_domain = domains.setdefault(key, len(domains))


def _not_recorded(
    ranks: Sequence[Rank], form: Form, files: Sequence[KinetoContents]
) -> dict[str, str]:
    reasons = dict(NOT_RECORDED)
    if all(map(is_foreign, files)):
        reasons["communication"] = NOT_TOLD
    elif not any(map(tells_hosts, files)):
        how = form.with_hosts and f" (record with {form.with_hosts})"
        reasons["communication"] = NO_HOSTS.format(how)
    elif len(ranks) == 1 and is_of_unknown_size(files[0]) and not len(ranks[0].operations):
        reasons["communication"] = NO_SIZE
    if all(rank.devices is None for rank in ranks) and not all(map(is_export, files)):
        reasons["devices"] = form.no_devices
    if not any(len(rank.steps) for rank in ranks):
        reasons["steps"] = form.no_steps
    if all(map(tells_partners, files)):
        del reasons["messages"]
    return exported.reasons(told_by_export(files[0]), reasons)


READER = Reader(
    format=Format.KINETO,
    description="a PyTorch profiler trace (.json or .json.gz, a file or a directory of ranks)",
    recognizes=is_kineto,
    open=open_kineto,
    tells=Tells(
        efficiencies="of collectives that block the host",
        waits="collectives",
        phases="annotations, `ProfilerStep#N`",
        devices="yes",
        counters="`C` events",
        clock="yes",
    ),
    joins=True,
    is_generic=True,
)
