"""How many ranks a job has: as its profiles tell it, else as they show it, if any does."""

from collections.abc import Mapping, Sequence

from perfscope.readers.kineto.file import KinetoContents
from perfscope.readers.kineto.groups import ranks_named
from perfscope.readers.kineto.ranks import MOST_RANKS
from perfscope.trace.damage import SPOILS_COMPARISON, UNKNOWN_SIZE, Damage
from perfscope.trace.model import Rank

NO_SIZE = (
    "the job has a backend of communication, and the profile says neither how many ranks there are "
    "nor how long this one waited for others"
)
OTHERS_UNKNOWN = (
    "The profile is of one rank that communicates, and does not tell how many ranks there are."
)
MORE_UNKNOWN = (
    "The profiles are of {ranks} ranks that communicate, and none tells how many the job had."
)


def world_size(ranked: Mapping[int, KinetoContents]) -> int:
    """How many ranks the job has: as the files say, else at least as many as they show."""
    sizes = [size for contents in ranked.values() if (size := size_told(contents))]
    shown = [ranks_named(contents) for contents in ranked.values()]
    return max([*(sizes or shown), max(ranked) + 1])


def size_told(contents: KinetoContents) -> int:
    """How many ranks a file says that its job has, 0 where it does not or that cannot be."""
    size = contents.distributed.get("world_size")
    return size if type(size) is int and 0 < size <= MOST_RANKS else 0


def tells_size(contents: KinetoContents) -> bool:
    """Whether a file says how many ranks its job has, or shows that there are others."""
    return isinstance(contents.distributed.get("world_size"), int) or ranks_named(contents) > 1


def is_size_told(ranked: Mapping[int, KinetoContents]) -> bool:
    """Whether any file tells how many ranks the job has.

    A lone process does so, too, of which the file tells that it communicates with no other.
    """
    is_alone = len(ranked) == 1 and all(contents.part.is_alone for contents in ranked.values())
    return is_alone or any(map(tells_size, ranked.values()))


def is_of_unknown_size(contents: KinetoContents) -> bool:
    """Whether the file names the backend of a job's communication, and no number of ranks."""
    told = contents.distributed
    return bool(told.get("backend")) and not isinstance(told.get("world_size"), int)


def of_unknown_size(ranks: Sequence[Rank], ranked: Mapping[int, KinetoContents]) -> list[Damage]:
    """That ranks communicate, and that no file says how many there are.

    One rank would seem to be alone, and its communication to be nothing but transfer.
    """
    if is_size_told(ranked) or not any(len(rank.operations) for rank in ranks):
        return []
    if len(ranks) > 1:
        text = MORE_UNKNOWN.format(ranks=f"{len(ranks):,}")
        return [Damage(UNKNOWN_SIZE, text, SPOILS_COMPARISON)]
    return [Damage(UNKNOWN_SIZE, OTHERS_UNKNOWN, SPOILS_COMPARISON)]


def of_unknown_members(ranks: Sequence[Rank]) -> None:
    """Lets nobody take the ranks of the files for all that wait in a collective.

    Their clocks were compared before: those that are there are in it together.
    """
    for rank in ranks:
        rank.operations["comm"] = -1
