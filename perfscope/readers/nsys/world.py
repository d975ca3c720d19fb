"""How many ranks a job has at least, and which of them a process is, beyond the table of ranks.

A report holds the processes of one host, or one alone. MPI's communicators and partners, and the
payloads of NCCL's ranges, tell of ranks whose reports may not have been given.

Sources: the schema of nsys' SQLite export (`MPI_COMMUNICATORS`, `NVTX_PAYLOAD_SCHEMA_ENTRIES`,
blobs of `NVTX_EVENTS`); NCCL, init.cc and nvtx.h: what `ncclCommInit*` has as a payload.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from perfscope.readers.kineto.file import KinetoContents
from perfscope.readers.kineto.ranks import MOST_RANKS
from perfscope.readers.nsys.database import ExportDatabase
from perfscope.readers.nsys.payloads import payloads
from perfscope.structures import dataclass

RANKS, RANK, COMMUNICATOR = "No. of ranks", "Rank", "NCCL communicator ID"
PARTNERS = (
    ("MPI_COLLECTIVES_EVENTS", "rootRank"),
    ("MPI_P2P_EVENTS", "remoteRank"),
    ("MPI_RANK", "rank"),
)


@dataclass(frozen=True)
class Membership:
    """Which ranks of a communicator of NCCL a process is: several with several devices."""

    communicator: int  # 0 where no payload names it
    size: int
    ranks: AbstractSet[int]

    @property
    def processes(self) -> int:
        """How many processes the communicator has, if all of them drive as many devices."""
        return -(-self.size // max(len(self.ranks), 1))

    @property
    def is_whole(self) -> bool:
        """Whether the process drives all of several devices: it communicates with no other."""
        return 1 < self.size == len(self.ranks)


def shown_by_mpi(database: ExportDatabase) -> int:
    """As many ranks as calls of MPI and its communicators in an export show, 0 without them."""
    sizes = database.largest("MPI_COMMUNICATORS", "size", MOST_RANKS)
    partners = [database.largest(*place, MOST_RANKS - 1) + 1 for place in PARTNERS]
    return max(sizes, *partners)


def memberships(database: ExportDatabase) -> Mapping[int, Membership]:
    """What each process is in the largest communicator of NCCL that it made first."""
    ranks: dict[tuple[int, int, int], set[int]] = {}
    for pid, told in payloads(database, RANKS):
        size, rank = told.get(RANKS, 0), told.get(RANK, -1)
        if 0 < size <= MOST_RANKS:
            mine = ranks.setdefault((pid, told.get(COMMUNICATOR, 0), size), set())
            mine |= {rank} & set(range(size))
    found: dict[int, Membership] = {}
    for (pid, communicator, size), mine in ranks.items():
        if pid not in found or size > found[pid].size:
            found[pid] = Membership(communicator, size, mine)
    return found


def numbered(
    files: Sequence[KinetoContents], found: Sequence[Membership | None]
) -> Sequence[KinetoContents]:
    """The processes, by their ranks in the communicator of NCCL that all of them are in.

    Where they name a rank themselves, or are in several communicators, they stay as they are.
    """
    known = [one for one in found if one is not None and len(one.ranks) == 1]
    ranks = set[int]().union(*(one.ranks for one in known))
    is_one = len({(one.communicator, one.size) for one in known}) == 1
    if not is_one or len(ranks) < len(files) or any(one.rank is not None for one in files):
        return files
    return [
        replace(contents, part=replace(contents.part, rank=min(one.ranks)))
        for contents, one in zip(files, known, strict=True)
    ]
