"""Memory that grows for as long as the job runs."""

from collections.abc import Mapping, Sequence

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, not_measured, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.growth_causes import (
    KEPT_FAIL_BYTES,
    KEPT_WARN_BYTES,
    Cause,
    cause_of,
    compiled_again,
    is_known_per_call,
    is_slight,
    is_too_short,
    per_call,
)
from perfscope.findings.facts.memory_limits import Room, ranks_that_fit, rooms
from perfscope.findings.facts.memory_lines import lines_that_keep
from perfscope.judging import MAIN
from perfscope.metrics.host.framework_calls import FrameworkCalls
from perfscope.metrics.host.memory_growth import LEAST_STEADY_S, MemoryGrowth
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, PhaseKind, Status
from perfscope.schema.resources import MemoryOfNode
from perfscope.structures import dataclass
from perfscope.trace.model import Frame
from perfscope.units import capitalized, counted, format_bytes, format_seconds

GROWTH_LEAST_BYTES = 2 << 20  # in the second half of the run: less is noise of the allocator
GROWTH_LEAST_SHARE = 0.005  # the same, of the peak of the rank
GROWTH_SURE_S = 30.0  # of steady growth, from when on it may be drawn on over hours
GROWTH_REACH = 100.0  # times as far as it was seen: how far shorter growth may be drawn on
GROWTH_LONG_S = 24 * 3600.0  # a node that lasts longer at this pace is no failure yet

MANY = thresholds.KEPT_INFO_BYTES
FEWEST_STEPS = 10  # fewer say nothing about one
PHASE_SHARE = 0.2  # of the growth, in one phase: worth a word


def judge(run: Facts) -> Outcome:
    """Whether memory keeps growing, on which ranks, by what, and when the node is full."""
    results = run.results
    found = _of_ranks(results)
    growing = [one for one in found if one.status is not Status.PASS]
    if not growing:
        short = [one for one in found if one.is_short]
        if short or not results.memory_growth:
            return _not_measured(results, short)
        return _passed(results)
    pace = {one.rank: one.pace_bytes_per_s for one in growing if not one.cause.is_freed}
    worst = max(growing, key=lambda one: one.pace_bytes_per_s)
    full_s, room = _first_full(results, pace)
    status = min((one.status for one in growing), key=lambda status: status.order)
    if full_s is not None and _is_soon(full_s, worst) and not is_slight(worst.cause):
        status = Status.FAIL
    lines = lines_that_keep(results, [one.rank for one in growing])
    everywhere = len(growing) == len(found)
    return Finding(
        status=status,
        title=_title(growing, worst),
        summary=_summary(results, worst, full_s, room),
        confidence=Confidence.HIGH if everywhere else Confidence.MEDIUM,
        ranks=tuple(one.rank for one in growing),
        where=lines.where or worst.cause.where or _where(results, worst),
        evidence=(*_evidence(results, worst, full_s), *lines.evidence),
        actions=(*lines.actions, *worst.cause.actions, *lines.advice),
        overlaps=("memory_headroom", "start_up", "predict_in_loop"),
    )


@dataclass(frozen=True)
class _Grown:
    """What is known of the growth of one rank, over time and from call to call.

    `growth` is that over time, None where it is none or too little. `is_short`: it grew, in calls
    of which there were too few to tell whether it goes on.
    """

    rank: int
    status: Status
    cause: Cause
    growth: MemoryGrowth | None
    is_short: bool = False

    @property
    def pace_bytes_per_s(self) -> float:
        """By how much it grows, once it is warm."""
        if self.growth is not None:
            return self.growth.slope_bytes_per_s
        calls = self.cause.calls
        if calls is None or calls.growth_bytes is None or calls.steady_s <= 0:
            return 0.0
        return calls.growth_bytes * calls.steady_calls / calls.steady_s


def _is_soon(full_s: float, worst: _Grown) -> bool:
    """Whether a node is full in a time that counts, and not told from far shorter growth."""
    calls_s = worst.cause.calls.steady_s if worst.cause.calls is not None else 0.0
    seen_s = worst.growth.steady_s if worst.growth is not None else calls_s
    is_sure = seen_s >= GROWTH_SURE_S or full_s <= GROWTH_REACH * seen_s
    return full_s < GROWTH_LONG_S and is_sure


def _of_ranks(results: Results) -> list[_Grown]:
    peaks = {one.rank: one.peak_bytes for one in results.resources.memory}
    growths = {one.rank: one for one in results.memory_growth}
    again = compiled_again(results)
    found = []
    for rank in (rank.number for rank in results.trace.ranks):
        growth = growths.get(rank)
        if growth is not None and growth.steady_bytes < _least(peaks.get(rank, 0)):
            growth = None
        cause = cause_of(results, rank, growth, again)
        found.append(_of_rank(rank, growth, cause, peaks.get(rank, 0)))
    return found


def _of_rank(rank: int, growth: MemoryGrowth | None, cause: Cause, peak_bytes: int) -> _Grown:
    by_call = per_call(cause)
    if growth is None:
        grew = cause.calls is not None and (cause.calls.growth_bytes or 0.0) >= MANY
        return _Grown(rank, by_call, cause, None, is_short=grew and is_too_short(cause))
    if is_too_short(cause):
        return _Grown(rank, Status.PASS, cause, None, is_short=True)
    is_mild = _is_kept_less(growth, cause) or _may_end(growth, peak_bytes)
    over_time = Status.INFO if is_mild else Status.WARN
    return _Grown(rank, by_call if is_known_per_call(cause) else over_time, cause, growth)


def _may_end(growth: MemoryGrowth, peak_bytes: int) -> bool:
    """Whether it is a small part of what the rank takes, and too short to be drawn on over hours.

    Libraries fill their caches for longer than a short run lasts.
    """
    return (
        growth.steady_s < GROWTH_SURE_S and growth.steady_bytes < thresholds.FAIL_SHARE * peak_bytes
    )


def _is_kept_less(growth: MemoryGrowth, cause: Cause) -> bool:
    """Whether malloc keeps less of what was freed than the program uses: it is used again."""
    kept = growth.kind.kept_share if growth.kind is not None else None
    return cause.is_freed and kept is not None and kept < MAIN


def _least(peak_bytes: int) -> float:
    return max(GROWTH_LEAST_BYTES, GROWTH_LEAST_SHARE * peak_bytes)


def _not_measured(results: Results, short: Sequence[_Grown]) -> Outcome:
    if short and (calls := short[0].cause.calls) is not None:
        return not_measured(
            f"{capitalized(wording.ranks([one.rank for one in short]))} grew, but "
            f"{calls.calls:,} calls of {calls.name} are too few to tell warm-up from growth: "
            f"its caches fill for up to {thresholds.CALLS_UNTIL_STEADY:,}."
        )
    few = any(len(rank.process_samples) for rank in results.trace.ranks)
    return not_measured(
        "The run is too short to tell steady growth from warm-up: 40 samples of memory over "
        "about 20 s of work are needed."
        if few
        else wording.not_recorded(
            results.trace,
            "memory",
            "No memory was sampled: record with --sample-hz 10 (the default).",
        )
    )


def _passed(results: Results) -> Outcome:
    warm = max(growth.warm_up_bytes for growth in results.memory_growth)
    known = {growth.rank for growth in results.memory_growth}
    unknown = [rank.number for rank in results.trace.ranks if rank.number not in known]
    text = (
        f"The ranks grew by at most {format_bytes(max(0, warm))} while they warmed up, and not "
        "steadily in the second half of the run."
    )
    if not unknown:
        return passed(text)
    told = f"{text} Of {wording.ranks(unknown)} too few samples are there to tell."
    if len(unknown) > len(known):
        return not_measured(told)
    return passed(told, Confidence.LOW)


def _first_full(results: Results, pace: Mapping[int, float]) -> tuple[float | None, Room | None]:
    """Seconds until the first node or control group is full at this pace, and which one it is."""
    found: tuple[float | None, Room | None] = (None, None)
    for room in rooms(results):
        slope = sum(slope for rank, slope in pace.items() if rank in room.ranks)
        if slope > 0 and (found[0] is None or room.end_bytes / slope < found[0]):
            found = (room.end_bytes / slope, room)
    return found


def _title(growing: Sequence[_Grown], worst: _Grown) -> str:
    memory = f"Memory of {wording.ranks([one.rank for one in growing])}"
    calls = worst.cause.calls
    if calls is not None and calls.growth_bytes is not None:
        text = (
            f"{memory} grows by {format_bytes(calls.growth_bytes)} with each call of {calls.name}()"
        )
    else:
        text = f"{memory} keeps growing, by up to {format_bytes(worst.pace_bytes_per_s)}/s"
    return f"{text}: {worst.cause.what}" if worst.cause.what else text


def _summary(results: Results, worst: _Grown, full_s: float | None, room: Room | None) -> str:
    growth, calls = worst.growth, worst.cause.calls
    parts = []
    if growth is not None:
        parts.append(
            f"Rank {worst.rank} grew by {format_bytes(max(0, growth.warm_up_bytes))} while it "
            f"warmed up and then by {format_bytes(growth.steady_bytes)} in "
            f"{format_seconds(growth.steady_s)}, in every quarter of that time."
        )
        parts += _others(results, growth)
    elif calls is not None:
        parts.append(
            f"Over the last {calls.steady_calls:,} of {calls.calls:,} calls rank {worst.rank} grew "
            f"by {format_bytes(worst.pace_bytes_per_s)}/s."
        )
    if full_s is not None and room is not None:
        left = f"At this pace {room.name} is used up in {format_seconds(full_s)}"
        if calls is not None and calls.steady_s > 0:
            left += f", after {full_s * calls.steady_calls / calls.steady_s:,.0f} calls"
        parts.append(f"{left}.")
    if (fits := ranks_that_fit(results, worst.rank, worst.growth)) is not None:
        parts.append(
            f"{counted(fits.now, 'rank')} like it fit {fits.room.name}; "
            f"{fits.without_growth:,} would if it did not grow."
        )
    return " ".join(parts)


def _others(results: Results, growth: MemoryGrowth) -> list[str]:
    """Ranks that rose about as much, but not steadily: what grows need not be of one rank alone."""
    rose = [
        one.rank
        for one in results.memory_growth
        if one.steady_bytes == 0 and one.late_bytes >= MAIN * growth.late_bytes > 0
    ]
    if not rose:
        return []
    return [f"{capitalized(wording.ranks(rose))} rose as well, but less evenly."]


def _where(results: Results, worst: _Grown) -> tuple[Frame, ...]:
    names = list(worst.growth.calls) if worst.growth is not None else []
    if worst.cause.calls is not None:
        names = [worst.cause.calls.name]
    kinds = dict.fromkeys(("predict", "predict_on_batch"), PhaseKind.PREDICT)
    kinds |= dict.fromkeys(("evaluate", "test_on_batch"), PhaseKind.EVALUATE)
    wanted = {kinds.get(name, PhaseKind.TRAIN) for name in names}
    for phase in results.phases:
        if phase.kind in wanted and phase.where:
            return phase.where
    return ()


def _evidence(results: Results, worst: _Grown, full_s: float | None) -> tuple[Evidence, ...]:
    warm = next((one for one in results.memory_growth if one.rank == worst.rank), None)
    rows = [*_warm_up(warm), *_over_time(worst.growth), *_from_call_to_call(worst.cause.calls)]
    hosts = {rank.number: rank.host for rank in results.trace.ranks}
    node: MemoryOfNode | None = next(
        (n for n in results.resources.node_memory if n.host == hosts.get(worst.rank)), None
    )
    if node and node.least_available_bytes is not None:
        left = format_bytes(node.least_available_bytes)
        rows.append(Evidence(f"Least memory available on host {node.host}", left))
    if full_s is not None:
        rows.append(Evidence("Time until it is used up at this pace", full_s, "s"))
    return tuple(rows)


def _warm_up(growth: MemoryGrowth | None) -> list[Evidence]:
    if growth is None:
        return []
    warm = format_bytes(max(0, growth.warm_up_bytes))
    return [
        Evidence(f"Warm-up of rank {growth.rank}", warm),
        Evidence("Warm-up ends after", growth.warm_up_end_s, "s"),
    ]


def _over_time(growth: MemoryGrowth | None) -> list[Evidence]:
    if growth is None:
        return []
    rows = [
        Evidence("Steady growth", format_bytes(growth.steady_bytes), "", "0 B"),
        Evidence("Steady growth per second", format_bytes(growth.slope_bytes_per_s)),
    ]
    rows += [
        Evidence(f"The same per {name}", format_bytes(growth.steady_bytes / count))
        for name, count in growth.calls.items()
    ]
    if growth.steps >= FEWEST_STEPS:
        each = format_bytes(growth.steady_bytes / growth.steps)
        rows.append(Evidence("The same per step", each))
    rows += [
        Evidence(f"Of it while in {name or 'no phase'}", format_bytes(grown))
        for name, grown in growth.phases[:3]
        if grown >= PHASE_SHARE * growth.steady_bytes
    ]
    if growth.python_blocks_per_s is not None:
        blocks = growth.python_blocks_per_s
        rows.append(Evidence("Blocks that Python keeps more of, per second", blocks, "1/s"))
    return rows


def _from_call_to_call(calls: FrameworkCalls | None) -> list[Evidence]:
    if calls is None or calls.growth_bytes is None:
        return []
    last = f"of the last {calls.steady_calls:,} of {calls.calls:,}"
    rows = [Evidence(f"Growth per {calls.name}(), {last}", format_bytes(calls.growth_bytes))]
    if calls.kept_bytes is not None:
        rows.append(Evidence("Of it inside the call", format_bytes(max(0.0, calls.kept_bytes))))
    return rows


DIAGNOSIS = Diagnosis(
    id="memory_growth",
    title="Memory grows for as long as the job runs",
    description=(
        "Compares the medians of each rank's resident memory in the four quarters of the second "
        "half of the run: what rises in all of them is steady growth, with the slope of Theil and "
        "Sen; what rises before is warm-up. Where a framework's functions are called in a loop, "
        "also the growth from call to call over the last half of the calls."
    ),
    judge=judge,
    intact=RANK_BY_RANK,
    passed="Memory does not keep growing",
    evidence=(
        "warm-up and when it ends, steady growth per second, step and call, of it inside the "
        "calls, blocks of Python, whether memory of malloc, freed memory that malloc keeps, "
        "shared memory or mapped files grow, time and calls until the node is full, ranks "
        "that fit with and without it"
    ),
    counts_from=(
        f"{format_bytes(GROWTH_LEAST_BYTES)} and {100 * GROWTH_LEAST_SHARE:g} % of the rank's "
        f"peak in a second half of at least {LEAST_STEADY_S:g} s; per call "
        f"{format_bytes(KEPT_FAIL_BYTES)} fails, {format_bytes(KEPT_WARN_BYTES)} warns, "
        f"{format_bytes(MANY)} is reported (info), as is growth of less than "
        f"{100 * thresholds.WARN_SHARE:g} % of the peak that was seen for less than "
        f"{GROWTH_SURE_S:g} s; "
        f"fails when the node is full within {GROWTH_LONG_S / 3600:g} h, and the growth was "
        f"seen for {GROWTH_SURE_S:g} s or {100 / GROWTH_REACH:g} % of that time"
    ),
    rank=290,
    references=(
        (
            "Sen, P. K. (1968), Estimates of the regression coefficient based on Kendall's tau, "
            "JASA 63."
        ),
        (
            "Keras, what is the difference between predict and a call or predict_on_batch: "
            "https://keras.io/getting_started/faq/"
        ),
    ),
)
