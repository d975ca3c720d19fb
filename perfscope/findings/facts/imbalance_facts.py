"""Who works more than the others, in what, and whether it is always the same ranks."""

from collections.abc import Collection, Sequence
from enum import Enum
from statistics import mean, median

from perfscope.attribution.start_up import Opening
from perfscope.findings.core import thresholds
from perfscope.findings.facts.serial_work import SoloWork, edits_of, own_seconds
from perfscope.findings.facts.start_up_facts import OpeningFacts
from perfscope.metrics.efficiency.phases import PhaseResult
from perfscope.metrics.host.samples import samples_by_rank
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit, Level, Persistence, Prediction
from perfscope.replay.replay import Replay
from perfscope.schema.enums import Account, PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.model import Frame

HEAVY_SHARE = 0.02  # above the median rank's work: a rank that works more than the others
HEAVY_PART = 0.2  # of what the heaviest rank works beyond the median: less does not count beside it
CONSTANT_SHARE = 0.5  # of the gain, explained by always the same ranks: constant imbalance
EQUAL_SAMPLES_SHARE = 0.02  # ranks whose sample counts differ by less have the same load
SINGLE_SHARE = 0.5  # of the waiting for a rank, in one single wait: it happened once
JITTER_SHARE = 0.06  # of the focus: ordinary jitter, when another rank is late each time
CERTAIN_ERRORS = 2.0  # standard errors beyond which it is no chance
RECURRING_SHARE = 0.25  # of the time: what makes ranks late more rarely is a disturbance
LAST_SHARE = 0.6  # of the collectives at which ranks waited, for the same ranks: these are late
SAME_RATIO_SPREAD = 0.3  # phases slowed alike, relative to the mean excess: slow in everything
PHASE_LEAST_SHARE = 0.03  # of a rank's work, below which a phase says nothing about its speed
SOLO_KINDS = {PhaseKind.EVALUATE, PhaseKind.PREDICT, PhaseKind.CHECKPOINT, PhaseKind.IO}
SHARED = Edit(level=Level.SHARED)
EVEN = Edit(level=Level.EVEN)


class Pattern(Enum):
    """What kind of imbalance it is."""

    CONSTANT = "constant"  # the same ranks have more to do, or it is not known that they have not
    STRAGGLER = "straggler"  # the same ranks take longer for the same work
    ALTERNATING = "alternating"  # another rank is late each time


@dataclass(frozen=True)
class Excess:
    """Where the heavy ranks work longer than the others, most seconds first.

    `seconds` is the mean over the heavy ranks of their work there beyond the median of the other
    ranks; `ratio` their work there over that median, and `least_ratio` that of the rank with the
    least, None where the others have none.
    """

    name: str
    seconds: float
    ratio: float | None
    where: tuple[Frame, ...]
    phase: str
    least_ratio: float | None


@dataclass(frozen=True)
class ImbalanceFacts:
    """The work of the ranks, without what one rank does alone, set-up and waiting for input.

    Where most ranks are heavy, the usual rank is one of them: then all but the light ones are.
    `is_bound` says that `prediction` is more than a fix can save: ordinary spread of the step
    times was taken away with it.
    """

    ranks: tuple[int, ...]
    work_s: tuple[float, ...]
    heavy: tuple[int, ...]  # numbers of the ranks that work more than the others
    pattern: Pattern
    everywhere: bool  # the heavy ranks are slower in everything
    slow_host: str  # on which all heavy ranks and no others run, "" where there is no such host
    excess: tuple[Excess, ...]
    equal_samples: bool | None  # whether all ranks processed as many samples; None unknown
    edits: tuple[Edit, ...]  # the change that the gain is about
    prediction: Prediction | None
    evenly: Prediction | None  # when the ranks work equally long, step times varying as they do
    as_others: (
        Prediction | None
    )  # with the heavy ranks as fast as the rest, where that is not `edits`
    is_bound: bool
    lasting: Persistence | None  # how far a rank late in one step is late in the next; None unknown
    explained: tuple[Edit, ...]  # what other findings explain
    is_single: bool  # whether most of the waiting for the heavy ranks was one single wait

    @property
    def load_balance(self) -> float:
        """Mean work over most work: of this work alone, and so not that of the whole run."""
        return mean(self.work_s) / max(self.work_s) if max(self.work_s) > 0 else 1.0

    @property
    def lasts(self) -> bool:
        """Whether ranks that are late by turns are so for several steps on end."""
        return self.pattern is Pattern.ALTERNATING and self.is_bound and persists(self.lasting)

    @property
    def constant_s(self) -> float:
        """Maximum minus mean computation: lost to ranks that always work longer."""
        return max(self.work_s) - mean(self.work_s)

    @property
    def bound_s(self) -> float:
        """What `edits` save at most, from the work added up over the run."""
        if self.edits == (EVEN,):
            return self.constant_s
        heavy = set(self.heavy)
        pairs = zip(self.ranks, self.work_s, strict=True)
        rest = [work for rank, work in pairs if rank not in heavy]
        return max(0.0, max(self.work_s) - median(rest)) if rest else self.constant_s


def imbalance_facts(
    results: Results, replay: Replay, *, alone: Sequence[SoloWork], begun: OpeningFacts | None
) -> ImbalanceFacts:
    """The facts about a run of two ranks or more.

    Args:
        results: the run.
        replay: of it.
        alone: what single ranks do alone, which is set aside.
        begun: the set-up, which is set aside, too.
    """
    ranks = results.efficiency.ranks
    opening = begun.opening if begun and begun.explained else Opening()
    work_s = _work_without_solo(results, alone, opening)
    heavy, light = _heavy(ranks, work_s), _light(ranks, work_s)
    if light:
        heavy = tuple(rank for rank in ranks if rank not in light)
    solo = (*edits_of(alone), *(begun.explained if begun else ()))
    ideal = replay.predict([SHARED], after=solo)
    constant_s = max(work_s) - mean(work_s)
    constant = ideal is None or constant_s >= CONSTANT_SHARE * ideal.gain_s
    excess = _excess(results, heavy, opening) if constant else ()
    equal = _equal_samples(results)
    everywhere = constant and equal is not False and _everywhere(excess, work_s)
    host = _slow_host(results, heavy) if constant else ""
    pattern = Pattern.CONSTANT if constant else Pattern.ALTERNATING
    if constant and not light:
        same_work = everywhere or (equal is True and len(heavy) == 1)
        same_work = same_work or (bool(host) and len(heavy) > 1 and equal is not False)
        pattern = Pattern.STRAGGLER if same_work and _comes_last(results, heavy) else pattern
    edits = (EVEN,) if light and constant else _edits(len(ranks), heavy, pattern, equal)
    prediction = replay.predict(edits, after=solo)
    evenly = replay.predict([EVEN], after=solo)
    if pattern is Pattern.CONSTANT and _is_more(evenly, prediction):
        edits, prediction = (EVEN,), evenly
    is_unknown = constant and not light and edits == (EVEN,) and equal is not False
    as_others = Edit(ranks=heavy, level=Level.AS_OTHERS) if is_unknown else None
    lasting = replay.persistence(after=solo)
    is_bound = not constant and not _stands_out(prediction, lasting)
    return ImbalanceFacts(
        ranks=ranks,
        work_s=work_s,
        heavy=heavy if constant else (),
        pattern=pattern,
        everywhere=everywhere,
        slow_host=host,
        excess=excess,
        equal_samples=equal,
        edits=(SHARED,) if is_bound else edits,
        prediction=ideal if is_bound else prediction,
        evenly=evenly,
        as_others=replay.predict([as_others], after=solo) if as_others else None,
        is_bound=is_bound,
        lasting=lasting,
        explained=solo,
        is_single=constant and _is_single(results, heavy),
    )


def _stands_out(prediction: Prediction | None, lasting: Persistence | None) -> bool:
    """Whether ranks are late again and again, and by more than step times vary anyway.

    What a step costs by its data mostly says nothing about the next one: a rank that is late in
    many steps on end may have a CPU that is slow for a while.
    """
    return (
        prediction is not None
        and prediction.reach >= RECURRING_SHARE
        and prediction.gain_share >= JITTER_SHARE
        and not persists(lasting)
    )


def persists(lasting: Persistence | None) -> bool:
    """Whether ranks that are late in one step are so in the next ones, too, beyond chance."""
    if lasting is None:
        return False
    return lasting.value >= max(thresholds.PERSISTENT, CERTAIN_ERRORS * lasting.error)


def _is_more(one: Prediction | None, other: Prediction | None) -> bool:
    """Whether the first saves more, where both are known."""
    return one is not None and other is not None and one.gain_s > other.gain_s


def _work_without_solo(
    results: Results, alone: Sequence[SoloWork], opening: Opening
) -> tuple[float, ...]:
    work = dict(zip(results.efficiency.ranks, results.efficiency.outside_s, strict=True))
    for solo in alone:
        # what of it lies in set-up is taken off with the set-up
        own_s = _later(opening, solo.source, [solo.rank], [solo.seconds])[solo.rank]
        work[solo.rank] = max(0.0, work[solo.rank] - own_s)
    for rank, waited_s in input_wait_s(results).items():
        work[rank] = max(0.0, work[rank] - waited_s)
    for rank, setup_s in zip(opening.ranks, opening.setup_s, strict=True):
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


def _heavy(ranks: tuple[int, ...], work_s: tuple[float, ...]) -> tuple[int, ...]:
    """Ranks that work more than the usual rank; of two, the one that works more.

    Beside a rank that is far beyond the usual, one that is a little beyond it does not count.
    """
    usual = min(work_s) if len(work_s) == 2 else median(work_s)
    beyond = max(HEAVY_SHARE * usual, HEAVY_PART * (max(work_s) - usual))
    bound = usual + beyond
    found = tuple(rank for rank, work in zip(ranks, work_s, strict=True) if work > bound)
    return found or (ranks[work_s.index(max(work_s))],)


def _light(ranks: tuple[int, ...], work_s: tuple[float, ...]) -> frozenset[int]:
    """Ranks that work less than the usual rank, where no rank works much more than it does.

    So it is where most ranks are heavy, and with them the usual one.
    """
    if len(work_s) == 2:
        return frozenset()
    usual, most = median(work_s), max(work_s)
    if most > (1.0 + HEAVY_SHARE) * usual:
        return frozenset()
    below = max(HEAVY_SHARE * usual, HEAVY_PART * (usual - min(work_s)))
    pairs = zip(ranks, work_s, strict=True)
    return frozenset(rank for rank, work in pairs if work < usual - below)


def _comes_last(results: Results, heavy: tuple[int, ...]) -> bool:
    """Whether it is mostly the heavy ranks that others wait for, where arrivals tell."""
    late, chosen = results.communication.late_arrivals, set(heavy)
    last = sum(arrival.instances for arrival in late if arrival.rank in chosen)
    return last >= LAST_SHARE * sum(arrival.instances for arrival in late)


def _slow_host(results: Results, heavy: tuple[int, ...]) -> str:
    """The host on which the heavy ranks run, where all its ranks are heavy and it is not alone."""
    by_host: dict[str, set[int]] = {}
    for rank in results.trace.ranks:
        by_host.setdefault(rank.host, set()).add(rank.number)
    found = [host for host, numbers in by_host.items() if numbers == set(heavy)]
    return found[0] if found and len(by_host) > 1 else ""


def _equal_samples(results: Results) -> bool | None:
    counts = samples_by_rank(results.trace, results.focus)
    if counts is None:
        return None
    return max(counts) - min(counts) <= EQUAL_SAMPLES_SHARE * max(counts)


def _edits(
    rank_count: int, heavy: tuple[int, ...], pattern: Pattern, equal_samples: bool | None
) -> tuple[Edit, ...]:
    """The change that takes the imbalance away.

    Ranks that take longer for the same work should work as fast as the others; where they have
    more to do, or of two ranks it is not known, the ranks should work equally long. Where another
    rank is late each time, what is far beyond the ordinary should take the usual time.
    """
    if pattern is Pattern.ALTERNATING:
        return (Edit(level=Level.USUAL),)
    if pattern is Pattern.STRAGGLER:
        return (Edit(ranks=heavy, level=Level.AS_OTHERS),)
    spread = equal_samples is False or (equal_samples is None and rank_count == 2)
    if spread:
        return (EVEN,)
    return (Edit(ranks=heavy, level=Level.AS_OTHERS),)


def _excess(results: Results, ranks: tuple[int, ...], opening: Opening) -> tuple[Excess, ...]:
    heavy = set(ranks)
    rows = [
        (_name(p), p.id, p.where, _later(opening, p.id, p.ranks, own_seconds(p)))
        for p in results.phases
        if p.kind not in SOLO_KINDS and p.kind is not PhaseKind.INPUT
    ]
    for share in results.ledger.functions:
        if share.account is Account.COMPUTATION:
            frame = Frame(share.function, share.file, share.line)
            key, ranks_of = (share.function, share.file), results.ledger.ranks
            seconds = _later(opening, key, ranks_of, share.seconds_by_rank)
            rows.append((f"{share.function}()", "", (frame,), seconds))
    found = []
    for label, phase, where, seconds in rows:
        others = [seconds.get(r, 0.0) for r in results.efficiency.ranks if r not in heavy]
        usual = median(others) if others else 0.0
        own = mean(seconds.get(rank, 0.0) for rank in heavy)
        least = min(seconds.get(rank, 0.0) for rank in heavy)
        ratio, of_each = (own / usual, least / usual) if usual > 0 else (None, None)
        frames = _late_frames(results, heavy, phase) or where
        found.append(Excess(label, own - usual, ratio, frames, phase, of_each))
    return tuple(sorted(found, key=lambda excess: -excess.seconds))


def _later(
    opening: Opening, what: str | tuple[str, str], ranks: Sequence[int], seconds: Sequence[float]
) -> dict[int, float]:
    """Seconds by rank in a phase or function without those of the set-up at the beginning."""
    known = opening.phases.get(what) if isinstance(what, str) else opening.functions.get(what)
    begun = dict(zip(opening.ranks, known, strict=True)) if known else {}
    pairs = zip(ranks, seconds, strict=True)
    return {rank: max(0.0, spent - begun.get(rank, 0.0)) for rank, spent in pairs}


def _name(phase: PhaseResult) -> str:
    """The phase inside a sentence; names that the program gave keep their letters."""
    return phase.label if phase.kind is PhaseKind.USER else phase.label.lower()


def _late_frames(results: Results, heavy: Collection[int], phase: str) -> tuple[Frame, ...]:
    """The function in which the heavy ranks kept the others waiting longest, and its caller.

    Functions that the others waited less for are often only seen at the edge of the work.
    """
    late = [
        arrival
        for arrival in results.communication.late_arrivals
        if arrival.rank in heavy and arrival.phase == phase and phase and arrival.frame
    ]
    if not late:
        return ()
    lead = max(late, key=lambda arrival: arrival.waiting_s)
    return tuple(frame for frame in (lead.frame, lead.caller) if frame is not None)


def _is_single(results: Results, heavy: tuple[int, ...]) -> bool:
    """Whether most of the waiting for these ranks, solo work left out, was one single wait.

    Waits for messages are many: what the rank waits that waits most, beyond the collectives.
    """
    solo, chosen = {p.id for p in results.phases if p.kind in SOLO_KINDS}, set(heavy)
    late = [
        arrival
        for arrival in results.communication.late_arrivals
        if arrival.rank in chosen and arrival.phase not in solo
    ]
    # many ranks that are late once each are late many times
    single = max((arrival.stall_s for arrival in late if arrival.instances == 1), default=0.0)
    every = sum(arrival.stall_s for arrival in results.communication.late_arrivals)
    for_messages = max(0.0, max(results.communication.wait_s_by_rank, default=0.0) - every)
    return single > SINGLE_SHARE * (sum(arrival.stall_s for arrival in late) + for_messages)


def _everywhere(excess: tuple[Excess, ...], work_s: tuple[float, ...]) -> bool:
    """Whether two phases or more are slowed alike, none of weight is spared, and no heavy rank."""
    least = PHASE_LEAST_SHARE * max(work_s)
    slowed = [
        (e.ratio - 1.0, e.least_ratio - 1.0)
        for e in excess
        if e.ratio is not None and e.least_ratio is not None
        if e.phase and e.seconds / max(e.ratio - 1.0, 1e-9) >= least
    ]
    if len(slowed) < 2 or min(of_rank for _, of_rank in slowed) <= HEAVY_SHARE:
        return False
    weighty = [ratio for ratio, _ in slowed]
    usual = mean(weighty)
    return max(abs(ratio - usual) for ratio in weighty) <= SAME_RATIO_SPREAD * usual
