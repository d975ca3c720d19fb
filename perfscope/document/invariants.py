"""What always holds between the figures of analysis.json, whatever was recorded.

Each rule is a sentence and a function that yields what breaks it. Tests apply them to every
document that they make; `perfscope analyze --check` does so for users.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

from perfscope.document import sums
from perfscope.document.sums import ABSOLUTE, RELATIVE, at_most, focus_s, same, window_s
from perfscope.schema.analysis import Analysis
from perfscope.schema.check import problems
from perfscope.schema.common import Efficiencies, Metric
from perfscope.schema.devices import Devices
from perfscope.schema.efficiency import DEVICE_FACTORS, PRODUCTS
from perfscope.schema.enums import Status
from perfscope.schema.read import read_analysis
from perfscope.schema.time import Metrics
from perfscope.structures import dataclass
from perfscope.units import NS

Json = dict[str, Any]
SIGNED = ("gain_interval_s", "interval_s", "start_unix_s", "slope_bytes_per_s")
"""Figures that may be below 0: a bound of an interval, a memory that falls."""

MOMENTS = ("focus_of_analysis_s", "window_s", "windows_s", "end_s", "start_s")
"""Seconds on the clock of the trace, which may begin before its origin."""


@dataclass(frozen=True)
class Invariant:
    """One rule; `failures` yields what breaks it, in words with the figures."""

    id: str
    text: str
    failures: Callable[[Analysis], Iterator[str]]


def broken(document: Json) -> list[str]:
    """What breaks the declaration or the invariants, one sentence each; empty where all hold."""
    if found := [f"declaration: {said}" for said in problems(document)]:
        return found
    result = read_analysis(document)
    return [
        *(f"numbers: {said}" for said in _unsound_numbers(document)),
        *(f"{rule.id}: {said}" for rule in INVARIANTS for said in rule.failures(result)),
    ]


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number of the document with its place."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for item in value:
            yield from _numbers(item, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


_AMOUNTS = ("_s", "seconds", "ns_by_rank", "_bytes")


def _may_be_below_0(path: str, key: str) -> bool:
    """Whether a number of seconds or bytes is no amount: moments, bounds, changes.

    Transfer on the critical path, and in a step's part of it, is below 0 where a call ended before
    what it needed had begun: the path adds up to the run exactly, so nothing is cut off there.
    """
    is_signed = key in SIGNED or key in MOMENTS
    return is_signed or any(place in path for place in ("series.", "critical_path.", "by_step."))


def _unsound_numbers(document: Json) -> Iterator[str]:
    """Numbers that are not finite, seconds below 0, shares that are not from 0 to 1."""
    for path, value in _numbers(document):
        key = path.rpartition(".")[2]
        if not math.isfinite(value):
            yield f"{path} is {value}"
        elif key.endswith(_AMOUNTS) and not _may_be_below_0(path, key):
            if value < -ABSOLUTE:
                yield f"{path} is {value}"
        elif key.endswith("share") and not -RELATIVE <= value <= 1 + RELATIVE:
            yield f"{path} is {value}"


def _ledger(document: Analysis) -> Iterator[str]:
    rows, ranks = document.ledger, document.run.recorded_ranks
    whole = sum(sum(row.ns_by_rank) for row in rows)
    for row in rows:
        spent = sum(row.ns_by_rank)
        if len(row.ns_by_rank) != ranks:
            yield f"{row.id} has {len(row.ns_by_rank)} of {ranks} ranks"
        if not same(row.seconds, spent * NS):
            yield f"{row.id} is {row.seconds} s and its ranks {spent * NS} s"
        if whole and not same(row.share, spent / whole):
            yield f"{row.id} is {row.share} and {spent / whole} of the whole"


def _waits(document: Analysis) -> Iterator[str]:
    found = document.collectives
    accounts = {row.id: row.seconds for row in document.ledger}
    for part in ("wait", "transfer", "other"):
        told, account = sum(getattr(found, f"{part}_s_by_rank")), accounts[f"communication_{part}"]
        if not same(told, account):
            yield f"{part} of the ranks is {told} s, of the ledger {account} s"
    waited = sum(found.wait_s_by_rank)
    states = sum(state.seconds for state in found.wait_states)
    if found.wait_states and not same(states, waited):
        yield f"wait states are {states} s of {waited} s"
    costs = document.replay.delay_costs
    if costs is not None:
        charged = costs.direct_s + costs.indirect_s + costs.unattributed_s
        if not same(charged, waited) or not same(costs.waiting_s, waited):
            yield f"{charged} s are charged and {costs.waiting_s} s told of {waited} s waited"


def _product(tree: object, whole: str, factors: tuple[str, ...], where: str) -> Iterator[str]:
    told: float | None = getattr(tree, whole).value
    values = [getattr(tree, name).value for name in factors]
    if told is not None and None not in values and not same(told, math.prod(values)):
        yield f"{whole} of {where} is {told} and not {math.prod(values)}"


def _efficiencies(document: Analysis) -> Iterator[str]:
    trees: list[tuple[str, Metrics | Efficiencies]] = [("the run", document.metrics)]
    trees += [(row.id, row.metrics) for row in document.phases if row.metrics]
    for where, tree in trees:
        for whole, factors in PRODUCTS.items():
            yield from _product(tree, whole, factors, where)
        for name in ("parallel_efficiency", "load_balance", "productive_share"):
            metric: Metric = getattr(tree, name)
            value = metric.value
            if value is not None and not -RELATIVE <= value <= 1 + RELATIVE:
                yield f"{name} of {where} is {value}"
            if (value is None) != (metric.reason is not None):
                yield f"{name} of {where} is {value}, reason {metric.reason!r}"
    if not isinstance(document.devices, Devices):
        return
    for name, factors in vars(document.devices.efficiency).items():
        yield from _product(
            factors, "parallel_efficiency", tuple(DEVICE_FACTORS), f"devices ({name})"
        )


def _replay(document: Analysis) -> Iterator[str]:
    path = document.replay.critical_path
    if path is None:
        return
    parts = path.work_s + path.transfer_s
    if not same(path.seconds, parts):
        yield f"the critical path is {path.seconds} s and its parts {parts} s"
    length, error = focus_s(document), document.replay.relative_error or 0.0
    if abs(path.seconds - length) > (error + RELATIVE) * length + ABSOLUTE:
        yield f"the critical path is {path.seconds} s of a focus of {length} s"


def _steps(document: Analysis) -> Iterator[str]:
    steps, rate = document.steps, document.run.throughput
    if rate.steps != steps.count:
        yield f"{rate.steps} steps and {steps.count} steps"
    lengths = {len(one) for one in (steps.numbers, steps.max_seconds, steps.min_seconds)}
    if len(lengths) > 1 or max(lengths) > steps.count:
        yield f"series of {sorted(lengths)} for {steps.count} steps"
    for least, most in zip(steps.min_seconds, steps.max_seconds, strict=False):
        if least > most:
            yield f"the fastest rank takes {least} s, the slowest {most} s"
    median, high = rate.step_s_median.value, rate.step_s_p95.value
    if median is not None and high is not None and not at_most(median, high):
        yield f"the median step is {median} s, the 95th percentile {high} s"


def _ranks(document: Analysis) -> Iterator[str]:
    run = document.run
    if run.recorded_ranks + len(run.missing_ranks) != run.ranks:
        yield f"{run.recorded_ranks} and {len(run.missing_ranks)} of {run.ranks} ranks"
    there = sorted(row.rank for row in run.endings)
    if sorted(rank for host in run.hosts for rank in host.ranks) != there:
        yield "the ranks of the hosts are not those that ended"
    if len(there) != run.recorded_ranks or not set(run.incomplete_ranks) <= set(there):
        yield f"{len(there)} ranks ended, {run.recorded_ranks} were recorded"
    for finding in document.findings:
        if strange := set(finding.ranks) - set(there) - set(run.missing_ranks):
            yield f"{finding.id} is about ranks {sorted(strange)}, which the run has not"


def _gains(document: Analysis) -> Iterator[str]:
    length = window_s(document)
    for finding in document.findings:
        gain, interval, name = finding.gain_s, finding.gain_interval_s, finding.id
        if gain is None:
            continue
        if gain <= 0:
            yield f"{name} claims a saving of {gain} s"
        whole = gain / finding.gain_share if finding.gain_share else length
        reaches_back = length < whole and at_most(whole, document.run.wall_s)
        if not (same(whole, length) or reaches_back):
            yield f"{name} saves {gain} s, {finding.gain_share} of a focus of {length} s"
        if not at_most(gain, whole):
            yield f"{name} saves {gain} s of {whole} s"
        if interval and not (at_most(interval[0], gain) and at_most(gain, interval[1])):
            yield f"{name} saves {gain} s, not inside {interval}"
    top = document.verdict.top
    names = {finding.id for finding in document.findings}
    if set(top) - names:
        yield f"the verdict names {sorted(set(top) - names)}, which are no findings"


def _phases(document: Analysis) -> Iterator[str]:
    for phase in document.phases:
        pairs = zip(phase.seconds_by_rank, phase.communication_s_by_rank, strict=True)
        if any(not at_most(inside, whole) for whole, inside in pairs):
            yield f"{phase.id} communicates longer than it lasts"
        if len(phase.ranks) != sum(seconds > 0 for seconds in phase.seconds_by_rank):
            yield f"{phase.id} is entered by other ranks than spend time in it"


def _devices(document: Analysis) -> Iterator[str]:
    found = document.devices
    if not isinstance(found, Devices):
        return
    for device in found.devices:
        start, end = found.window_s
        where = f"device {device.device} of rank {device.rank}"
        if not same(device.busy_s + device.idle_s, end - start):
            yield f"{where} is busy and idle for {device.busy_s + device.idle_s} s"
        causes = sum(device.idle_s_by_cause.values())
        if device.idle_s_by_cause and not same(causes, device.idle_s):
            yield f"{where} is idle for {device.idle_s} s, with causes for {causes} s"


def _damage(document: Analysis) -> Iterator[str]:
    damage = document.run.damage
    told = {row.id for row in damage}
    if document.run.missing_ranks and "missing_ranks" not in told:
        yield "ranks are missing, and the run is not called damaged"
    if damage and document.verdict.status in {Status.PASS, Status.INFO}:
        yield f"the verdict on a damaged recording is {document.verdict.status.value}"
    if not any("every_rank" in row.spoils for row in damage):
        return
    for name in ("parallel_efficiency", "load_balance", "training_efficiency"):
        if getattr(document.metrics, name).value is not None:
            yield f"{name} is told although ranks cannot be compared"
    for finding in document.findings:
        if finding.gain_s is not None:
            yield f"{finding.id} saves {finding.gain_s} s of a job that is not known whole"


INVARIANTS = (
    Invariant(
        "ledger", "Each account is the sum of its ranks, and its share of the whole.", _ledger
    ),
    Invariant("waits", "Waits by rank, state, account and cause are the same seconds.", _waits),
    Invariant("efficiencies", "Each efficiency is the product of its factors.", _efficiencies),
    Invariant("replay", "The critical path is as long as its parts and as the run.", _replay),
    Invariant("steps", "Counts and series of steps agree, quantiles are in order.", _steps),
    Invariant("ranks", "The ranks told are the ranks recorded and missing.", _ranks),
    Invariant(
        "gains",
        "A saving is more than nothing, at most what there is, inside its interval.",
        _gains,
    ),
    Invariant("phases", "Communication in a phase is part of it.", _phases),
    Invariant("devices", "Busy and idle time of a device are its window.", _devices),
    Invariant("lives", "The ledger of a rank is its life, to the nanosecond.", sums.lives),
    Invariant("ledger_parts", "Functions are parts of their accounts.", sums.ledger_parts),
    Invariant("losses", "Losses and training work are all lives; waits are charged.", sums.losses),
    Invariant("work", "Work and communication fit the focus, and shares them.", sums.work),
    Invariant("communication", "Operations and waits are the sum of ranks.", sums.communication),
    Invariant("phase_parts", "Phases of a rank fit the focus.", sums.phase_parts),
    Invariant("path_parts", "Path and delays are the sum of their parts.", sums.path_parts),
    Invariant(
        "savings",
        "Savings are the shares they say; together no less than the best, no more than all.",
        sums.savings,
    ),
    Invariant("device_parts", "Busy and idle time of a device have parts.", sums.device_parts),
    Invariant("efficiency_told", "The verdict has the metric's value.", sums.efficiency_told),
    Invariant("timeline", "The timeline is of the focus.", sums.timeline_length),
    Invariant("damage", "What a damaged recording spoils is withheld.", _damage),
)
