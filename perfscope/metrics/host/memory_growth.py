"""Memory that keeps growing: warm-up and steady growth told apart."""

import numpy as np

from perfscope.arrays import Floats, Ints, is_one_of
from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.preparation import Prepared
from perfscope.judging import MAIN
from perfscope.metrics.host.memory_kinds import KindGrowth, enough_before, growing_kind
from perfscope.metrics.host.resource_use import MIN_SLOPE_POINTS, theil_sen
from perfscope.schema.enums import Activity, PhaseKind
from perfscope.structures import dataclass
from perfscope.student_t import student_95
from perfscope.trace.model import Rank

QUARTERS = 4
MIN_QUARTER_SAMPLES = 5
"""Samples that the median of a quarter is taken of, at least."""

TREND_PARTS = 8
"""Of the second half, whose medians are compared in pairs."""

TREND_SCORE = 20
"""Pairs that rise beyond those that fall, of 28: of 8 values in random order one in 140 has it."""

LEAST_STEADY_S = 8.0
"""Length of the second half from which on growth in it is called steady, in seconds."""

LEVELING = 0.5
"""A last quarter that rises by less than this share of the mean rise levels off."""

SET_UP = [ACTIVITIES.index(one) for one in (Activity.IMPORTING, Activity.COMPILING)]
"""What makes a rank larger until it can begin."""

CALLED = (PhaseKind.PREDICT, PhaseKind.EVALUATE, PhaseKind.CHECKPOINT, PhaseKind.TRAIN)
"""Kinds of phases that are counted beside steady growth."""


@dataclass(frozen=True)
class MemoryGrowth:
    """How the resident memory of one rank grew over its focus of analysis.

    What comes before the first step or phase, or, without these, while modules are imported and
    code is compiled, and the first half of what comes after it, may be warm-up: libraries load,
    compile and fill their caches. What still grows in the second half, in
    every quarter of it, is steady. `calls` counts the marked phases that began there, by name, and
    `steps` the steps that ended there. Warm-up ends when memory has come to the line on which it
    then stays. `phases` tells how much of the growth of the second half came while the rank was in
    one phase throughout, between two samples of its memory; "" is outside any phase.
    """

    rank: int
    host: str
    warm_up_bytes: int
    steady_bytes: int  # slope times length of the second half; 0 where growth is not steady
    steady_s: float  # length of the second half
    slope_bytes_per_s: float  # 0 where growth is not steady
    calls: dict[str, int]
    steps: int
    warm_up_end_s: float  # from the start of the focus
    grown_bytes: int  # at the steady pace, from the end of the warm-up to the end of the focus
    phases: tuple[tuple[str, int], ...]  # id and bytes, most first
    python_blocks_per_s: float | None  # that Python's allocator gives out and does not get back
    kind: KindGrowth | None = None  # None where the kinds of memory were not sampled
    late_bytes: int = 0  # from the first quarter of the second half to its last, steady or not


def memory_growth(prepared: Prepared) -> tuple[MemoryGrowth, ...]:
    """The growth of every rank with enough samples, in the order of the ranks."""
    found = (_growth(prepared, position) for position in range(len(prepared.parts)))
    return tuple(growth for growth in found if growth is not None)


def _growth(prepared: Prepared, position: int) -> MemoryGrowth | None:
    """The growth of one rank; None where its samples are too few or span too little time."""
    rank, focus = prepared.parts[position].rank, prepared.focus
    rows = rank.process_samples
    rows = focus.within(rows)
    if len(rows) < 2 * QUARTERS * MIN_QUARTER_SAMPLES:
        return None
    times, rss = rows["t"].astype(np.int64), rows["rss_bytes"].astype(np.int64)
    began = _first_work(prepared, position) or _set_up(prepared, position)
    begin = max(int(times[0]), began)
    half = int(np.searchsorted(times, min(begin + int(times[-1]), 2 * int(times[-1])) // 2))
    seconds = float(times[-1] - times[half]) / 1e9
    if seconds < LEAST_STEADY_S:
        return None
    steady = _steady_slope(times[half:], rss[half:])
    first = _warm_up_end(times, rss, half, steady)
    warm_end, last = int(times[first]), int(times[-1])
    span = begin, int(times[half]), last
    return MemoryGrowth(
        rank=rank.number,
        host=rank.host,
        warm_up_bytes=int(np.median(rss[first : first + 3]) - rss[0]),
        steady_bytes=round(steady * seconds),
        steady_s=seconds,
        slope_bytes_per_s=steady,
        calls=_calls(prepared, position, int(times[half])),
        steps=round(_weight(rank, int(times[half])) * _steps(rank, int(times[half]))),
        warm_up_end_s=(warm_end - focus.start_ns) / 1e9,
        grown_bytes=round(steady * float(last - warm_end) / 1e9),
        phases=_by_phase(prepared, position, times[half:], rss[half:]),
        python_blocks_per_s=_python_blocks(rank, *span),
        kind=growing_kind(rank, *span) if steady > 0 else None,
        late_bytes=_rise(rss[half:]),
    )


def _steps(rank: Rank, from_ns: int) -> int:
    """Steps that are there in detail and ended after a moment."""
    return int(np.count_nonzero(rank.steps["t1"] >= from_ns))


def _weight(rank: Rank, from_ns: int) -> float:
    """How many steps each that is there in detail stands for, after a moment."""
    kept = _steps(rank, from_ns)
    if rank.thinning is None or rank.thinning.level == 0 or not kept:
        return 1.0
    every = rank.step_blocks
    return max(1.0, int(every["count"][every["t1"] >= from_ns].sum()) / kept)


def _first_work(prepared: Prepared, position: int) -> int:
    """When the first step or marked phase began; 0 where there is none."""
    part = prepared.parts[position]
    starts = [int(table["t0"][0]) for table in (part.rank.steps, part.phases) if len(table)]
    return min(starts, default=0)


def _set_up(prepared: Prepared, position: int) -> int:
    """When a rank without steps and phases was set up; 0 where that is not known.

    Until then its main thread was seen more often importing modules and compiling code than not,
    by more samples than until any other moment.
    """
    seen = prepared.focus.within(prepared.parts[position].rank.main_stacks)
    prepares = is_one_of(stack_activities(prepared.trace), SET_UP).take(seen["stack"])
    ahead = np.cumsum(prepares - MAIN)
    last = int(np.argmax(ahead)) if len(ahead) else 0
    return int(seen["t"][last]) if len(ahead) and ahead[last] > 0 else 0


def _steady_slope(times: Ints, rss: Ints) -> float:
    """Bytes per second where the median of each quarter is above that of the one before; else 0.

    What is allocated and freed again leaves the medians level; a cache that fills up levels off in
    the last quarter. What goes up and down by chance rises over the quarters at times: in shorter
    parts it does not, by the test of Mann and Kendall. An allocator that keeps what it was given at
    a few moments rises as often as a leak, but not alike in each part.
    """
    edges = np.linspace(times[0], times[-1], QUARTERS + 1)[1:-1]
    parts = np.split(rss, np.searchsorted(times, edges))
    if min(len(part) for part in parts) < MIN_QUARTER_SAMPLES:
        return 0.0
    medians = np.array([np.median(part) for part in parts])
    rises = np.diff(medians)
    if np.any(rises <= 0) or rises[-1] < LEVELING * rises.mean():
        return 0.0
    return max(0.0, theil_sen(times, rss) or 0.0) if _is_trend(times, rss) else 0.0


def _is_trend(times: Ints, rss: Ints) -> bool:
    """Whether medians of equally long parts rise more often than chance lets them (p below 0.01).

    Mann (1945), Nonparametric tests against trend; Kendall (1975), Rank correlation methods. With
    too few samples for so many parts nothing more is known than the quarters tell.
    """
    edges = np.linspace(times[0], times[-1], TREND_PARTS + 1)[1:-1]
    parts = np.split(rss, np.searchsorted(times, edges))
    if min(len(part) for part in parts) < MIN_QUARTER_SAMPLES:
        return True
    medians = np.array([np.median(part) for part in parts])
    if not _has_drift(np.diff(medians)):
        return False
    later, earlier = np.tril_indices(TREND_PARTS, -1)
    return bool(np.sign(medians[later] - medians[earlier]).sum() >= TREND_SCORE)


def _has_drift(rises: Floats) -> bool:
    """Whether rises from part to part are more than a walk at random has (Student, 95 %).

    Allocators keep pages, so that what came by chance stays: such values wander, and the medians of
    later parts lie above those of earlier ones for a single step. What a part lies above the line
    by chance, the next rise lacks: Newey and West (1987), A simple, positive semi-definite,
    heteroskedasticity and autocorrelation consistent covariance matrix, with one lag.
    """
    count, off = len(rises), rises - rises.mean()
    squares = float(off @ off + off[1:] @ off[:-1])
    error = np.sqrt(max(0.0, squares) / (count - 1) / count)
    return bool(rises.mean() > student_95(count - 1) * error)


def _calls(prepared: Prepared, position: int, from_ns: int) -> dict[str, int]:
    """How often marked phases that may keep memory began after a moment, by name."""
    rows = prepared.parts[position].rank.phases
    rows = rows[(rows["t0"] >= from_ns) & np.isin(rows["kind"], CALLED)]
    names, counts = np.unique(rows["name"], return_counts=True)
    known = prepared.trace.names
    weight = _weight(prepared.parts[position].rank, from_ns)
    return {
        known[name]: round(weight * count)
        for name, count in zip(names.tolist(), counts.tolist(), strict=True)
        if 0 <= name < len(known)
    }


def _warm_up_end(times: Ints, rss: Ints, half: int, slope: float) -> int:
    """Index of the sample from which on memory is on the line that it follows in the second half.

    Memory counts as on the line within three times what it is off it in the second half at most
    places, or a hundredth of what it rose before, whichever is more.
    """
    off = rss - slope * (times - times[half]) / 1e9
    level = float(np.median(off[half:]))
    spread = float(np.median(np.abs(off[half:] - level)))
    allowed = max(3 * spread, 0.01 * abs(float(off[0]) - level))
    away = np.flatnonzero(np.abs(off[:half] - level) > allowed)
    return int(away[-1]) + 1 if len(away) else 0


def _by_phase(
    prepared: Prepared, position: int, times: Ints, rss: Ints
) -> tuple[tuple[str, int], ...]:
    """Growth between samples that lie in the same occurrence of a phase, by phase."""
    timeline = prepared.timelines[position]
    starts = np.flatnonzero(np.diff(timeline.phases, prepend=-2))
    place = np.searchsorted(timeline.boundaries[starts], times, side="right") - 1
    within = place[1:] == place[:-1]
    phases = timeline.phases[starts[np.maximum(place, 0)]][1:][within]
    rises = np.diff(rss)[within]
    found = {
        prepared.catalog.ids[phase] if phase >= 0 else "": int(rises[phases == phase].sum())
        for phase in np.unique(phases).tolist()
    }
    return tuple(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _rise(rss: Ints) -> int:
    """From the median of the first quarter to that of the last one."""
    quarters = np.array_split(rss, QUARTERS)
    return int(np.median(quarters[-1]) - np.median(quarters[0]))


def _python_blocks(rank: Rank, begin_ns: int, from_ns: int, to_ns: int) -> float | None:
    """Slope of the number of blocks of Python's allocator, per second; None unknown."""
    rows = enough_before(rank.python_samples, MIN_SLOPE_POINTS, begin_ns, from_ns, to_ns)
    return theil_sen(rows["t"], rows["blocks"])
