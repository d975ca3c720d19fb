"""Ranks that take turns: who waits how long while whom works where, in words."""

from collections.abc import Sequence

from perfscope.findings.core.finding import Gain, Spent
from perfscope.findings.core.wording import place, ranks
from perfscope.losses.account import TAKES_PART
from perfscope.losses.entry import Entry
from perfscope.savings import SAME_FROM
from perfscope.schema.enums import LossPattern
from perfscope.structures import dataclass
from perfscope.trace.model import Frame
from perfscope.units import NS, capitalized, format_seconds, listed


@dataclass(frozen=True)
class Worker:
    """A function in which ranks work by turns, and how long others wait for it."""

    ranks: tuple[int, ...]
    frame: Frame
    waiting_ns: int


def workers(entries: Sequence[Entry]) -> tuple[Worker, ...]:
    """What others wait for by turns, function by function and most first, whatever is done there.

    Where one rank only works for another it is that work that may be done later or elsewhere.
    """
    found: dict[tuple[str, str], Worker] = {}
    for one in sorted(entries, key=lambda entry: -entry.waiting_ns):
        if one.pattern is not LossPattern.SERIAL or one.frame is None or not one.ranks:
            continue
        function = one.frame.function, one.frame.file
        before = found.get(function, Worker((), one.frame, 0))
        both = tuple(dict.fromkeys((*before.ranks, *one.ranks)))
        found[function] = Worker(both, before.frame, before.waiting_ns + one.waiting_ns)
    most = sorted(found.values(), key=lambda one: -one.waiting_ns)
    return tuple(one for one in most if one.waiting_ns >= TAKES_PART * most[0].waiting_ns)


def turns(workers: Sequence[Worker], world: int, meeting: Frame | None = None) -> str:
    """Who waits how long while whom works where: `rank 0 waits 9.94 s while rank 1 works in f()`.

    `meeting` is where ranks wait for each other; None unknown.

    Of work that all ranks do by turns it is the mean, which compares with what is saved.
    """
    at = f" in {place(meeting)}" if meeting and place(meeting) else ""
    if all(len(one.ranks) == world for one in workers):
        other = "the other" if world == 2 else "another"
        waits = [
            f"{format_seconds(one.waiting_ns * NS / world)}{at} while {other} works in "
            f"{place(one.frame)}"
            for one in workers
        ]
        return f"On average each rank waits {listed(waits)}"
    told = []
    for one in workers:
        waited, where = format_seconds(one.waiting_ns * NS), place(one.frame)
        rest, wait = waiting(one.ranks, range(world))
        if len(one.ranks) == world:
            rest, wait, who = "all ranks", "wait", "another rank works"
        else:
            who = f"{ranks(one.ranks)} {'works' if len(one.ranks) == 1 else 'work'}"
        waits_for = f"{wait} {waited}" if wait == "waits" else f"together {wait} {waited}"
        told.append(f"{rest} {waits_for}{at} while {who} in {where}")
    return capitalized(listed(told))


def by_turns(workers: Sequence[Worker], gain: Gain, world: int, meeting: Frame | None) -> str:
    """The same as sentences, with why more may be saved; "" without workers."""
    if not workers:
        return ""
    return f"{turns(workers, world, meeting)}.{hides_transfer(workers, gain, world)}"


def waited(workers: Sequence[Worker], world: int) -> Spent:
    """How long ranks wait by turns: the mean of work that all of them do, else together."""
    is_mean = all(len(one.ranks) == world for one in workers)
    together_s = sum(one.waiting_ns for one in workers) * NS
    return Spent(together_s / (world if is_mean else 1), is_each=is_mean, lead="of waiting")


def hides_transfer(workers: Sequence[Worker], gain: Gain, world: int) -> str:
    """Why ranks that work at the same time save more than they wait for; "" where they do not."""
    waited_s = waited(workers, world).seconds
    if waited_s >= SAME_FROM * gain.seconds:
        return ""
    return (
        f" Working at the same time saves about {format_seconds(gain.seconds)}, more than this "
        "waiting, because data can be sent meanwhile."
    )


def waiting(causing: tuple[int, ...], world: Sequence[int]) -> tuple[str, str]:
    """Who waits for the ranks that cause it, with the verb; of all ranks those that do not now."""
    rest = [rank for rank in world if rank not in causing]
    if causing and len(rest) == 1:
        return ranks(rest), "waits"
    return ("the other", "waits") if len(world) == 2 else ("the others", "wait")
