"""Caches of functions that are too small for what comes back."""

from collections import defaultdict
from collections.abc import Sequence

from perfscope.attribution.own_places import usual_place
from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import saved_of_ranks
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence
from perfscope.structures import dataclass
from perfscope.trace.caches import Cache, caches
from perfscope.trace.model import Frame, Function, Rank
from perfscope.units import format_count, format_seconds, format_share

ACTION = (
    "Give {name} a larger cache: raise maxsize (now {most}), or keep all results with "
    "`@lru_cache(maxsize=None)` if memory suffices. How many of the evicted ones are asked for "
    "again was not counted: if the change saves nothing, none are, and no cache helps."
)


@dataclass(frozen=True)
class SmallCache:
    """The cache of one function on one rank, which evicts what it holds again and again."""

    rank: Rank
    cache: Cache
    seconds: float  # in which the rank computed results, as samples show it

    @property
    def again_s(self) -> float:
        """Of that, what results may have taken that had been computed before, at most."""
        return self.seconds * self.cache.again_share


def has_caches(results: Results) -> bool:
    """Whether any rank has a function with a cache that has an end."""
    return results.trace.has_stacks and any(caches(one.metadata) for one in results.trace.ranks)


def judge(run: Facts) -> Outcome:
    """Whether results that a cache no longer held take enough of the run to act on."""
    found = _small(run)
    worst = max(found, key=lambda own: max(one.again_s for one in own), default=None)
    if worst is None:
        return passed("No cache of a function of the program evicts what takes time to compute.")
    gain = _gain(run.results, worst)
    status = thresholds.deserved(gain)
    if not status.is_fault:
        most = format_seconds(gain.seconds)
        return passed(f"Results that caches of functions no longer held take {most} at most.")
    main = max(worst, key=lambda one: one.again_s)
    cache, name = main.cache, wording.called(main.cache.frame)
    return Finding(
        status=status,
        title=f"The cache of {wording.place(cache.frame)} holds {_counted(cache.most)} and evicted "
        f"{format_count(cache.evicted)}: those that are asked for again are computed again",
        summary=(
            f"Rank {main.rank.number} spends {format_seconds(main.seconds)} in {name}, which "
            f"computed {_counted(cache.misses)} and returned {format_count(cache.hits)} from its "
            "cache. That was full, and what it evicts is computed anew whenever it comes back. How "
            "much of it does is not recorded: what the cache held at the end was computed for the "
            "first time. Kept for good, results would save "
            f"{wording.saving(run.results, gain.seconds, is_bound=True)}."
        ),
        gain=gain,
        confidence=Confidence.MEDIUM,
        ranks=tuple(one.rank.number for one in worst),
        where=_where(run.results, main),
        evidence=_evidence(run.results, worst),
        actions=(ACTION.format(name=name, most=cache.most),),
        overlaps=("repeated_work", "load_imbalance", "straggler"),
    )


def _small(run: Facts) -> Sequence[Sequence[SmallCache]]:
    """By function, caches that were full and evicted far more than they hold."""
    found: defaultdict[Function, list[SmallCache]] = defaultdict(list)
    lines: defaultdict[Function, list[Frame]] = defaultdict(list)
    for frame in run.results.trace.frames:
        lines[frame.key].append(frame)
    for rank in run.results.trace.ranks:
        for cache in caches(rank.metadata):
            # full by the way is one that has replaced what it holds once
            if MAIN * cache.evicted >= max(cache.most, FEWEST_SAMPLES):
                seconds = run.line_samples.seconds(rank, lines[cache.frame.key])
                found[cache.frame.key].append(SmallCache(rank, cache, seconds))
    return list(found.values())


def _gain(results: Results, found: Sequence[SmallCache]) -> Gain:
    again = {one.rank.number: one.again_s for one in found}
    return saved_of_ranks(results, [again.get(one.number, 0.0) for one in results.trace.ranks])


def _where(results: Results, main: SmallCache) -> tuple[Frame, ...]:
    """The function, and that of the program in which most of its time passes."""
    trace, key = results.trace, main.cache.frame.key
    rows = results.focus.within(main.rank.main_stacks)["stack"].tolist()
    inside = [trace.stacks[row] for row in rows]
    inside = [one for one in inside if any(trace.frames[place].key == key for place in one)]
    inner = usual_place(inside, trace.frames)
    return (main.cache.frame, *([inner] if inner is not None and inner.key != key else ()))


def _counted(results: int) -> str:
    return "one result" if results == 1 else f"{format_count(results)} results"


def _evidence(results: Results, found: Sequence[SmallCache]) -> tuple[Evidence, ...]:
    key = found[0].cache.frame.key
    rows = []
    for rank in results.trace.ranks:
        own = next((one for one in caches(rank.metadata) if one.frame.key == key), None)
        if own is not None:
            fits = "" if own.evicted else ", and all of them fit"
            rows.append(
                Evidence(
                    f"Cache on rank {rank.number}",
                    f"{format_count(own.hits)} hits, {format_count(own.misses)} misses{fits}",
                )
            )
    main = max(found, key=lambda one: one.again_s)
    share = format_share(main.seconds / max(results.focus.length_ns * 1e-9, 1e-9))
    told = Evidence(f"Rank {main.rank.number} is in this function or what it calls", share)
    return (*rows[:4], told)


DIAGNOSIS = Diagnosis(
    id="small_cache",
    title="A function's cache is too small for what comes back",
    description=(
        "Compares what `functools.lru_cache` of the program's functions, methods included, counted "
        "until the end of a rank with what fits into the cache: results beyond that were computed "
        "and evicted. Samples show the time that computing them takes."
    ),
    judge=judge,
    applies=has_caches,
    intact=RANK_BY_RANK,
    passed="No function's cache evicts what takes long to compute",
    evidence="hits and misses of the cache on each rank, and the share of time in the function",
    gain_from=(
        "upper bound: the time in the function on the rank that spends most in it, without what "
        "the cache held at the end, which was computed a first time"
    ),
    counts_from="as most do, where it evicted twice as many results as it holds",
    rank=281,
    of_work=True,
)
