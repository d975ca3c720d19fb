"""Why transfer takes long: one cause, so that one finding fires for the same lost time."""

import math
from collections.abc import Mapping, Sequence
from enum import Enum

import numpy as np

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.finding import Evidence, Gain, Quiet, not_measured, passed
from perfscope.findings.core.gain import (
    gain_of,
    moved_otherwise_s,
    moved_s,
    predicted_gain,
    saved,
    transfer_bound_s,
)
from perfscope.findings.core.one_rank import alone
from perfscope.findings.facts.cpu_contention import is_disturbed, waited_as_long
from perfscope.findings.facts.cpu_waits import moving_share, share_on_free_cpus
from perfscope.findings.facts.large_collectives import classes, has_fair_bandwidth, slow_fabric
from perfscope.findings.facts.transport_settings import Setting, slow_settings
from perfscope.judging import MAIN, SMALL_BYTES
from perfscope.metrics.communication.unhindered import unhindered_transfer_s
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.replay.replay import Replay
from perfscope.schema.common import TOLD_STEPS
from perfscope.schema.enums import Confidence, Status
from perfscope.structures import dataclass
from perfscope.units import NS

TRANSFER_FAIL_SHARE = 0.10  # which no real one is
SMALL_PER_STEP = 4  # small collectives in each step, of which several can be one
IDEAL = Edit(factor=1.0, network=math.inf)
TWICE = Edit(factor=1.0, network=2.0)
HALVED = Edit(factor=1.0, bytes=0.5)
FUSED = Edit(factor=1.0, fuse_bytes=64 << 20)
HIDDEN = Edit(factor=1.0, overlap=1.0)
ASKED = (TWICE, HALVED, FUSED, HIDDEN)

EXCHANGES = ("Horovod (exposed)", "torch.distributed.gradient_exchange")
"""Operations that are what was left when a rank had no work to hide an exchange behind."""

RECORD_HOROVOD = (
    "Record all ranks from their start with perfscope run, and Horovod over MPI (horovodrun --mpi, "
    "or mpirun)."
)
CONTENDED = (
    " Threads wait for CPUs in this run, and a collective takes longer while one of its ranks "
    "does: part of this is not the network's."
)

NOT_MATCHED = (
    "Waiting and transfer could not be told apart, as no call was matched with those of other "
    "ranks. Record every call of all ranks with perfscope run: without --steps, and with a larger "
    "--max-size where records were dropped."
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
    """Collectives that are made of latency: their share of all transfer, and their usual size.

    `calls` and `seconds` are those of a rank, mean of the ranks.
    """

    share: float = 0.0
    calls: int = 0
    size_bytes: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True)
class NetworkFacts:
    """Transfer of a run of several ranks, what less of it saves, and its main cause.

    `whole` is priced on a network that needs no time, `gains` are the seconds of single changes,
    None where the run does not tell.
    """

    whole: Gain
    gains: Mapping[Edit, float | None]
    small: Small
    control_s: float  # that Horovod spends on agreeing, mean of the ranks
    settings: tuple[Setting, ...]
    slow_fabric: float | None  # share of the fabric's rate that large collectives reach, if little
    is_contended: bool
    is_disturbed: bool  # ranks wait for CPUs, be it only for the system's sake
    is_explained: bool  # ranks wait for CPUs for as long, or both ends of it hardly have any
    usual_share: float  # of the focus, if each exchange took the median time of its kind
    certain_share: float  # of the focus without waiting for CPUs, if as fast as the fastest ones
    cause: Cause
    length_s: float  # of the focus
    free_share: float = 0.0  # of the run without any waiting for CPUs, by replay

    @property
    def least_s(self) -> float:
        """Seconds below which a gain is not told."""
        return thresholds.WARN_SHARE * self.length_s

    def gain_s(self, edit: Edit) -> float:
        """Seconds of a change, 0.0 where it is not known or not worth telling."""
        found = self.gains.get(edit) or 0.0
        return found if found >= self.least_s else 0.0

    def cost(self, results: Results) -> str:
        """What a network that needs no time saves, in words."""
        return wording.saving(results, self.whole.seconds, is_bound=self.whole.is_bound)

    def status(self) -> Status:
        """Status of the transfer; milder where ranks wait for CPUs, as collectives wait with them.

        There usual calls decide, as in far longer ones a rank has lost its CPU; but not where even
        the fastest calls take long, or where most of the run with CPUs of its own is transfer.
        """
        return thresholds.unless_chance(self._status_at(self.whole.share), self.whole)

    def _status_at(self, part: float) -> Status:
        if self.is_contended and self.free_share >= MAIN and part >= self.whole.share:
            return Status.WARN
        share = min(part, self.usual_share) if self.is_contended or self.is_disturbed else part
        if self.is_contended and min(part, self.certain_share) >= TRANSFER_FAIL_SHARE:
            return Status.WARN
        if self.is_explained and share >= thresholds.FAIL_SHARE_UPPER_BOUND:
            return Status.INFO
        if share >= TRANSFER_FAIL_SHARE:
            return Status.WARN if self.is_contended else Status.FAIL
        if share >= thresholds.FAIL_SHARE_UPPER_BOUND:
            return Status.INFO if self.is_contended else Status.WARN
        return Status.PASS

    def status_of(self, cause: Cause) -> Status:
        """The status of the finding about a cause: it passes where another one is the main one."""
        return self.own_status(cause) if cause is self.cause else Status.PASS

    def claim_s(self, cause: Cause) -> float:
        """Seconds that the finding about a cause claims."""
        if cause is Cause.SMALL:
            bound_s = min(self.whole.seconds, self.small.seconds)
            return min(self.gain_s(FUSED) or bound_s, self.whole.seconds)
        if cause is Cause.CONTROL:
            return min(self.whole.seconds, self.control_s)
        return self.whole.seconds

    def own_status(self, cause: Cause) -> Status:
        """What the seconds of a cause deserve, at most the status of the whole transfer."""
        claim = self.whole.of(self.claim_s(cause))
        if cause is Cause.SMALL and self.gain_s(FUSED):
            return self._status_of_fused(claim)
        own = thresholds.unless_chance(self._status_at(claim.share), claim)
        return max(own, self.status(), key=lambda status: status.order)

    def _status_of_fused(self, claim: Gain) -> Status:
        """The status of collectives that are to be fewer, as much as usual ones take.

        Fewer of them take less time whatever each one waits for, be it a CPU.
        """
        own = Status.FAIL if claim.share >= thresholds.FAIL_SHARE else Status.WARN
        own = thresholds.unless_chance(own, claim)
        usual_share = self.usual_share * self.small.share
        if self.is_contended and min(claim.share, usual_share) >= TRANSFER_FAIL_SHARE:
            return own
        return max(own, self.status(), key=lambda one: one.order)


def halved(results: Results, facts: NetworkFacts, edits: Sequence[Edit] = (HALVED, TWICE)) -> Gain:
    """What half as many bytes save, at most; without a replay half of all transfer is left.

    `edits` are what it may be told by, the first one that the run tells.
    """
    for edit in edits:
        if (seconds := facts.gains.get(edit)) is not None:
            return saved(results, seconds, edits=(edit,), is_planned=True)
    return saved(results, 0.5 * facts.whole.seconds, is_planned=True)


def network_facts(
    results: Results, replay: Replay, *, is_contended: bool, is_crowded: bool
) -> NetworkFacts:
    """The facts of a run of two ranks or more whose transfer is known.

    Where more ranks than CPUs wait for these (`is_crowded`), one that polls in a call runs for
    nothing while the one that it needs has no CPU: no call tells of the network.
    """
    bound_s = transfer_bound_s(results)
    whole = predicted_gain(results, replay, [IDEAL], bound_s=bound_s, is_planned=True)
    is_large = whole.share >= thresholds.FAIL_SHARE_UPPER_BOUND
    gains = {edit: gain_of(replay, edit) for edit in ASKED} if is_large else {}
    length_s = results.focus.length_ns * NS
    small, settings, slow = _small(results), slow_settings(results), slow_fabric(results)
    is_starved = is_crowded or (is_contended and moving_share(results) < TRANSFER_FAIL_SHARE)
    is_told, is_certain = is_large and not is_starved, is_large and is_contended and not is_crowded
    found = NetworkFacts(
        whole=whole,
        gains=gains,
        small=small,
        control_s=control_s(results),
        settings=settings,
        slow_fabric=slow,
        is_contended=is_contended,
        is_disturbed=is_disturbed(results),
        is_explained=is_starved or (is_contended and waited_as_long(results, whole.seconds)),
        usual_share=_usual_s(results) / max(length_s, NS),
        certain_share=_certain_share(results, length_s) if is_certain else 0.0,
        cause=Cause.BANDWIDTH,
        length_s=length_s,
        free_share=share_on_free_cpus(results, replay, IDEAL) if is_told else 0.0,
    )
    return NetworkFacts(**{**vars(found), "cause": _cause(results, found)})


def unknown(results: Results) -> Quiet | None:
    """What is said where transfer is not known; None where it is."""
    if quiet := alone(results, "The run has a single rank: nothing is moved."):
        return quiet
    found = results.communication
    if any(found.wait_s_by_rank) or any(found.transfer_s_by_rank):
        return None
    trace = results.trace
    if "communication" not in trace.not_recorded and not any(found.other_s_by_rank):
        return passed("The ranks hardly communicate in the analyzed window.")
    return not_measured(wording.not_recorded(trace, "communication", NOT_MATCHED))


def confidence(facts: NetworkFacts) -> Confidence:
    """How sure a gain is: lower where ranks wait for CPUs in the middle of a collective."""
    if facts.is_contended:
        return Confidence.LOW
    return Confidence.HIGH if not facts.whole.is_bound else Confidence.MEDIUM


def transfer_rows(results: Results) -> tuple[Evidence, ...]:
    """Transfer beside waiting, which is judged elsewhere."""
    found = results.communication
    return (
        Evidence("Transfer, mean of the ranks", mean(found.transfer_s_by_rank), "s"),
        Evidence("Waiting for other ranks, mean of the ranks", mean(found.wait_s_by_rank), "s"),
    )


def mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return sum(values) / max(1, len(values))


def told_steps(results: Results) -> int:
    """Steps that a framework or a marker told, else 0."""
    return results.steps.count if results.steps.source in TOLD_STEPS else 0


def _small(results: Results) -> Small:
    """Collectives below the size at which bandwidth counts."""
    known = classes(results)
    small = [c for c in known if c.size_bytes < SMALL_BYTES]
    total_s, ranks = moved_s(results), len(results.trace.ranks)
    if not small or total_s <= 0:
        return Small()
    main = max(small, key=lambda c: c.seconds * c.calls)
    # of all ranks, of which each communicator has a part; as usual calls have it, small and large:
    # those in which a rank lost its CPU would hide what the others are made of
    spent_s = sum(c.seconds * c.calls * c.ranks for c in small)
    usual_s = sum(c.seconds * c.calls * c.ranks for c in known)
    usual_s += moved_otherwise_s(results, {c.name for c in known})
    share = min(1.0, spent_s / usual_s)
    calls = round(sum(c.calls * c.ranks for c in small) / ranks)
    return Small(share, calls, float(main.size_bytes), share * total_s / ranks)


def _cause(results: Results, facts: NetworkFacts) -> Cause:
    """The cause of most of the transfer; what a person can change at once comes first."""
    if facts.settings or facts.slow_fabric is not None:
        return Cause.TRANSPORT
    if _is_exchange(results):
        if _is_control(results, facts):
            return Cause.CONTROL
        if exchanges_on_hosts(results):
            return Cause.EXCHANGE
    if _is_small(results, facts):
        return Cause.SMALL
    if has_fair_bandwidth(results) and told_steps(results) and samples_are_known(results):
        return Cause.PER_STEP
    return Cause.BANDWIDTH


def _certain_share(results: Results, length_s: float) -> float:
    """Of the run without waiting for CPUs, what its transfer takes at least."""
    own_s = length_s - mean([rank.lost_s for rank in results.resources.cpu_waits])
    return unhindered_transfer_s(results.waits, results.focus) / own_s if own_s > 0 else 0.0


def _usual_s(results: Results) -> float:
    """Seconds of all exchanges if each took the median time of those like it.

    What is moved otherwise, as messages and collectives of unknown size are, counts as it was.
    """
    counted = {c.name for c in classes(results)}.union(EXCHANGES)
    found = moved_otherwise_s(results, counted) / max(1, len(results.trace.ranks))
    found += sum(c.seconds * c.calls for c in classes(results))
    if (exchange := results.gradient_exchange) is not None and exchange.transfer_s_by_rank:
        found += max(exchange.transfer_s_by_rank) * exchange.exchanges
    if results.horovod is not None and results.horovod.exposed.step_transfer_s is not None:
        by_step = results.horovod.exposed.step_transfer_s
        known = by_step[~np.isnan(by_step).any(axis=1)]
        found += float(np.median(known.max(axis=1))) * results.steps.count if len(known) else 0.0
    return float(found)


def _is_exchange(results: Results) -> bool:
    """Whether most of the transfer is what a framework could not hide."""
    spent = {row.name: row.transfer_s or 0.0 for row in results.communication.operations}
    exposed_s = sum(spent.get(name, 0.0) for name in EXCHANGES)
    return exposed_s > 0 and exposed_s >= MAIN * moved_s(results)


def exchanges_on_hosts(results: Results) -> bool:
    """Whether a framework exchanges gradients, and no accelerator was measured that computes."""
    is_known = results.horovod is not None or results.gradient_exchange is not None
    return is_known and results.devices is None


def control_s(results: Results) -> float:
    """Seconds of a rank in which Horovod was waited for and no tensor moved, mean of the ranks."""
    if results.horovod is None:
        return 0.0
    exposed = results.horovod.exposed
    return max(0.0, mean(exposed.transfer_s) - mean(exposed.data_s))


def _is_control(results: Results, facts: NetworkFacts) -> bool:
    """Whether Horovod's agreeing takes most of the transfer, not its moving of tensors."""
    spent_s = facts.control_s * len(results.trace.ranks)
    return 0 < spent_s >= MAIN * moved_s(results) and is_worth(facts, Cause.CONTROL)


def _is_small(results: Results, facts: NetworkFacts) -> bool:
    """Whether most of the transfer goes into small collectives, and fewer of them would pay."""
    is_most = facts.small.share >= MAIN
    return is_most and _can_be_fused(results, facts) and is_worth(facts, Cause.SMALL)


def is_worth(facts: NetworkFacts, cause: Cause) -> bool:
    """Whether a cause deserves a word, and a warning where the whole transfer deserves one."""
    own = facts.own_status(cause)
    if facts.status().is_fault:
        return own.is_fault
    return own is not Status.PASS


def _can_be_fused(results: Results, facts: NetworkFacts) -> bool:
    """Whether small collectives follow each other at once: one a step has none to be fused with."""
    least = SMALL_PER_STEP * told_steps(results)
    return 0 < least <= facts.small.calls or facts.gain_s(FUSED) > 0


def samples_are_known(results: Results) -> bool:
    """Whether it is known how much is processed between two exchanges."""
    return results.steps.samples_per_s.value is not None
