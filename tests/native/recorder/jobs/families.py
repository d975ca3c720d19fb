"""Calls every recorded MPI function once or twice, each family inside a phase of its name.

Every rank does the same; test_families.py holds what each record must say.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from mpi4py import MPI

USER_PHASE = 12
UNSET = 0xFFFFFFFF

recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
recorder.ps_phase_begin.restype = ctypes.c_uint64
U32 = ctypes.c_uint32
recorder.ps_phase_begin.argtypes = [U32, U32, U32, ctypes.c_int32]
recorder.ps_phase_end.argtypes = [ctypes.c_uint64]

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
right, left = (rank + 1) % size, (rank - 1) % size


@contextmanager
def family(name: str) -> Iterator[None]:
    """Marks the records of one family."""
    text = name.encode()
    token = recorder.ps_phase_begin(USER_PHASE, recorder.ps_name(text, len(text)), UNSET, -1)
    yield
    recorder.ps_phase_end(token)


def doubles(count: int) -> np.ndarray:
    """A buffer of `count` doubles."""
    return np.zeros(count)


def blocking_p2p() -> None:
    """Sends of each mode from rank 0 to rank 1, then a ring."""
    if rank == 0:
        MPI.Attach_buffer(bytearray(4096))
        world.Send(doubles(10), dest=1, tag=11)
        world.Ssend(doubles(11), dest=1, tag=12)
        world.Bsend(doubles(12), dest=1, tag=13)
        world.Recv(bytearray(1), source=1, tag=15)
        world.Rsend(doubles(13), dest=1, tag=14)
        MPI.Detach_buffer()
    if rank == 1:
        for count, tag in ((10, 11), (11, 12), (12, 13)):
            world.Recv(doubles(count + 5), source=0, tag=tag)
        request = world.Irecv(doubles(13), source=0, tag=14)
        world.Send(bytearray(1), dest=0, tag=15)
        request.Wait()
    world.Sendrecv(doubles(5), dest=right, sendtag=21, recvbuf=doubles(8), source=left, recvtag=21)
    world.Sendrecv_replace(doubles(6), dest=right, sendtag=22, source=left, recvtag=22)
    world.Send(doubles(4), dest=MPI.PROC_NULL, tag=23)
    world.Recv(doubles(4), source=MPI.PROC_NULL, tag=23)


def wildcards() -> None:
    """Rank 0 receives from anybody, with and without a status of its own."""
    if rank == 0:
        for _ in range(size - 1):
            world.Recv(doubles(64), source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG)
        world.Barrier()
        request = world.Irecv(doubles(64), source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG)
        request.Wait(MPI.Status())
    else:
        world.Send(doubles(rank), dest=0, tag=30 + rank)
        world.Barrier()
        if rank == 1:
            world.Send(doubles(7), dest=0, tag=40)


def waits() -> None:
    """Each function that waits, on a ring of messages."""
    send, receive = doubles(3), doubles(3)
    for is_sending in (rank == 0, rank != 0):
        request = (
            world.Isend(send, right, tag=1) if is_sending else world.Irecv(receive, left, tag=1)
        )
        request.Wait()
    MPI.Request.Waitall([world.Irecv(receive, left, tag=2), world.Issend(send, right, tag=2)])
    pair = [world.Irecv(receive, left, tag=3), world.Isend(send, right, tag=3)]
    MPI.Request.Waitany(pair)
    MPI.Request.Waitany(pair)
    pair = [world.Irecv(receive, left, tag=4), world.Isend(send, right, tag=4)]
    done = 0
    while done < 2:
        done += len(MPI.Request.Waitsome(pair) or [])


def reuse() -> None:
    """Many requests whose handles are used again, more of them at once than fit inline."""
    for _ in range(20):
        both = [world.Irecv(doubles(2), left, tag=5), world.Isend(doubles(2), right, tag=5)]
        MPI.Request.Waitall(both)
    many = [world.Irecv(doubles(1), left, tag=100 + i) for i in range(50)]
    many += [world.Isend(doubles(1), right, tag=100 + i) for i in range(50)]
    MPI.Request.Waitall(many)


def tests() -> None:
    """Polls with each testing function until everything arrived."""
    send, receive = doubles(3), doubles(3)
    request = world.Irecv(receive, left, tag=1)
    for _ in range(1000):
        assert not request.Test() or rank  # nobody has sent to rank 0 yet
        if rank:
            break
    world.Barrier()
    sent = world.Isend(send, right, tag=1)
    while request != MPI.REQUEST_NULL:
        request.Test()
    sent.Wait()
    pair = [world.Irecv(receive, left, tag=2), world.Isend(send, right, tag=2)]
    while not MPI.Request.Testall(pair):
        pass
    pair = [world.Irecv(receive, left, tag=3), world.Isend(send, right, tag=3)]
    while any(request != MPI.REQUEST_NULL for request in pair):
        MPI.Request.Testany(pair)
    pair = [world.Irecv(receive, left, tag=4), world.Isend(send, right, tag=4)]
    done = 0
    while done < 2:
        done += len(MPI.Request.Testsome(pair) or [])


def given_up() -> None:
    """A request that is cancelled and one that is freed."""
    request = world.Irecv(doubles(3), source=left, tag=77)
    request.Cancel()
    request.Wait()
    world.Isend(doubles(3), dest=right, tag=78).Free()
    world.Recv(doubles(3), source=left, tag=78)


def probes() -> None:
    """Probes and receives of matched messages."""
    sent = [world.Isend(doubles(4), right, tag=tag) for tag in (1, 2, 3, 4)]
    world.Probe(source=MPI.ANY_SOURCE, tag=1)
    world.Recv(doubles(4), source=left, tag=1)
    while not world.Iprobe(source=left, tag=2):
        pass
    world.Recv(doubles(4), source=left, tag=2)
    world.Mprobe(source=MPI.ANY_SOURCE, tag=3).Recv(doubles(9))
    message = world.Improbe(source=left, tag=4)
    while message is None:
        message = world.Improbe(source=left, tag=4)
    message.Irecv(doubles(9)).Wait()
    MPI.Request.Waitall(sent)


def collectives() -> None:
    """Every blocking collective; the root is the last rank."""
    root = size - 1
    ones, all_ones = doubles(2), doubles(2 * size)
    counts = [i + 1 for i in range(size)]
    starts = [sum(counts[:i]) for i in range(size)]
    own, everything = doubles(rank + 1), doubles(sum(counts))
    world.Barrier()
    world.Bcast(ones, root)
    world.Reduce(ones, doubles(2), root=root)
    world.Allreduce(ones, doubles(2))
    world.Gather(ones, all_ones, root)
    world.Gatherv(own, [everything, counts, starts, MPI.DOUBLE], root)
    world.Scatter(all_ones, ones, root)
    world.Scatterv([everything, counts, starts, MPI.DOUBLE], own, root)
    world.Allgather(ones, all_ones)
    world.Allgatherv(own, [everything, counts, starts, MPI.DOUBLE])
    world.Alltoall(all_ones, doubles(2 * size))
    same = ([rank + 1] * size, [0] * size)
    incoming = doubles(sum(counts))
    world.Alltoallv([own, *same, MPI.DOUBLE], [incoming, counts, starts, MPI.DOUBLE])
    types = [MPI.DOUBLE] * size
    offsets = [8 * start for start in starts]
    world.Alltoallw([own, (*same,), types], [incoming, (counts, offsets), types])
    world.Reduce_scatter(everything, own, counts)
    world.Reduce_scatter_block(all_ones, ones)
    world.Scan(ones, doubles(2))
    world.Exscan(ones, doubles(2))


def in_place() -> None:
    """Collectives whose send or receive buffer is MPI_IN_PLACE."""
    root = size - 1
    counts = [i + 1 for i in range(size)]
    everything = [doubles(sum(counts)), counts, [sum(counts[:i]) for i in range(size)], MPI.DOUBLE]
    own = doubles(rank + 1)
    is_root = rank == root
    world.Allreduce(MPI.IN_PLACE, doubles(2))
    world.Reduce(MPI.IN_PLACE if is_root else doubles(2), doubles(2), root=root)
    world.Gather(MPI.IN_PLACE if is_root else doubles(2), doubles(2 * size), root)
    world.Gatherv(MPI.IN_PLACE if is_root else own, everything, root)
    world.Scatter(doubles(2 * size), MPI.IN_PLACE if is_root else doubles(2), root)
    world.Scatterv(everything, MPI.IN_PLACE if is_root else own, root)
    world.Allgather(MPI.IN_PLACE, doubles(2 * size))
    world.Allgatherv(MPI.IN_PLACE, everything)
    world.Alltoall(MPI.IN_PLACE, doubles(2 * size))


def nonblocking_collectives() -> None:
    """Each completed by a wait."""
    ones, all_ones = doubles(2), doubles(2 * size)
    counts = [i + 1 for i in range(size)]
    starts = [sum(counts[:i]) for i in range(size)]
    everything = [doubles(sum(counts)), counts, starts, MPI.DOUBLE]
    world.Ibarrier().Wait()
    world.Ibcast(ones, root=1).Wait()
    world.Ireduce(ones, doubles(2), root=1).Wait()
    world.Iallreduce(ones, doubles(2)).Wait()
    world.Iallgather(ones, all_ones).Wait()
    world.Iallgatherv(doubles(rank + 1), everything).Wait()
    world.Allreduce(ones, doubles(2))


def communicators() -> None:
    """Communicators made in each way, one barrier on each that this rank is in."""
    group = world.Get_group()
    upper = group.Incl(list(range(1, size)))
    made = [
        world.Dup(),
        world.Dup_with_info(MPI.INFO_NULL),
        world.Split(0, key=-rank),
        world.Split(rank % 2, key=rank),
        world.Create(upper),
        world.Split_type(MPI.COMM_TYPE_SHARED),
    ]
    if rank > 0:
        made += [world.Create_group(upper, tag=4), world.Create_group(upper, tag=5)]
        made += [world.Create_group(upper, tag=5)]
    copy, request = world.Idup()
    request.Wait()
    made.append(copy)
    made = [comm for comm in made if comm != MPI.COMM_NULL]
    for comm in made:
        comm.Barrier()
    half = made[3]
    following = (half.rank + 1) % half.size
    half.Sendrecv(doubles(1), dest=following, recvbuf=doubles(1), source=MPI.ANY_SOURCE)
    MPI.COMM_SELF.Barrier()
    for comm in made:
        comm.Free()
    for _ in range(3):
        again = world.Dup()
        again.Barrier()
        again.Free()


def elsewhere() -> None:
    """Communicators from functions that are not watched, and one between two groups."""
    grid = world.Create_cart([size])
    grid.Allreduce(doubles(1), doubles(1))
    half = MPI.Intracomm(world.Split(min(rank, 1), key=rank))
    between = half.Create_intercomm(0, world, 1 if rank == 0 else 0)
    between.Barrier()
    between.Bcast(doubles(2), root=MPI.ROOT if rank == 0 else 0)
    if rank == 0:
        between.Send(doubles(2), dest=0)
    elif half.rank == 0:
        between.Recv(doubles(2), source=0)
    merged = between.Merge()
    merged.Barrier()
    for comm in (grid, half, between, merged):
        comm.Free()


def types() -> None:
    """A derived type whose handle is given to a type of another size."""
    for count in (3, 5):
        blocks = MPI.DOUBLE.Create_contiguous(count).Commit()
        world.Bcast([doubles(2 * count), 2, blocks], root=0)
        blocks.Free()
    world.Bcast([bytearray(7), MPI.BYTE], root=0)


FAMILIES = (
    blocking_p2p,
    wildcards,
    waits,
    reuse,
    tests,
    given_up,
    probes,
    collectives,
    in_place,
    nonblocking_collectives,
    communicators,
    elsewhere,
    types,
)

for run in FAMILIES:
    with family(run.__name__):
        run()
    world.Barrier()
