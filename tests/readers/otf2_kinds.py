"""An archive with calls of every kind that the reader turns into rows, two ranks on one host."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.otf2_archives import UNDEFINED, ArchiveWriter

MS = 1_000_000
_MPI_REGIONS = (
    "MPI_Init",
    "MPI_Isend",
    "MPI_Irecv",
    "MPI_Waitall",
    "MPI_Sendrecv",
    "MPI_Bcast",
    "MPI_Ibarrier",
    "MPI_Comm_rank",
    "MPI_Finalize",
)


@dataclass
class Kinds:
    """The archive while it is written."""

    writer: ArchiveWriter
    regions: dict[str, int]
    world: int
    pair: int
    own: int

    def at(self, location: int, milliseconds: float, name: str, *values: Any) -> None:
        """One event; regions by name."""
        known = name in {"Enter", "Leave"}
        given = [self.regions[values[0]]] if known else values
        self.writer.event(location, name, round(milliseconds * MS), *given)

    def call(self, location: int, start: float, end: float, name: str) -> None:
        """A call without anything inside."""
        self.at(location, start, "Enter", name)
        self.at(location, end, "Leave", name)


def write_kinds(directory: Path) -> Path:
    """Writes the archive; returns its anchor file."""
    complete = {"OTF2::MPI_COMMUNICATION_COMPLETE": "true"}
    writer = ArchiveWriter(directory, properties=complete)
    world = writer.ranks(2)
    pair = writer.comm("pair", writer.group(5, [1, 0]), world)
    own = writer.comm("MPI_COMM_SELF", writer.group(6, []))
    regions = {name: writer.region(name, paradigm=4, role=28) for name in _MPI_REGIONS}
    for name in ("train_step", "evaluate", "work"):
        regions[name] = writer.region(name)
    regions["kernel"] = writer.region("sgemm", paradigm=5)
    regions["nccl"] = writer.region("ncclDevKernel_AllReduce", paradigm=5)
    regions["idle"] = writer.region("GPU IDLE", paradigm=5, role=31)
    writer.process(9, "GPU 0", kind=2, creator=1)
    writer.location(100, "stream 7", 9, kind=2)
    writer.location(50, "OMP thread 1", 1)
    kinds = Kinds(writer, regions, world, pair, own)
    for rank in (0, 1):
        kinds.call(rank, 0, 1, "MPI_Init")
        kinds.call(rank, 1, 1.5, "MPI_Comm_rank")
        _messages(kinds, rank)
        _collectives(kinds, rank)
        # to MPI_PROC_NULL: no record tells of it
        kinds.call(rank, 13, 13.5, "MPI_Isend")
        kinds.call(rank, 19, 20, "MPI_Finalize")
    _elsewhere(kinds)
    return writer.close()


def _messages(kinds: Kinds, rank: int) -> None:
    other = 1 - rank
    kinds.at(rank, 2, "Enter", "train_step")
    kinds.at(rank, 3, "Enter", "MPI_Irecv")
    kinds.at(rank, 3.1, "MpiIrecvRequest", 77)
    kinds.at(rank, 3.2, "Leave", "MPI_Irecv")
    kinds.at(rank, 4, "Enter", "MPI_Isend")
    kinds.at(rank, 4.1, "MpiIsend", other, kinds.world, 5, 800, 78)
    kinds.at(rank, 4.2, "Leave", "MPI_Isend")
    kinds.at(rank, 5, "Enter", "MPI_Waitall")
    kinds.at(rank, 6, "MpiIrecv", other, kinds.world, 5, 800, 77)
    kinds.at(rank, 6, "MpiIsendComplete", 78)
    kinds.at(rank, 6.5, "Leave", "MPI_Waitall")
    kinds.at(rank, 7, "Enter", "MPI_Sendrecv")
    kinds.at(rank, 7.1, "MpiSend", other, kinds.pair, 1, 10)  # rank `other` of it is this one
    kinds.at(rank, 7.2, "MpiRecv", rank, kinds.pair, 2, 20)
    kinds.at(rank, 7.5, "Leave", "MPI_Sendrecv")
    kinds.at(rank, 8, "Leave", "train_step")


def _collectives(kinds: Kinds, rank: int) -> None:
    kinds.at(rank, 8, "Enter", "evaluate")
    kinds.at(rank, 9, "Enter", "MPI_Bcast")
    kinds.at(rank, 9.1, "MpiCollectiveBegin")
    kinds.at(rank, 9.5, "MpiCollectiveEnd", 1, kinds.pair, 0, 64, 32)
    kinds.at(rank, 9.6, "Leave", "MPI_Bcast")
    kinds.at(rank, 10, "Enter", "MPI_Ibarrier")
    kinds.at(rank, 10, "NonBlockingCollectiveRequest", 79)
    kinds.at(rank, 10.1, "Leave", "MPI_Ibarrier")
    kinds.at(rank, 11, "Enter", "MPI_Waitall")
    kinds.at(rank, 11.5, "NonBlockingCollectiveComplete", 0, kinds.own, UNDEFINED, 0, 0, 79)
    kinds.at(rank, 12, "Leave", "MPI_Waitall")
    kinds.at(rank, 12.5, "Leave", "evaluate")


def _elsewhere(kinds: Kinds) -> None:
    """A second thread and a stream of rank 1."""
    kinds.at(50, 3, "Enter", "work")
    kinds.call(50, 4, 5, "work")
    kinds.at(50, 7, "Leave", "work")
    kinds.call(100, 2, 3, "idle")
    kinds.call(100, 3, 4, "kernel")
    kinds.at(100, 4, "RmaPut", 0, 1, 4096, 9)
    kinds.at(100, 5, "Enter", "nccl")
    kinds.at(100, 5.5, "RmaOpCompleteNonBlocking", 0, 9)
    kinds.at(100, 6, "Leave", "nccl")
