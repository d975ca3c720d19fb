"""Defects of a recording as a whole that its tables and the matching of its calls reveal.

Everything here makes some figures meaningless: what it spoils is withheld, and it is what the
verdict says first.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath

import numpy as np

from perfscope.attribution.focus import Focus
from perfscope.attribution.implausible import implausible_times
from perfscope.attribution.unseen_devices import unseen_devices
from perfscope.judging import NEGLIGIBLE
from perfscope.matching.clock_check import impossible
from perfscope.matching.codes import IGNORED_CODES
from perfscope.matching.waits import Waits
from perfscope.search import of_codes
from perfscope.structures import dataclass
from perfscope.trace.damage import (
    MIXED_RUNS,
    SPOILS_COMPARISON,
    SPOILS_WHOLE,
    UNKNOWN_SIZE,
    Damage,
    Need,
)
from perfscope.trace.model import Format, Rank, Trace
from perfscope.trace.operations import IS_COLLECTIVE, name_of
from perfscope.trace.worlds import apart, separate_worlds, starting
from perfscope.units import NS, counted, format_count, format_seconds, format_share, rows_of

MOST_NAMED = 8
DISAGREEING_SHARE = 0.1
"""MPI lets no call of a complete job go without its partners; readers may miss a few."""


@dataclass(frozen=True)
class _Run:
    """What is looked at."""

    trace: Trace
    focus: Focus
    waits: Waits


def damages(trace: Trace, focus: Focus, waits: Waits) -> tuple[Damage, ...]:
    """What is wrong with the recording: what spoils most figures first.

    Of an export this is what was wrong with the recording that it was made of, and what is seen
    in the export alone.
    """
    run = _Run(trace, focus, waits)
    found = [damage for look in _LOOKS if (damage := look(run)) is not None]
    found += trace.damage
    if trace.judged is not None:
        told = {damage.id for damage in trace.judged.damage}
        found = [*trace.judged.damage, *(damage for damage in found if damage.id not in told)]
    return tuple(sorted(found, key=lambda damage: Need.EVERY_RANK not in damage.spoils))


def why_spoiled(found: Sequence[Damage], need: Need) -> str | None:
    """Why figures with this need are withheld, as a reason; None where nothing stands against."""
    return next((_reason(damage) for damage in found if need in damage.spoils), None)


def why_of_unknown_size(found: Sequence[Damage]) -> str | None:
    """Why nobody knows that the ranks of the files are all; None where that is known."""
    return next((_reason(damage) for damage in found if damage.id == UNKNOWN_SIZE), None)


def _reason(damage: Damage) -> str:
    return damage.text[:1].lower() + damage.text[1:].rstrip(".")


def _separate(run: _Run) -> Damage | None:
    launched = separate_worlds(run.trace)
    if not launched:
        return None
    text = (
        f"The {launched} processes never met: each says that it is rank 0 of 1, and only one of "
        "them is judged here."
    )
    return Damage("separate_worlds", text, SPOILS_COMPARISON)


def _starting(run: _Run) -> Damage | None:
    processes = starting(run.trace)
    if processes < 2:
        return None
    text = (
        f"The {format_count(processes)} processes were last seen in MPI_Init, which had told none "
        "of them its rank: only one of them is judged here."
    )
    return Damage("separate_worlds", text, SPOILS_COMPARISON)


def _missing(run: _Run) -> Damage | None:
    missing, size = run.trace.missing_ranks, run.trace.world_size
    if not missing:
        return None
    if len(missing) == 1:
        text = f"Rank {missing[0]} of {size} ranks is missing: no recording of it can be read."
    else:
        text = f"{len(missing):,} of {size:,} ranks are missing ({_numbers(missing)})."
    return Damage("missing_ranks", text, SPOILS_COMPARISON)


def _numbers(ranks: Sequence[int]) -> str:
    """Ranks in order, three or more in a row by the first and the last of them."""
    parts: list[str] = []
    for first, last in rows_of(ranks):
        is_long = last - first > 1
        parts += [f"{first}–{last}"] if is_long else map(str, range(first, last + 1))
    more = ", ..." if parts[MOST_NAMED:] else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(parts[:MOST_NAMED])}{more}"


def _apart(run: _Run) -> Damage | None:
    """Ranks of one job live at the same time, if only for a moment."""
    whole = [rank for rank in run.trace.ranks if rank.ending.is_natural]
    if len(whole) < 2:
        return None
    last = max(whole, key=lambda rank: rank.start_ns)
    first = min(whole, key=lambda rank: rank.end_ns)
    if last.start_ns < first.end_ns or last is first:
        return None
    text = (
        f"Ranks {first.number} and {last.number} were not recorded at the same time: one begins "
        f"{format_seconds((last.start_ns - first.end_ns) * NS)} after the end of the other."
    )
    return Damage(MIXED_RUNS, text, SPOILS_COMPARISON)


def _impossible(run: _Run) -> Damage | None:
    """Ranks that read one clock, of which calls end before their partners have begun."""
    if run.trace.format is not Format.PERFSCOPE or _apart(run) is not None:
        return None
    waits = run.waits
    calls, wrong = impossible(run.trace, waits.pool, waits.instances, waits.messages)
    if wrong <= DISAGREEING_SHARE * calls:
        return None
    text = (
        f"The ranks cannot be of one run: {format_count(wrong)} of {counted(calls, 'call')} "
        f"between them ({format_share(wrong / calls)}) ended before another rank had begun what "
        "they needed."
    )
    return Damage(MIXED_RUNS, text, SPOILS_COMPARISON)


def _unequal_programs(run: _Run) -> Damage | None:
    """Different programs are one job only where they communicate with each other."""
    if count := apart(run.trace):
        named = "; ".join(_numbers(members) for members in run.trace.programs[:3])
        text = (
            f"The trace holds {count} programs, which do not communicate with each other: {named}"
            f"{'; ...' if count > 3 else ''}."
        )
        return Damage("unequal_programs", text, SPOILS_COMPARISON)
    programs = [_program(rank) for rank in run.trace.ranks]
    kinds = sorted({program for program in programs if program})
    if len(kinds) < 2 or any(map(_exchanges_unseen, run.trace.ranks)):
        return None
    if _communicate(run.waits, np.array([*map(_place(kinds), programs)])):
        return None
    ranks = {kind: run.trace.ranks[programs.index(kind)].number for kind in kinds}
    shown = ", ".join(f"rank {number} {kind}" for kind, number in list(ranks.items())[:3])
    text = f"The ranks run different programs, which do not communicate with each other: {shown}."
    return Damage("unequal_programs", text, SPOILS_COMPARISON)


def _program(rank: Rank) -> str:
    """The script or module that the rank runs, else its program; "" unknown.

    Python itself is the same program under many names, such as `python` and its whole path.
    """
    argv = rank.metadata.get("argv")
    words = [str(word) for word in argv] if isinstance(argv, list | tuple) else []
    scripts = (PurePath(word).name for word in words if word.endswith(".py"))
    modules = (after for word, after in pairwise(words) if word == "-m")
    return next(scripts, "") or next(modules, "") or "".join(words[:1])


def _exchanges_unseen(rank: Rank) -> bool:
    """Whether a framework says that what it exchanges is not measured."""
    told = rank.metadata.get("frameworks")
    found = told.values() if isinstance(told, Mapping) else ()
    return any(isinstance(one, Mapping) and one.get("exposed_reason") for one in found)


def _place(kinds: Sequence[str]) -> Callable[[str], int]:
    return lambda program: kinds.index(program) if program else -1


def _communicate(waits: Waits, kind_of: np.ndarray[tuple[int], np.dtype[np.int64]]) -> bool:
    """Whether ranks of different kinds met in a collective or exchanged a message."""
    pool, instances = waits.pool, waits.instances
    if len(instances):
        kind = kind_of[pool.rank[instances.members]]
        begin = instances.starts[:-1]
        if np.any(np.maximum.reduceat(kind, begin) != np.minimum.reduceat(kind, begin)):
            return True
    received = np.flatnonzero(waits.messages.send_of >= 0)
    sends = waits.messages.send_of[received]
    return bool(np.any(kind_of[pool.rank[received]] != kind_of[pool.rank[sends]]))


def _disagreeing(run: _Run) -> Damage | None:
    """Collectives of a job that is there from its beginning to its end have their partners."""
    trace, pool = run.trace, run.waits.pool
    whole = all(rank.ending.is_natural and rank.detail_end_ns is None for rank in trace.ranks)
    if not whole or trace.missing_ranks or run.waits.clocks.reason:
        return None
    inside = (pool.enter < run.focus.end_ns) & (pool.exit > run.focus.start_ns)
    inside &= of_codes(IS_COLLECTIVE & ~IGNORED_CODES, pool.op) & (pool.comm >= 0) & (pool.seq >= 0)
    alone = inside.copy()
    alone[run.waits.instances.members] = False
    calls, lost = int(np.count_nonzero(inside)), int(np.count_nonzero(alone))
    if lost <= DISAGREEING_SHARE * calls:
        return None
    counts = Counter(name_of(int(code)) for code in pool.op[alone])
    names = ", ".join(name for name, _ in counts.most_common(MOST_NAMED))
    text = (
        f"The calls of the ranks do not fit each other: {format_count(lost)} of "
        f"{format_count(calls)} calls of collectives ({format_share(lost / calls)}) have no "
        f"partners on the other ranks (among them {names})."
    )
    return Damage("unequal_calls", text, SPOILS_COMPARISON)


def _dropped(run: _Run) -> Damage | None:
    """That only the beginning was recorded in detail, and how much of it."""
    trace, end_ns = run.trace, run.focus.end_ns
    ends_ns = [rank.detail_end_ns for rank in trace.ranks if rank.detail_end_ns is not None]
    if not ends_ns or min(ends_ns) > end_ns:
        return None
    if min(ends_ns) < end_ns:
        text = "Records were lost from before every rank had started: little can be told."
        return Damage("dropped_records", text, SPOILS_COMPARISON)
    what = "Records were dropped" if trace.format is Format.PERFSCOPE else "The trace is cut off"
    text = (
        f"{what}: what follows is about the first {format_seconds(end_ns * NS)} of "
        f"{format_seconds(trace.wall_ns * NS)}."
    )
    return Damage("dropped_records", text, SPOILS_WHOLE)


def _cut_short(run: _Run) -> Damage | None:
    if all(rank.ending.is_natural for rank in run.trace.ranks):
        return None
    return Damage("endings", "The run was cut short.", SPOILS_WHOLE)


def _clocks(run: _Run) -> Damage | None:
    clocks = run.waits.clocks
    if not clocks.reason:
        return None
    # from the first to the last event of all ranks is as wrong as the clocks are
    is_small = clocks.apart_ns <= NEGLIGIBLE * run.focus.length_ns
    text = f"Times of different ranks cannot be compared: {clocks.reason}."
    return Damage("clocks", text, frozenset() if is_small else SPOILS_COMPARISON)


def _times(run: _Run) -> Damage | None:
    return implausible_times(run.trace)


def _unseen_devices(run: _Run) -> Damage | None:
    return unseen_devices(run.trace, run.focus)


_LOOKS = (
    _times,
    _separate,
    _starting,
    _missing,
    _unseen_devices,
    _apart,
    _impossible,
    _unequal_programs,
    _disagreeing,
    _cut_short,
    _dropped,
    _clocks,
)
