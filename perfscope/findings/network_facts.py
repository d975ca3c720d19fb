"""Why transfer takes long: one cause, so that one finding fires for the same lost time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from perfscope.findings import thresholds
from perfscope.findings.finding import Confidence, Evidence, Finding, Status
from perfscope.findings.price import NS, Price, bound_s, gain_of, price
from perfscope.findings.threads_over_cores import waits_for_cpus
from perfscope.findings.transport_settings import Setting, fabric_bytes_per_s, slow_settings
from perfscope.replay.model import Edit
from perfscope.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perfscope.metrics.collective_cost import SizeClass
    from perfscope.metrics.results import Results
    from perfscope.replay.model import Replay

IDEAL = Edit(factor=1.0, network=math.inf)
TWICE = Edit(factor=1.0, network=2.0)
HALVED = Edit(factor=1.0, bytes=0.5)
FUSED = Edit(factor=1.0, fuse_bytes=64 << 20)
HIDDEN = Edit(factor=1.0, overlap=1.0)
ASKED = (TWICE, HALVED, FUSED, HIDDEN)

TOLD = {"framework", "marker"}
"""Where steps come from that somebody told."""

EXCHANGES = ("Horovod_exposed", "torch.distributed.gradient_exchange")
"""Operations that are what was left when a rank had no work to hide an exchange behind."""

CROWDED = (
    " Threads wait for CPUs in this run, and a collective takes longer while one of its ranks "
    "does: part of this is not the network's."
)


class Cause(Enum):
    """What makes most of the transfer; value = id of the finding that names it."""

    TRANSPORT = "wrong_transport"
    SMALL = "small_allreduces"
    CONTROL = "horovod_control"
    EXCHANGE = "exposed_exchange"
    PER_STEP = "communication_per_step"
    BANDWIDTH = "network_bound"


@dataclass(frozen=True)
class Small:
    """Collectives that are made of latency: their share of the time, number, and usual size."""

    share: float = 0.0
    calls: int = 0
    size_bytes: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True)
class NetworkFacts:
    """Transfer of a run of several ranks, what less of it gives back, and its main cause.

    `whole` is priced on a network that needs no time, `gains` are the seconds of single changes,
    None where the run does not tell.
    """

    whole: Price
    gains: Mapping[Edit, float | None]
    small: Small
    settings: tuple[Setting, ...]
    slow_fabric: float | None  # share of the fabric's rate that large collectives reach, if little
    is_crowded: bool
    cause: Cause
    least_s: float  # seconds below which a gain is not told

    def gain_s(self, edit: Edit) -> float:
        """Seconds of a change, 0.0 where it is not known or not worth telling."""
        found = self.gains.get(edit) or 0.0
        return found if found >= self.least_s else 0.0

    def back(self, *edits: Edit) -> str:
        """What the first of some changes gives back that this run tells, in words."""
        found = [self.gain_s(edit) for edit in edits if self.gain_s(edit)]
        return f": that gives back up to {format_seconds(found[0])}" if found else ""

    def status(self, share: float | None = None) -> Status:
        """Status of transfer of this share; one degree milder where ranks wait for CPUs."""
        share = self.whole.share if share is None else share
        if share >= thresholds.TRANSFER_FAIL_SHARE:
            return Status.WARN if self.is_crowded else Status.FAIL
        if share >= thresholds.TRANSFER_WARN_SHARE:
            return Status.INFO if self.is_crowded else Status.WARN
        return Status.PASS

    def status_of(self, cause: Cause) -> Status:
        """The status of the finding about a cause: it passes where another one is the main one."""
        return self.status() if cause is self.cause else Status.PASS


def network_facts(results: Results, replay: Replay) -> NetworkFacts:
    """The facts of a run of two ranks or more whose transfer is known."""
    nothing = [0.0] * len(results.trace.ranks)
    whole = price(results, replay, [IDEAL], bound_s=bound_s(results, nothing), is_planned=True)
    is_large = whole.share >= thresholds.TRANSFER_WARN_SHARE
    gains = {edit: gain_of(replay, edit) for edit in ASKED} if is_large else {}
    least_s = thresholds.WARN_SHARE * results.focus.length_ns * NS
    small, settings, slow = _small(results), slow_settings(results), _slow_fabric(results)
    found = NetworkFacts(
        whole=whole,
        gains=gains,
        small=small,
        settings=settings,
        slow_fabric=slow,
        is_crowded=waits_for_cpus(results),
        cause=Cause.BANDWIDTH,
        least_s=least_s,
    )
    return NetworkFacts(**{**vars(found), "cause": _cause(results, found)})


def unknown(results: Results, id: str, title: str, passed: str) -> Finding | None:  # noqa: A002
    """What is said where transfer is not known; None where it is."""
    if len(results.trace.ranks) < 2:
        text = "The run has a single rank: nothing is moved."
        return Finding(id, Status.NOT_APPLICABLE, title, text, confidence=Confidence.HIGH)
    found = results.communication
    if any(found.wait_s_by_rank) or any(found.transfer_s_by_rank):
        return None
    reason = results.trace.not_recorded.get("communication")
    if reason is None and not any(found.other_s_by_rank):
        text = "The ranks hardly communicate in the analysed time."
        return Finding(id, Status.PASS, passed, text, confidence=Confidence.HIGH)
    text = reason or "Waiting and transfer could not be told apart in this run."
    return Finding(id, Status.NOT_MEASURED, title, text, confidence=Confidence.HIGH)


def confidence(facts: NetworkFacts) -> Confidence:
    """How sure a gain is: lower where ranks wait for CPUs in the middle of a collective."""
    if facts.is_crowded:
        return Confidence.LOW
    return Confidence.HIGH if facts.whole.is_replayed else Confidence.MEDIUM


def classes(results: Results) -> tuple[SizeClass, ...]:
    """Collectives by operation and size."""
    cost = results.collective_cost
    return cost.classes if cost else ()


def transfer_rows(results: Results) -> tuple[Evidence, ...]:
    """Transfer beside waiting, which is judged elsewhere."""
    found = results.communication
    return (
        Evidence("Transfer, mean of the ranks", _mean(found.transfer_s_by_rank), "s"),
        Evidence("Waiting for other ranks, mean of the ranks", _mean(found.wait_s_by_rank), "s"),
    )


def _mean(values: tuple[float, ...]) -> float:
    return sum(values) / len(values) if values else 0.0


def told_steps(results: Results) -> int:
    """Steps that a framework or a marker told, else 0."""
    return results.steps.count if results.steps.source in TOLD else 0


def _small(results: Results) -> Small:
    """Collectives below the size at which bandwidth counts."""
    known = classes(results)
    total_s = sum(c.seconds * c.calls for c in known)
    small = [c for c in known if c.size_bytes < thresholds.SMALL_BYTES]
    if not small or total_s <= 0:
        return Small()
    main = max(small, key=lambda c: c.seconds * c.calls)
    spent_s = sum(c.seconds * c.calls for c in small)
    return Small(spent_s / total_s, sum(c.calls for c in small), float(main.size_bytes), spent_s)


def _cause(results: Results, facts: NetworkFacts) -> Cause:
    """The cause of most of the transfer; what a person can change at once comes first."""
    if facts.settings or facts.slow_fabric is not None:
        return Cause.TRANSPORT
    if _is_exchange(results):
        return Cause.CONTROL if _is_control(results) else Cause.EXCHANGE
    if facts.small.share >= thresholds.SMALL_SHARE and _can_be_fused(results, facts):
        return Cause.SMALL
    if has_fair_bandwidth(results) and told_steps(results) and samples_are_known(results):
        return Cause.PER_STEP
    return Cause.BANDWIDTH


def _is_exchange(results: Results) -> bool:
    """Whether most of the transfer is what a framework could not hide."""
    spent = {row.name: row.transfer_s or 0.0 for row in results.communication.operations}
    hidden = sum(spent.get(name, 0.0) for name in EXCHANGES)
    return hidden > 0 and hidden >= thresholds.MAIN_CAUSE_SHARE * sum(spent.values())


def _is_control(results: Results) -> bool:
    """Whether Horovod spends most of what it exposes on agreeing, not on moving tensors."""
    if results.horovod is None:
        return False
    exposed = results.horovod.exposed
    data_s, whole_s = sum(exposed.data_s), sum(exposed.transfer_s)
    return whole_s > 0 and whole_s - data_s >= thresholds.MAIN_CAUSE_SHARE * whole_s


def _can_be_fused(results: Results, facts: NetworkFacts) -> bool:
    """Whether small collectives follow each other at once: one a step has none to be fused with."""
    several = 0 < thresholds.SMALL_PER_STEP * told_steps(results) <= facts.small.calls
    return several or facts.gain_s(FUSED) > 0


def has_fair_bandwidth(results: Results) -> bool:
    """Whether the large collectives that take most time are as fast as an ordinary network."""
    large = [c for c in classes(results) if c.size_bytes >= thresholds.LARGE_BYTES]
    if not large:
        return False
    main = max(large, key=lambda c: c.seconds * c.calls)
    return main.bus_bytes_per_s >= thresholds.FAIR_BYTES_PER_S


def samples_are_known(results: Results) -> bool:
    """Whether it is known how much is processed between two exchanges."""
    return results.steps.samples_per_s.value is not None


def _slow_fabric(results: Results) -> float | None:
    """Share of the fabric's rate that large collectives between hosts reach, where it is small."""
    rate = fabric_bytes_per_s(results)
    if rate is None or len({rank.host for rank in results.trace.ranks}) < 2:
        return None
    large = [c for c in classes(results) if c.size_bytes >= thresholds.LARGE_BYTES]
    large = [c for c in large if c.ranks == len(results.trace.ranks)]
    if sum(c.calls for c in large) < thresholds.FEWEST_LARGE_CALLS:
        return None
    share = max(c.bus_bytes_per_s for c in large) / rate
    return share if share < thresholds.FABRIC_LEAST_SHARE else None
