"""Who works more than the others by the work added up over the run, and in what."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from statistics import mean, median

from perfscope.attribution.not_training import TRAINING_ACCOUNTS
from perfscope.attribution.stack_rules import is_user_file
from perfscope.attribution.start_up import StartUp
from perfscope.findings.core import wording
from perfscope.findings.core.thresholds import FAIL_SHARE
from perfscope.findings.facts.only_here import shared_frames, spent_alone
from perfscope.findings.facts.own_callers import own_caller
from perfscope.findings.facts.serial_work import SerialWork, own_seconds
from perfscope.judging import ALONE, MAIN
from perfscope.metrics.efficiency.phases import PhaseResult
from perfscope.metrics.host.samples import samples_by_rank
from perfscope.metrics.results import Results
from perfscope.schema.enums import Account, PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function

OVERLOADED_SHARE = 0.02  # above the median rank's work: a rank that works more than the others
OVERLOADED_PART = 0.2  # of what the first works beyond the median: less does not count beside it
EQUAL_SAMPLES_SHARE = 0.02  # ranks whose sample counts differ by less have the same load
LAST_SHARE = 0.6  # of the collectives at which ranks waited, for the same ranks: these are late
SAME_RATIO_SPREAD = 0.3  # phases slowed alike, relative to the mean excess: slow in everything
SERIAL_KINDS = {PhaseKind.EVALUATE, PhaseKind.PREDICT, PhaseKind.CHECKPOINT, PhaseKind.IO}


@dataclass(frozen=True)
class Excess:
    """Where the overloaded ranks work longer than the others, most seconds first.

    `is_alone`: it is at lines that no other rank was seen at.
    """

    name: str
    own_s: float  # of the overloaded ranks, their mean
    least_s: float  # of that overloaded rank which is there for the shortest time
    usual_s: float  # of the others, their median
    where: tuple[Frame, ...]
    phase: str
    is_alone: bool = False

    @property
    def seconds(self) -> float:
        """What the overloaded ranks work there beyond the others."""
        return self.own_s - self.usual_s

    @property
    def ratio(self) -> float | None:
        """Their work there over that of the others; None where these have none."""
        return self.own_s / self.usual_s if self.usual_s > 0 else None

    @property
    def least_ratio(self) -> float | None:
        """The same of the overloaded rank with the least."""
        return self.least_s / self.usual_s if self.usual_s > 0 else None


@dataclass(frozen=True)
class UnevenWork:
    """The work of the ranks, without what one rank does alone, set-up and waiting for input."""

    ranks: tuple[int, ...]  # their numbers
    work_s: tuple[float, ...]  # of each
    overloaded: tuple[int, ...]  # numbers of the ranks that work more than the others
    # most ranks are overloaded, and with them the usual one: all but those that work less than it
    is_most: bool

    @property
    def constant_s(self) -> float:
        """Maximum minus mean computation: lost to ranks that always work longer."""
        return max(self.work_s) - mean(self.work_s)


def uneven_work(results: Results, alone: Sequence[SerialWork], start_up: StartUp) -> UnevenWork:
    """The work of the ranks of a run.

    What single ranks do alone, and the set-up, are set aside.
    """
    ranks = results.efficiency.ranks
    work_s = _shared_work(results, alone, start_up)
    if underloaded := _underloaded(ranks, work_s):
        rest = tuple(rank for rank in ranks if rank not in underloaded)
        return UnevenWork(ranks, work_s, rest, is_most=True)
    return UnevenWork(ranks, work_s, _overloaded(ranks, work_s), is_most=False)


def _shared_work(
    results: Results, alone: Sequence[SerialWork], start_up: StartUp
) -> tuple[float, ...]:
    work = dict(zip(results.efficiency.ranks, results.efficiency.outside_s, strict=True))
    for serial in alone:
        # what of it lies in set-up is taken off with the set-up
        own_s = _later(start_up, serial.source, [serial.rank], [serial.seconds])[serial.rank]
        work[serial.rank] = max(0.0, work[serial.rank] - own_s)
    for rank, waited_s in input_wait_s(results).items():
        work[rank] = max(0.0, work[rank] - waited_s)
    for rank, setup_s in zip(start_up.ranks, start_up.setup_s, strict=True):
        work[rank] = max(0.0, work[rank] - setup_s)
    return tuple(work.values())


def input_wait_s(results: Results) -> dict[int, float]:
    """Seconds that each rank waits for its next batch: no work that another rank could do."""
    waited = dict.fromkeys(results.efficiency.ranks, 0.0)
    for phase in results.phases:
        if phase.kind is PhaseKind.INPUT:
            for rank, seconds in zip(phase.ranks, own_seconds(phase), strict=True):
                waited[rank] = waited.get(rank, 0.0) + seconds
    return waited


def _overloaded(ranks: tuple[int, ...], work_s: tuple[float, ...]) -> tuple[int, ...]:
    """Ranks that work more than the usual rank; of two, the one that works more.

    Beside a rank that is far beyond the usual, one that is a little beyond it does not count.
    """
    usual = min(work_s) if len(work_s) == 2 else median(work_s)
    beyond = max(OVERLOADED_SHARE * usual, OVERLOADED_PART * (max(work_s) - usual))
    bound = usual + beyond
    found = tuple(rank for rank, work in zip(ranks, work_s, strict=True) if work > bound)
    return found or (ranks[work_s.index(max(work_s))],)


def _underloaded(ranks: tuple[int, ...], work_s: tuple[float, ...]) -> frozenset[int]:
    """Ranks that work less than the usual rank, where no rank works much more than it does.

    So it is where most ranks are overloaded, and with them the usual one.
    """
    if len(work_s) == 2:
        return frozenset()
    usual, most = median(work_s), max(work_s)
    if most > (1.0 + OVERLOADED_SHARE) * usual:
        return frozenset()
    below = max(OVERLOADED_SHARE * usual, OVERLOADED_PART * (usual - min(work_s)))
    pairs = zip(ranks, work_s, strict=True)
    return frozenset(rank for rank, work in pairs if work < usual - below)


def come_last(results: Results, overloaded: tuple[int, ...]) -> bool:
    """Whether it is mostly the overloaded ranks that others wait for, where arrivals tell."""
    late, chosen = results.communication.late_arrivals, set(overloaded)
    last = sum(arrival.instances for arrival in late if arrival.rank in chosen)
    return last >= LAST_SHARE * sum(arrival.instances for arrival in late)


def slow_host(results: Results, overloaded: tuple[int, ...]) -> str:
    """The host on which the overloaded ranks run, where all its ranks are and it is not alone."""
    by_host: dict[str, set[int]] = {}
    for rank in results.trace.ranks:
        by_host.setdefault(rank.host, set()).add(rank.number)
    found = [host for host, numbers in by_host.items() if numbers == set(overloaded)]
    return found[0] if found and len(by_host) > 1 else ""


def equal_samples(results: Results) -> bool | None:
    """Whether all ranks processed as many samples; None where that is not known."""
    counts = samples_by_rank(results.trace, results.focus)
    if counts is None:
        return None
    return max(counts) - min(counts) <= EQUAL_SAMPLES_SHARE * max(counts)


def excess_of(results: Results, ranks: tuple[int, ...], start_up: StartUp) -> tuple[Excess, ...]:
    """In which phases and functions these ranks work longer than the others, most seconds first.

    Functions are told outside of phases, unless most of what is more lies in none of these, or a
    function in the steps has more of it than any outside: then of all training work, as steps may
    be known whose parts are not.
    """
    phases = [
        (_name(p), p.id, p.where, _later(start_up, p.id, p.ranks, own_seconds(p)))
        for p in results.phases
        if p.kind not in SERIAL_KINDS and p.kind is not PhaseKind.INPUT
    ]
    outside = _functions(results, start_up, (Account.COMPUTATION,))
    found = _excess(results, ranks, [*phases, *outside])
    work_s = dict(zip(results.efficiency.ranks, results.efficiency.outside_s, strict=True))
    (whole,) = _excess(results, ranks, [("", "", (), work_s)])
    is_elsewhere = sum(max(0.0, one.seconds) for one in found) < MAIN * whole.seconds
    training = _functions(results, start_up, TRAINING_ACCOUNTS)
    inside = _excess(results, ranks, [*phases, *training])
    if is_elsewhere or _is_in_steps(found[:1], inside[:1]):
        found = inside
    return tuple(_in_whose_name(results, ranks, one) for one in found[:1]) + found[1:]


def _is_in_steps(outside: Sequence[Excess], inside: Sequence[Excess]) -> bool:
    """Whether a function in the steps takes longer still than what does most outside of them.

    What a phase has is not told by its functions, of which one may be in several phases.
    """
    pairs = zip(outside, inside, strict=False)
    return any(
        not one.phase and not other.phase and other.seconds > one.seconds for one, other in pairs
    )


def _in_whose_name(results: Results, ranks: tuple[int, ...], excess: Excess) -> Excess:
    """Whether these ranks alone were seen at the lines of what takes longer.

    Of a function that all ranks call, the caller that only these have; see `own_caller`.
    """
    if not excess.where:
        return excess
    shared, key = shared_frames(results, *ranks), excess.where[0].key
    least_s = min(spent_alone(results, one, key, shared)[0] for one in ranks)
    # how long a phase takes is known exactly, at which of its lines from samples alone
    is_alone = least_s >= (MAIN if excess.phase else ALONE) * excess.seconds > 0
    if excess.ratio is None or is_alone or excess.phase:
        return replace(excess, is_alone=is_alone)
    caller = own_caller(results, ranks, excess.where[0])
    if caller is None:
        return excess
    return replace(excess, name=wording.called(caller), where=(caller, *excess.where))


_Row = tuple[str, str, tuple[Frame, ...], dict[int, float]]
"""What ranks do: its name, the id of its phase or "", where it is, and seconds by rank."""


def _functions(
    results: Results, start_up: StartUp, accounts: Collection[Account]
) -> Iterator[_Row]:
    """The user's functions, as far as their time belongs to some accounts.

    Functions of libraries stand for stacks without any of the user's, as at the program's end:
    they count where there are no others.
    """
    spent: defaultdict[Function, dict[int, float]] = defaultdict(dict)
    lines: dict[Function, int] = {}
    has_own = any(is_user_file(share.key[1]) for share in results.ledger.functions)
    for share in results.ledger.functions:  # most seconds first
        key = share.key
        if share.account in accounts and (is_user_file(key[1]) or not (has_own and key[1])):
            lines.setdefault(key, share.line)
            pairs = zip(results.ledger.ranks, share.seconds_by_rank, strict=True)
            for rank, seconds in pairs:
                spent[key][rank] = spent[key].get(rank, 0.0) + seconds
    for key, by_rank in spent.items():
        later = _later(start_up, key, list(by_rank), list(by_rank.values()))
        frame = Frame(*key, lines[key])
        yield wording.called(frame), "", (frame,), later


def _excess(results: Results, ranks: Collection[int], rows: Sequence[_Row]) -> tuple[Excess, ...]:
    overloaded, found = set(ranks), []
    for label, phase, where, seconds in rows:
        others = [seconds.get(r, 0.0) for r in results.efficiency.ranks if r not in overloaded]
        usual = median(others) if others else 0.0
        own = mean(seconds.get(rank, 0.0) for rank in overloaded)
        least = min(seconds.get(rank, 0.0) for rank in overloaded)
        frames = _late_frames(results, overloaded, phase) or where
        found.append(Excess(label, own, least, usual, frames, phase))
    return tuple(sorted(found, key=lambda excess: -excess.seconds))


def _later(
    start_up: StartUp, what: str | Function, ranks: Sequence[int], seconds: Sequence[float]
) -> dict[int, float]:
    """Seconds by rank in a phase or function without those of the set-up at the beginning."""
    known = start_up.phases.get(what) if isinstance(what, str) else start_up.functions.get(what)
    begun = dict(zip(start_up.ranks, known, strict=True)) if known else {}
    pairs = zip(ranks, seconds, strict=True)
    return {rank: max(0.0, spent - begun.get(rank, 0.0)) for rank, spent in pairs}


def _name(phase: PhaseResult) -> str:
    """The phase inside a sentence; names that the program gave keep their letters."""
    return phase.label if phase.kind is PhaseKind.USER else phase.label.lower()


def _late_frames(results: Results, overloaded: Collection[int], phase: str) -> tuple[Frame, ...]:
    """The function in which the overloaded ranks kept the others waiting longest, and its caller.

    Functions that the others waited less for are often only seen at the edge of the work.
    """
    late = [
        arrival
        for arrival in results.communication.late_arrivals
        if arrival.rank in overloaded and arrival.phase == phase and phase and arrival.frame
    ]
    if not late:
        return ()
    lead = max(late, key=lambda arrival: arrival.waiting_s)
    return tuple(frame for frame in (lead.frame, lead.caller) if frame is not None)


def is_single(results: Results, overloaded: tuple[int, ...]) -> bool:
    """Whether most of the waiting for these ranks, solo work left out, was one single wait.

    Waits for messages are many: what the rank waits that waits most, beyond the collectives.
    """
    serial, chosen = {p.id for p in results.phases if p.kind in SERIAL_KINDS}, set(overloaded)
    late = [
        arrival
        for arrival in results.communication.late_arrivals
        if arrival.rank in chosen and arrival.phase not in serial
    ]
    # many ranks that are late once each are late many times
    single = max((arrival.stall_s for arrival in late if arrival.instances == 1), default=0.0)
    every = sum(arrival.stall_s for arrival in results.communication.late_arrivals)
    for_messages = max(0.0, max(results.communication.wait_s_by_rank, default=0.0) - every)
    return single > MAIN * (sum(arrival.stall_s for arrival in late) + for_messages)


def is_everywhere(excess: tuple[Excess, ...], work_s: tuple[float, ...]) -> bool:
    """Whether several phases are slowed alike, and no phase of weight or overloaded rank is not."""
    least = FAIL_SHARE * max(work_s)
    slowed = [
        (e.ratio - 1.0, e.least_ratio - 1.0)
        for e in excess
        if e.ratio is not None and e.least_ratio is not None
        if e.phase and e.seconds / max(e.ratio - 1.0, 1e-9) >= least
    ]
    if len(slowed) < 2 or min(of_rank for _, of_rank in slowed) <= OVERLOADED_SHARE:
        return False
    weighty = [ratio for ratio, _ in slowed]
    usual = mean(weighty)
    return max(abs(ratio - usual) for ratio in weighty) <= SAME_RATIO_SPREAD * usual
