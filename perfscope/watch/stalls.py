"""Why a job stands still: who waits for whom, and what these do instead."""

from collections.abc import Iterator

from perfscope.units import counted, format_seconds
from perfscope.watch.block import SILENT_S, Block, named
from perfscope.watch.picture import ASLEEP, COMPUTING, Pending, Picture, RankNow

MOST_TOLD = 3


def stalled(picture: Picture, stall_s: float) -> Block:
    """What holds up a job of which no rank has made progress for so long; else empty."""
    if picture.is_over or picture.stalled_s < stall_s:
        return Block("")
    how_long = format_seconds(picture.stalled_s)
    if picture.starting:
        return Block("Stalled", list(_start(picture, how_long)), is_loud=True)
    last = "" if picture.steps is None else f" The last step of all was {picture.steps.last}."
    lines = [f"No rank has made progress for {how_long}.{last}"]
    reasons = [_why(one, picture) for one in picture.pending if one.missing or one.mismatch]
    reasons += _messages(picture)
    lines += reasons or _apart(picture)
    if picture.age_s > SILENT_S:
        lines.append(
            f"None has given a sign of life for {format_seconds(picture.age_s)}: their processes "
            "are stopped or gone, or what they write does not arrive here."
        )
    return Block("Stalled", lines, is_loud=True)


def _start(picture: Picture, how_long: str) -> Iterator[str]:
    there = counted(picture.starting, "process", "processes")
    yield f"No process has come out of MPI_Init for {how_long}."
    asked = picture.asked_for or 0
    if asked > picture.starting:
        yield (
            f"It ends when all processes of the job have called it: {there} of the {asked} that "
            "the command asks for can be seen in it. The others have not started, or have not come "
            "to it."
        )
    else:
        yield "It ends when all processes of the job have called it and can reach each other."


def _why(pending: Pending, picture: Picture) -> str:
    """Who holds up a collective, and what they do instead."""
    what = f"{pending.name} on {pending.communicator}"
    if pending.mismatch:
        by_number = {rank.number: rank for rank in picture.ranks}
        told = ", ".join(
            f"{named(numbers)} called {name}{_in_place(by_number.get(numbers[0]))}"
            for name, numbers in pending.mismatch
        )
        return f"{what}: its members called different operations, which can never end: {told}."
    absent = [rank for rank in picture.ranks if rank.number in pending.missing]
    told_ranks = [f"rank {rank.number} {_doing(rank)}" for rank in absent[:MOST_TOLD]]
    unknown = sorted(set(pending.missing) - {rank.number for rank in absent})
    if unknown:
        told_ranks.append(f"{named(unknown)} left no recording")
    more = len(absent) - MOST_TOLD
    if more > 0:
        told_ranks.append(f"{more} more")
    wait = "waits" if len(pending.inside) == 1 else "wait"
    who = f"{named(pending.inside)} {wait} for {named(pending.missing)}"
    return f"{what}: {who}; {', '.join(told_ranks)}."


def _messages(picture: Picture) -> Iterator[str]:
    """Who waits for a message, or for its receipt: in a circle, or for one that does not."""
    by_number = {rank.number: rank for rank in picture.ranks}
    circles = _circles(by_number)
    for circle in circles[:MOST_TOLD]:
        told = ", ".join(f"rank {rank.number} {_doing(rank)}" for rank in circle[:MOST_TOLD])
        more = f", {len(circle) - MOST_TOLD} more" if len(circle) > MOST_TOLD else ""
        who = named([rank.number for rank in circle]).capitalize()
        yield f"{who} wait for each other in a circle: {told}{more}."
    waiting: dict[int, list[int]] = {}
    for rank in picture.ranks:
        for peer in rank.awaits:
            if peer in by_number and not by_number[peer].awaits:
                waiting.setdefault(peer, []).append(rank.number)
    for peer, ranks in sorted(waiting.items(), key=lambda item: -len(item[1]))[:MOST_TOLD]:
        wait = "waits" if len(ranks) == 1 else "wait"
        doing = _doing(by_number[peer])
        who = named(ranks).capitalize()
        yield f"{who} {wait} for a message from or to rank {peer}; rank {peer} {doing}."


def _apart(picture: Picture) -> Iterator[str]:
    """Where ranks are, if at several places, that no call tells the reason of."""
    found: dict[tuple[str, str, str, bool], list[int]] = {}
    for rank in picture.ranks:
        what = rank.phase, rank.place, rank.doing, rank.has_ended
        found.setdefault(what, []).append(rank.number)
    if len(found) < 2:
        return
    by_number = {rank.number: rank for rank in picture.ranks}
    order = sorted(found.values(), key=len)
    told = [
        f"{named(ranks)} {_doing(by_number[ranks[0]], len(ranks))}" for ranks in order[:MOST_TOLD]
    ]
    more = len(order) - len(told)
    yield f"Ranks are apart: {', '.join(told)}{f', others in {more} more places' if more else ''}."


def _circles(ranks: dict[int, RankNow]) -> list[list[RankNow]]:
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


def _doing(rank: RankNow, count: int = 1) -> str:
    """What a rank does, with its verb; of several ranks that do the same, in the plural."""
    if rank.has_ended:
        return f"{'has' if count == 1 else 'have'} ended: {rank.doing}"
    return f"{'is' if count == 1 else 'are'} in {_inside(rank)}"


def _inside(rank: RankNow) -> str:
    where = rank.place or "code without Python"
    if rank.phase:
        where += f" (phase {rank.phase})"
    silent = ""
    if rank.silent_s > SILENT_S:
        silent = f", without a sign of life for {format_seconds(rank.silent_s)}"
    if rank.doing == ASLEEP:
        return f"{where}, {ASLEEP}{silent}"
    if rank.doing == COMPUTING:
        return f"{where}{silent}"
    return f"{rank.doing}{_called_in(rank)}{silent}"
