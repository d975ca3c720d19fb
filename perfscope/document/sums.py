"""Parts and wholes in analysis.json: what tables must add up to, and what each share is a share of.

The rules that `perfscope.document.invariants` lists; each yields what breaks it, with the figures.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

from perfscope.findings.core.catalog import diagnoses
from perfscope.findings.losses.groups import lost_to_waiting
from perfscope.metrics.efficiency.hybrid import FORMULA as HYBRID
from perfscope.schema.analysis import Analysis
from perfscope.schema.common import Metric
from perfscope.schema.devices import Devices
from perfscope.schema.enums import Account, LossKind, LossPattern
from perfscope.schema.findings import FindingRow, FirstAction
from perfscope.units import NS

RELATIVE, ABSOLUTE = 1e-6, 2e-9
"""Sums of floating-point seconds agree to this; times are whole nanoseconds."""


def same(a: float, b: float) -> bool:
    """Whether two figures are one, as far as floating-point sums can tell."""
    return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def at_most(value: float, limit: float) -> bool:
    """Whether a figure is not above another one."""
    return value <= limit + max(ABSOLUTE, RELATIVE * abs(limit))


def focus_s(document: Analysis) -> float:
    """Length of the focus of analysis."""
    start, end = document.run.focus_of_analysis_s
    return float(end - start)


def window_s(document: Analysis) -> float:
    """The same in the run, with the steps that were left out of it."""
    return document.whole_run.run_s if document.whole_run else focus_s(document)


def _adds_up(what: str, whole: float, parts: Iterable[float]) -> Iterator[str]:
    if not same(whole, found := sum(parts)):
        yield f"{what} is {whole} s and its parts {found} s"


def _within(what: str, whole: float, parts: Iterable[float]) -> Iterator[str]:
    if not at_most(found := sum(parts), whole):
        yield f"{what} is {whole} s and has parts of {found} s"


def _share(
    what: str, share: float | None, part: float | None, whole: float | None
) -> Iterator[str]:
    if share is None or part is None or not whole:
        return
    if not same(share, part / whole):
        yield f"{what} is {share}, and {part} of {whole} is {part / whole}"


def lives(document: Analysis) -> Iterator[str]:
    """The ledger is all of every rank's life, to the nanosecond."""
    by_rank = [row.ns_by_rank for row in document.ledger]
    for place, ending in enumerate(document.run.endings):
        spent = sum(row[place] for row in by_rank)
        life_s = ending.end_s - ending.start_s
        if abs(spent - life_s / NS) > max(1.0, RELATIVE * life_s):
            yield f"the ledger of rank {ending.rank} is {spent * NS} s of a life of {life_s} s"


def ledger_parts(document: Analysis) -> Iterator[str]:
    """Functions are parts of the accounts, and what is unlabeled is an account."""
    accounts = {row.id: row.seconds for row in document.ledger}
    whole = sum(accounts.values())
    spent: defaultdict[str, float] = defaultdict(float)
    for row in document.ledger_functions:
        yield from _adds_up(row.function, row.seconds, row.seconds_by_rank)
        yield from _share(row.function, row.share, row.seconds, whole)
        spent[row.account.value] += row.seconds
    for account, seconds in spent.items():
        yield from _within(account, accounts[account], [seconds])
    unlabeled = document.unlabeled
    yield from _adds_up(
        "the account untraced", accounts[Account.UNTRACED.value], [unlabeled.seconds]
    )
    yield from _share("unlabeled", unlabeled.share, unlabeled.seconds, whole)


def losses(document: Analysis) -> Iterator[str]:
    """What was lost and the training work are the ranks' lives, to the nanosecond."""
    found = document.losses
    entries = found.entries
    if (parts := sum(row.ns for row in entries)) != found.lost_ns:
        yield f"{found.lost_ns} ns were lost, and the entries are {parts} ns"
    for row in entries:
        if row.ns != row.own_ns + row.waiting_ns:
            yield f"{row.label} is {row.ns} ns and has parts of another sum"
    life = sum(sum(row.ns_by_rank) for row in document.ledger)
    if {found.life_ns, found.lost_ns + found.training_ns} != {life}:
        yield f"lost and training time are not the {life} ns of the ledger"
    accounts = {row.id: sum(row.ns_by_rank) for row in document.ledger}
    waiting = accounts[Account.COMMUNICATION_WAIT.value]
    waited = sum(row.waiting_ns for row in entries)
    if waited != waiting:
        yield f"{waited} ns of {waiting} ns of waiting are charged"
    unknown = sum(row.ns for row in entries if row.kind is LossKind.UNKNOWN)
    lost = sum(row.ns for row in entries if row.share is not None) - unknown
    yield from _share("lost", found.lost_share, lost, found.window_ns)
    yield from _share("not known", found.unknown_share, unknown, found.window_ns)


def work(document: Analysis) -> Iterator[str]:
    """Work and communication of a rank fit the focus, and efficiencies are shares of it."""
    metrics, found, length = document.metrics, document.collectives, focus_s(document)
    outside, useful = metrics.outside_communication_s_by_rank, metrics.useful_s_by_rank
    parts = [found.wait_s_by_rank, found.transfer_s_by_rank, found.other_s_by_rank]
    for place, spent in enumerate(outside):
        told = [spent, *(part[place] for part in parts)]
        yield from _within(f"the focus on rank {place}", length, told)
    for spent, whole in zip(useful, outside, strict=False):
        yield from _within("work", whole, [spent])
    total = sum(outside)
    yield from _parallel(document, outside, length)
    productive = metrics.productive_share.value
    if useful and productive is not None:
        yield from _share("the productive share", productive, sum(useful), total)
        yield from _adds_up("all work", 1.0, [productive, *metrics.productive_split.values()])


def _parallel(document: Analysis, outside: tuple[float, ...], length: float) -> Iterator[str]:
    """Parallel efficiency is of the ranks' work or, as it says then, of that of all threads."""
    told = document.metrics.parallel_efficiency
    spent, hardware = outside, document.hardware
    if told.useful != "outside_communication":
        is_whole = hardware is not None and same(hardware.runtime_s, length)
        spent = (hardware.useful_s_by_thread if hardware and is_whole else None) or ()
    yield from _share("parallel efficiency", told.value, sum(spent), length * len(spent))


def communication(document: Analysis) -> Iterator[str]:
    """Operations are the sum of their ranks, waits that of those who were waited for."""
    found = document.collectives
    for row in found.operations:
        yield from _adds_up(row.name, row.seconds, row.seconds_by_rank)
        if row.wait_s is not None:
            yield from _within(row.name, row.seconds, [row.wait_s, row.transfer_s or 0.0])
        if row.detailed_calls > row.calls:
            yield f"{row.detailed_calls} of {row.calls} calls of {row.name}"
    for state in found.wait_states:
        rows = [row.seconds for row in state.by_rank]
        yield from _adds_up(state.kind.value, state.seconds, [*rows, state.left_out_s])
    waited = sum(found.wait_s_by_rank)
    charged = [late.waiting_s for late in found.late_arrivals]
    yield from _within("all waiting", waited, charged)
    for late in found.late_arrivals:
        yield from _within(f"waiting for rank {late.rank}", late.waiting_s, [late.stall_s])


def phase_parts(document: Analysis) -> Iterator[str]:
    """Phases of a rank lie in the focus, and what they communicate in its communication."""
    found = document.collectives
    parts = [found.wait_s_by_rank, found.transfer_s_by_rank, found.other_s_by_rank]
    for name, wholes in (
        ("seconds_by_rank", [focus_s(document)] * len(parts[0])),
        ("communication_s_by_rank", [sum(spent) for spent in zip(*parts, strict=True)]),
    ):
        columns = zip(*(getattr(phase, name) for phase in document.phases), strict=True)
        for place, (spent, whole) in enumerate(zip(columns, wholes, strict=False)):
            yield from _within(f"{name} of rank {place}", whole, spent)


def path_parts(document: Analysis) -> Iterator[str]:
    """The critical path by rank, phase and operation, and the waiting by cause and pair."""
    replay = document.replay
    path, costs, waits = replay.critical_path, replay.delay_costs, replay.waits
    if path is None or costs is None or waits is None:
        return
    for key in ("work_s", "transfer_s"):
        if path.ranks == len(path.by_rank):
            parts = [getattr(row, key) for row in path.by_rank]
            yield from _adds_up(f"{key} of the critical path", getattr(path, key), parts)
        if replay.by_step:
            parts = [getattr(row, key) for row in replay.by_step]
            yield from _adds_up(f"{key} by step", getattr(path, key), parts)
    yield from _adds_up("the path by phase", path.work_s, [row.seconds for row in path.by_phase])
    operations = [row.seconds for row in path.by_operation]
    yield from _adds_up("the path by operation", path.transfer_s, operations)
    yield from _within("its work", path.work_s, [row.seconds for row in path.by_line])
    for key in ("direct_s", "indirect_s"):
        parts = [getattr(row, key) for row in costs.causes]
        check = _within if costs.causes_left_out else _adds_up
        yield from check(f"{key} of delays", getattr(costs, key), parts)
    for row in costs.causes:
        charged = row.direct_s + row.indirect_s
        yield from _share("a delay", row.share, charged, costs.waiting_s)
    pairs = [*(row.seconds for row in waits.pairs), waits.left_out_s]
    yield from _adds_up("waiting by pair", sum(map(sum, waits.blocks_s)), pairs)
    yield from _within("all waiting", costs.waiting_s, pairs)


def savings(document: Analysis) -> Iterator[str]:
    """Savings are shares of what they name, and together no less than the best and no more."""
    verdict, length = document.verdict, window_s(document)
    run_s = document.run.wall_s
    rows: list[tuple[str, FindingRow | FirstAction]] = [
        (finding.id, finding) for finding in document.findings
    ]
    firsts = {one.id: one.first_action for one in document.findings if one.first_action}
    rows += [(f"first of {name}", first) for name, first in firsts.items()]
    for name, row in rows:
        # what is lost before the window counts beside it, so that its share is less
        if row.gain_share and row.gain_s and not at_most(row.gain_share, row.gain_s / length):
            yield f"gain_share of {name} is {row.gain_share}, of {row.gain_s} s in {length} s"
        yield from _share(f"gain_run_share of {name}", row.gain_run_share, row.gain_s, run_s)
    for finding in document.findings:
        first = finding.first_action
        if first and not (finding.gain_s and at_most(first.gain_s, finding.gain_s)):
            yield f"{finding.id} saves {finding.gain_s} s, its first action {first.gain_s}"
    yield from _no_more_than_lost(document)
    yield from _no_more_than_waited(document)
    combined = verdict.combined_gain_s
    for whole, name in ((length, "combined_gain_share"), (run_s, "combined_gain_run_share")):
        yield from _share(name, getattr(verdict, name), combined, whole)
    counted = [firsts[name].gain_s for name in verdict.combined_of if name in firsts]
    if len(counted) != len(verdict.combined_of) or bool(counted) != (combined is not None):
        yield f"{verdict.combined_of} save {combined} s together, one by one {counted}"
    elif combined is not None and not at_most(max(counted), combined):
        yield f"all together save {combined} s, the best alone {max(counted)} s"
    elif combined is not None and not at_most(combined, min(sum(counted), length)):
        yield f"all together save {combined} s of {length} s, one by one {sum(counted)} s"


def _no_more_than_lost(document: Analysis) -> Iterator[str]:
    """What all ranks and devices together lost is the most that a run can become shorter by.

    The account is of the ranks' main threads: where others work, they may take over its work too.
    Work that it takes for needed and a diagnosis does not is no more than the whole run.
    """
    devices = document.devices.devices if isinstance(document.devices, Devices) else ()
    idle = (row.idle_s + row.exposed_communication_s + row.exposed_memory_s for row in devices)
    stands_for = document.whole_run.stands_for if document.whole_run else 1.0
    lost_s = stands_for * (document.losses.lost_ns * NS + sum(idle))
    if document.metrics.parallel_efficiency.formula == HYBRID:
        lost_s = max(lost_s, window_s(document))
    of_work = {diagnosis.id for diagnosis in diagnoses() if diagnosis.of_work}
    told = [({found.id}, found.gain_s) for found in document.findings]
    told += [({one.id}, one.first_action.gain_s) for one in document.findings if one.first_action]
    told.append((set(document.verdict.combined_of), document.verdict.combined_gain_s))
    for ids, gain_s in told:
        most_s = max(lost_s, window_s(document)) if ids & of_work else lost_s
        if gain_s is not None and not at_most(gain_s, most_s):
            yield f"{' and '.join(sorted(ids))} saves {gain_s} s, and {most_s} s were lost"


def _no_more_than_waited(document: Analysis) -> Iterator[str]:
    """What a finding on waiting saves is no more than all waited, or hid by evaluating."""
    stands_for = document.whole_run.stands_for if document.whole_run else 1.0
    calls = document.collectives
    ends_s = [one.end_s for one in document.run.endings]
    idle_s = sum(max(ends_s) - end_s for end_s in ends_s)
    accounts = {row.id: sum(row.ns_by_rank) for row in document.ledger}
    evaluated_ns = accounts[Account.EVALUATION.value]
    hidden_s = idle_s + evaluated_ns * NS
    waited_s = stands_for * (sum(calls.wait_s_by_rank) + sum(calls.other_s_by_rank) + hidden_s)
    of_waiting = {diagnosis.id for diagnosis in diagnoses() if diagnosis.of_waiting}
    of_waiting |= {lost_to_waiting(pattern) for pattern in LossPattern}
    for found in document.findings:
        gain_s = found.gain_s  # its first action saves no more
        if found.id in of_waiting and gain_s is not None and not at_most(gain_s, waited_s):
            yield f"{found.id} saves {gain_s} s, and ranks waited {waited_s} s"


def device_parts(document: Analysis) -> Iterator[str]:
    """Busy time of a device by what ran, idle time by what the host did, streams as a whole."""
    found = document.devices
    for row in found.devices if isinstance(found, Devices) else ():
        where = f"device {row.device} of rank {row.rank}"
        exposed = [row.exposed_communication_s, row.exposed_memory_s]
        yield from _adds_up(f"{where}, busy,", row.busy_s, [row.compute_s, *exposed])
        if row.idle_s_by_host:
            yield from _adds_up(f"{where}, idle,", row.idle_s, row.idle_s_by_host.values())
        for stream in row.streams:
            names = ("busy_s", "host_wait_s", "kernel_wait_s", "other_s", "edge_s")
            parts = [getattr(stream, name) for name in names]
            yield from _adds_up(f"{where}", row.busy_s + row.idle_s, parts)


def efficiency_told(document: Analysis) -> Iterator[str]:
    """The efficiency of the verdict is the one of the metrics, or of the whole of a thinned run."""
    told, metrics = document.verdict.efficiency, document.metrics
    found: Metric | None = getattr(metrics, told.id, None)
    every = document.whole_run.efficiencies if document.whole_run else ()
    expected = {row.id: row.value for row in every}.get(told.id, found and found.value)
    if found is not None and told.value != expected:
        yield f"the verdict says {told.value}, the metrics {expected}"


def timeline_length(document: Analysis) -> Iterator[str]:
    """The timeline is of the focus of analysis."""
    found = document.timeline
    if found.reason is None and not same(found.length_s, focus_s(document)):
        yield f"the timeline is {found.length_s} s of a focus of {focus_s(document)} s"
