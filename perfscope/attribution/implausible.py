"""Rank times that cannot belong to one run: in another unit, or far from those of all other ranks.

Recordings of perfscope itself have one clock and are not asked. Files of other tools may be made
by a program that counts otherwise, put together by hand, or damaged in one number.
"""

from collections.abc import Sequence

import numpy as np

from perfscope.arrays import Ints
from perfscope.structures import dataclass
from perfscope.trace.damage import MIXED_RUNS, SPOILS_COMPARISON, SPOILS_EVERYTHING, Damage
from perfscope.trace.elsewhere import ask_ranks
from perfscope.trace.model import Format, Rank, Table, Trace
from perfscope.units import NS, counted, format_seconds

MOST_TIMES = 100
"""No rank of a job takes so many times as long as the others: units are 1,000 apart."""
ENOUGH_MOMENTS = 10
ALIKE = 2
"""Ranks of one program do about as much: their events differ by less than this factor."""
FEW_SHARE = 0.01
FEW = 4
GAP_SHARE = 0.9
LEAST_GAP_NS = 3600 * 10**9
"""Where no second rank tells what is long: a program may wait for data before it begins."""


@dataclass(frozen=True)
class _Life:
    """When a rank did something: of all begins and ends in their order, its own among them."""

    rank: Rank
    moments: int  # so many
    length_ns: int  # from the first to the last one
    gap_ns: int  # the longest time between two
    before_gap: int  # so many lie before it


def implausible_times(trace: Trace) -> Damage | None:
    """What is wrong with the times of a rank beside those of the others; None where nothing is."""
    if trace.format is Format.PERFSCOPE:
        return None
    own = [_host_moments(rank) for rank in trace.ranks]
    ends = [(rank.start_ns, rank.end_ns) for rank in trace.ranks]
    spans = ask_ranks(_span, trace.ranks, own, ends)
    lives = [_Life(rank, *span) for rank, span in zip(trace.ranks, spans, strict=True) if span]
    if len(lives) < 2:
        return _apart(_all_moments(trace))
    shortest = min(lives, key=lambda life: life.length_ns)
    longest = max(lives, key=lambda life: life.length_ns)
    middle = int(np.median([life.length_ns for life in lives]))
    odd = longest if longest.length_ns > MOST_TIMES * middle else shortest
    others = [life for life in lives if life is not odd]
    if odd is longest or len(lives) == 2:
        far = _far(longest, [life for life in lives if life is not longest])
        if far is not None:
            return far
    return _unit(odd, others)


def _host_moments(rank: Rank) -> Ints:
    tables = [rank.operations, rank.background, rank.phases, rank.steps]
    if rank.devices is not None:
        tables.append(rank.devices.runtime)
    moments: list[Ints] = [table[side] for table in tables for side in ("t0", "t1")]
    return np.concatenate(moments)


def _moments(rows: Table) -> Ints:
    return np.concatenate([rows["t0"], rows["t1"]])


def _span(rows: Table, own: Ints, ends: tuple[int, int]) -> tuple[int, int, int, int] | None:
    """What is to be known of a rank's moments, those of its devices too; None without any."""
    if 2 * len(rows) + len(own) < 2:
        return None
    moments = np.sort(np.concatenate([_moments(rows), own, ends]))
    gaps = np.diff(moments)
    place = int(np.argmax(gaps))
    return len(moments), int(moments[-1] - moments[0]), int(gaps[place]), place + 1


def _all_moments(trace: Trace) -> Ints:
    """When anything that a trace keeps began or ended, also what is no interval of a rank."""
    found = ask_ranks(_moments, trace.ranks)
    for rank in trace.ranks:
        found.append(_host_moments(rank))
        found += [rank.process_samples["t"], rank.spans["t0"], rank.spans["t1"]]
    if trace.tensors is not None:
        tables = (trace.tensors.activities, trace.tensors.negotiations)
        found += [table[side] for table in tables for side in ("t0", "t1")]
    return np.sort(np.concatenate([moments.astype(np.int64) for moments in found]))


def _apart(moments: Ints) -> Damage | None:
    """That some of many moments of a lone rank lie far from all others.

    A few are damage; as many as the others are another run, whose clock may count from elsewhere.
    """
    if len(moments) < ENOUGH_MOMENTS:
        return None
    gaps = np.diff(moments)
    place = int(np.argmax(gaps))
    body = int(moments[-1] - moments[0] - gaps[place])
    outside = min(place + 1, len(gaps) - place)
    if gaps[place] <= max(MOST_TIMES * body, LEAST_GAP_NS):
        return None
    apart = format_seconds(int(gaps[place]) * NS)
    if outside > max(FEW, FEW_SHARE * len(moments)):
        first = format_seconds(int(moments[place] - moments[0]) * NS)
        second = format_seconds(int(moments[-1] - moments[place + 1]) * NS)
        text = (
            f"The events are of several runs, as it seems: between two parts of {first} and "
            f"{second} there is nothing for {apart}."
        )
        return Damage(MIXED_RUNS, text, SPOILS_EVERYTHING)
    text = (
        f"Some events lie far outside of all others: {apart} apart, and all others take "
        f"{format_seconds(body * NS)}."
    )
    return Damage("stray_events", text, SPOILS_EVERYTHING)


def _far(odd: _Life, others: Sequence[_Life]) -> Damage | None:
    """That a few events of a rank lie far from all of its others, longer than other ranks live."""
    usual = max(life.length_ns for life in others)
    outside = min(odd.before_gap, odd.moments - odd.before_gap)
    is_far = odd.length_ns > MOST_TIMES * usual and odd.gap_ns > GAP_SHARE * odd.length_ns
    if not is_far or outside > max(FEW, FEW_SHARE * odd.moments):
        return None
    text = (
        f"Rank {odd.rank.number} has events far outside of all others: they lie "
        f"{format_seconds(odd.gap_ns * NS)} apart, and no other rank takes more than "
        f"{format_seconds(usual * NS)}."
    )
    return Damage("stray_events", text, SPOILS_COMPARISON)


def _unit(odd: _Life, others: Sequence[_Life]) -> Damage | None:
    """That a rank does as much as others in a small part, or a large multiple, of their time."""
    usual = sorted(others, key=lambda life: life.length_ns)[len(others) // 2]
    lengths = sorted((max(odd.length_ns, 1), max(usual.length_ns, 1)))
    events = sorted((odd.moments, usual.moments))
    if lengths[1] <= MOST_TIMES * lengths[0] or events[0] < ENOUGH_MOMENTS:
        return None
    if events[1] > ALIKE * events[0]:
        return None
    if odd.length_ns == lengths[1] and odd.gap_ns > GAP_SHARE * odd.length_ns:
        text = (
            f"Rank {odd.rank.number} has a gap of {format_seconds(odd.gap_ns * NS)}, longer than "
            "any other rank: its clock jumped, or its files are of several runs."
        )
        return Damage("stray_events", text, SPOILS_COMPARISON)
    one, other = (
        f"{counted(life.moments // 2, 'event')} of rank {life.rank.number} take "
        f"{format_seconds(life.length_ns * NS)}"
        for life in (odd, usual)
    )
    text = f"The ranks count their times in different units, as it seems: {one}, {other}."
    return Damage("units_of_time", text, SPOILS_COMPARISON)
