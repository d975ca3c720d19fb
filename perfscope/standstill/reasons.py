"""Why a job stands still, in words: who waits for whom, and what these do instead."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from perfscope.standstill.now import ASLEEP, COMPUTING, Pending, RankNow
from perfscope.units import counted, format_seconds, rows_of

MOST_TOLD = 3
MOST_NAMED = 12
SILENT_S = 5.0
"""So long without a sign of life is worth a word: signs come several times a second."""


def reasons(ranks: Sequence[RankNow], pending: Sequence[Pending]) -> list[str]:
    """What holds a job up, a sentence for each, where calls tell it; else where ranks are."""
    by_number = {rank.number: rank for rank in ranks}
    told = [_why(one, by_number) for one in pending if one.missing or one.mismatch]
    told += _messages(by_number)
    return told or list(_apart(by_number))


def in_start(there: int, asked_for: int | None) -> str:
    """What holds up processes that have not come out of MPI_Init, where no rank is known.

    `asked_for` is how many the command asks its launcher for, None where it does not say.
    """
    ends = "MPI_Init ends when all processes of the job have called it"
    if (asked_for or 0) <= there:
        return f"{ends} and can reach each other."
    return (
        f"{ends}: {counted(there, 'process', 'processes')} of the {asked_for} that the command "
        "asks for can be seen in it. The others have not started, or have not come to it."
    )


def silence(silent_s: float) -> str:
    """That no rank gives signs of life; "" where one did a moment ago."""
    if silent_s <= SILENT_S:
        return ""
    return (
        f"None has given a sign of life for {format_seconds(silent_s)}: their processes are "
        "stopped or gone, or what they write does not arrive here."
    )


def named(numbers: Sequence[int]) -> str:
    """Ranks by number, in runs: `ranks 0-3, 7`."""
    runs = rows_of(sorted(numbers))
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in runs[:MOST_NAMED]]
    more = ", ..." if len(runs) > MOST_NAMED else ""
    return f"rank{'' if len(numbers) == 1 else 's'} {', '.join(shown)}{more}"


def _why(pending: Pending, ranks: Mapping[int, RankNow]) -> str:
    """Who holds up a collective, and what they do instead."""
    what = f"{pending.name} on {pending.communicator}"
    if pending.mismatch:
        told = ", ".join(
            f"{named(numbers)} called {name}{_in_place(ranks.get(numbers[0]))}"
            for name, numbers in pending.mismatch
        )
        return f"{what}: its members called different operations, which can never end: {told}."
    absent = [ranks[number] for number in sorted(set(pending.missing) & ranks.keys())]
    groups = _alike(absent)
    told_ranks = [f"{_named(group)} {_doing(group)}" for group in groups[:MOST_TOLD]]
    unknown = sorted(set(pending.missing) - ranks.keys())
    if unknown:
        told_ranks.append(f"{named(unknown)} left no recording")
    more = sum(map(len, groups[MOST_TOLD:]))
    if more:
        told_ranks.append(f"{more} more")
    wait = "waits" if len(pending.inside) == 1 else "wait"
    who = f"{named(pending.inside)} {wait} for {named(pending.missing)}"
    return f"{what}: {who}; {', '.join(told_ranks)}."


def _messages(ranks: Mapping[int, RankNow]) -> Iterator[str]:
    """Who waits for a message, or for its receipt: in a circle, or for one that does not."""
    circles = _circles(ranks)
    for circle in circles[:MOST_TOLD]:
        told = ", ".join(f"rank {rank.number} {_doing([rank])}" for rank in circle[:MOST_TOLD])
        more = f", {len(circle) - MOST_TOLD} more" if len(circle) > MOST_TOLD else ""
        who = _named(circle).capitalize()
        yield f"{who} wait for each other in a circle: {told}{more}."
    waiting: dict[int, list[int]] = {}
    for rank in ranks.values():
        for peer in rank.awaits:
            if peer in ranks and not ranks[peer].awaits:
                waiting.setdefault(peer, []).append(rank.number)
    for peer, numbers in sorted(waiting.items(), key=lambda item: -len(item[1]))[:MOST_TOLD]:
        wait = "waits" if len(numbers) == 1 else "wait"
        doing = _doing([ranks[peer]])
        who = named(numbers).capitalize()
        yield f"{who} {wait} for a message from or to rank {peer}; rank {peer} {doing}."


def _apart(ranks: Mapping[int, RankNow]) -> Iterator[str]:
    """Where ranks are, which no call tells the reason of."""
    order = sorted(_alike(ranks.values()), key=len)
    if len(order) == 1 and len(ranks) > 1:
        which = "Both" if len(ranks) == 2 else f"All {len(ranks)}"
        yield f"{which} ranks {_doing(order[0])}."
    if len(order) < 2:
        return
    told = [f"{_named(group)} {_doing(group)}" for group in order[:MOST_TOLD]]
    more = len(order) - len(told)
    yield f"Ranks are apart: {', '.join(told)}{f', others in {more} more places' if more else ''}."


def _alike(ranks: Iterable[RankNow]) -> list[list[RankNow]]:
    """Ranks that do the same in the same place; those without a sign of life by themselves."""
    found: dict[tuple[str, bool, bool], list[RankNow]] = {}
    for rank in ranks:
        what = _inside(rank), rank.has_ended, rank.silent_s > SILENT_S
        found.setdefault(what, []).append(rank)
    return list(found.values())


def _circles(ranks: Mapping[int, RankNow]) -> list[list[RankNow]]:
    """The circles of ranks of which each waits for the next one alone."""
    found: list[list[RankNow]] = []
    seen: set[int] = set()
    for first in ranks:
        path: list[int] = []
        number = first
        while number in ranks and number not in seen and len(ranks[number].awaits) == 1:
            seen.add(number)
            path.append(number)
            [number] = ranks[number].awaits
        if number in path:
            found.append([ranks[one] for one in path[path.index(number) :]])
    return found


def _in_place(rank: RankNow | None) -> str:
    return f" in {rank.place}" if rank is not None and rank.place else ""


def _called_in(rank: RankNow | None) -> str:
    place = _in_place(rank)
    return f", called{place}" if place else ""


def _named(ranks: Iterable[RankNow]) -> str:
    return named([rank.number for rank in ranks])


def _doing(ranks: Sequence[RankNow]) -> str:
    """What ranks do that all do the same, with its verb."""
    is_one = len(ranks) == 1
    if ranks[0].has_ended:
        return f"{'has' if is_one else 'have'} ended: {ranks[0].doing}"
    return f"{'is' if is_one else 'are'} in {_inside(ranks[0])}{_silent(ranks)}"


def _silent(ranks: Sequence[RankNow]) -> str:
    """For how long at least none of the ranks has given a sign of life; "" where it has."""
    least, most = (format_seconds(pick(one.silent_s for one in ranks)) for pick in (min, max))
    if min(one.silent_s for one in ranks) <= SILENT_S:
        return ""
    return f", without a sign of life for {least}{'' if least == most else ' or more'}"


def _inside(rank: RankNow) -> str:
    where = rank.place or "code without Python"
    if rank.phase:
        where += f" (phase {rank.phase})"
    if rank.doing == ASLEEP:
        return f"{where}, {ASLEEP}"
    if rank.doing == COMPUTING:
        return where
    return f"{rank.doing}{_called_in(rank)}"
