"""Generates a program from a seed: the calls of every rank, in an order that cannot deadlock.

The program is a sequence of steps that all ranks know. In each step some ranks exchange
something and finish it, so that the next step never waits for one before.
"""

from dataclasses import dataclass, field
from random import Random

from tests.native.recorder.random_programs import calls
from tests.native.recorder.random_programs.calls import PROC_NULL, WORD, Call, Comm, Truth
from tests.native.recorder.random_programs.collective_calls import COLLECTIVES, collective

SLOTS = 8
LARGE = 3000  # elements: more than any library sends before the receive is there


@dataclass
class Program:
    """What each rank calls."""

    seed: int  # that it was generated from
    # by rank, the calls of the thread that initializes MPI; None stands for the run of the next
    # pair of threads
    main: list[list[Call | None]]
    threads: list[list[list[Call]]]  # by rank, the calls of each further thread, two by two

    def truths(self, rank: int) -> list[Truth]:
        """What the main thread of a rank must have recorded, in order."""
        return [truth for call in self.main[rank] if call for truth in call.truths]

    def thread_truths(self, rank: int) -> list[list[Truth]]:
        """The same of its further threads."""
        return [[t for call in thread for t in call.truths] for thread in self.threads[rank]]


@dataclass
class _Group:
    """One communicator slot as all ranks see it: each rank is in one of its parts."""

    parts: list[Comm]

    def of(self, rank: int) -> Comm:
        return next(part for part in self.parts if rank in part.members)


@dataclass
class _Writer:
    seed: int
    size: int
    random: Random = field(init=False)
    program: Program = field(init=False)
    groups: dict[int, _Group] = field(init=False)
    births: int = 1
    tags: int = 0

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        everybody = tuple(range(self.size))
        self.groups = {0: _Group([Comm(0, 0, everybody)])}
        self.program = Program(self.seed, [[] for _ in everybody], [[] for _ in everybody])

    def tag(self) -> int:
        """A new one: a receive from anybody must not find the message of another step."""
        self.tags += 1
        return self.tags

    def count(self) -> int:
        return self.random.choice([1, 2, self.random.randint(3, 40), LARGE])

    def part(self) -> Comm:
        return self.random.choice(self.random.choice(list(self.groups.values())).parts)

    def emit(self, rank: int, *written: Call) -> None:
        self.program.main[rank].extend(written)

    def message(self) -> None:
        """One rank sends to another, in any of the ways."""
        comm = self.part()
        if len(comm.members) < 2:
            return
        source, target = self.random.sample(range(len(comm.members)), 2)
        tag, count = self.tag(), self.count()
        kind = self.random.choice(["Send", "Ssend", "Isend", "Issend"])
        sender, receiver = comm.members[source], comm.members[target]
        self.emit(sender, calls.fill(self.random.randrange(1000), count))
        self.emit(sender, calls.send(kind, comm, target, tag, count))
        if kind.startswith("I"):
            self.emit(sender, self.random.choice([calls.wait, calls.poll])(1))
        self.emit(receiver, *self.reception(comm, source, tag, count), calls.take(count))

    def reception(self, comm: Comm, source: int, tag: int, count: int) -> list[Call]:
        way = self.random.choice(["Recv", "Irecv", "Probe", "Iprobe", "Mprobe"])
        anybody = self.random.random() < 0.4
        if way == "Mprobe":
            found = calls.probe(way, comm, source, tag, from_anybody=anybody)
            return [found, calls.matched_receive(comm, source, tag, count)]
        if way == "Irecv":
            posted = calls.receive(way, comm, source, tag, count, from_anybody=anybody)
            return [posted, self.random.choice([calls.wait, calls.poll])(0)]
        received = calls.receive("Recv", comm, source, tag, count, from_anybody=anybody)
        if way == "Recv":
            return [received]
        return [calls.probe(way, comm, source, tag, from_anybody=anybody), received]

    def shift(self) -> None:
        """Everybody sends to the next one, round or from end to end."""
        comm, tag, count = self.part(), self.tag(), self.count()
        size, is_ring = len(comm.members), self.random.random() < 0.5
        for me, rank in enumerate(comm.members):
            right, left = (me + 1) % size, (me - 1) % size
            if not is_ring:
                right, left = (me + 1 if me + 1 < size else PROC_NULL), me - 1 if me else PROC_NULL
            self.emit(rank, calls.fill(rank, count))
            self.emit(rank, calls.sendrecv(comm, right, left, tag, count))
            if left != PROC_NULL:
                self.emit(rank, calls.take(count))

    def exchange(self) -> None:
        """A ring of nonblocking messages."""
        comm, tag, count = self.part(), self.tag(), self.count()
        for me, rank in enumerate(comm.members):
            self.emit(rank, *ring(comm, me, tag, count))

    def persistent(self) -> None:
        """A ring of persistent messages, started several times."""
        comm, tag, count = self.part(), self.tag(), self.count()
        rounds, together = self.random.randint(1, 4), self.random.random() < 0.5
        size = len(comm.members)
        for me, rank in enumerate(comm.members):
            right, left = (me + 1) % size, (me - 1) % size
            amount = count * WORD
            starts = [
                Truth("MPI_Start_recv", comm, comm.members[left], tag, 0, amount),
                Truth("MPI_Start_send", comm, comm.members[right], tag, amount, 0),
            ]
            begin = (
                [calls.start_all(starts)]
                if together
                else [calls.start(slot, starts[slot]) for slot in (0, 1)]
            )
            self.emit(rank, calls.receive("Recv_init", comm, left, tag, count))
            self.emit(rank, calls.send("Send_init", comm, right, tag, count))
            end = (
                [calls.wait_all()]
                if together
                else [calls.wait(slot, is_persistent=True) for slot in (0, 1)]
            )
            for number in range(rounds):
                self.emit(rank, calls.fill(rank + number, count), *begin, *end, calls.take(count))
            self.emit(rank, calls.free_request(0), calls.free_request(1))

    def collective(self) -> None:
        """Any collective, blocking or not."""
        comm, count, name = self.part(), self.count(), self.random.choice(COLLECTIVES)
        root, nonblocking = self.random.randrange(len(comm.members)), self.random.random() < 0.5
        finish = self.random.choice([calls.wait, calls.poll])
        for me, rank in enumerate(comm.members):
            called, looked = collective(
                name, comm, me, root=root, count=count, is_nonblocking=nonblocking
            )
            filled = calls.fill(rank + count, (count + 3) * self.size)
            self.emit(rank, filled, called, *([finish(0)] if nonblocking else []), looked)

    def create(self) -> None:
        """A new communicator for everybody: a copy, or parts."""
        free = [slot for slot in range(SLOTS) if slot not in self.groups]
        if not free:
            return
        slot, parent = free[0], self.random.choice(list(self.groups.values()))
        colors = self.random.choice([None, 1, 2])
        parts = []
        for part in parent.parts:
            for color in range(colors or 1):
                members = tuple(r for r in part.members if r % (colors or 1) == color)
                if members:
                    ordered = members if colors is None else tuple(sorted(members, reverse=True))
                    parts.append(Comm(slot, self.births, ordered))
        self.births += 1
        self.groups[slot] = _Group(parts)
        for rank in range(self.size):
            made = (
                calls.duplicate(parent.of(rank), slot)
                if colors is None
                else calls.split(parent.of(rank), slot, rank % colors, -rank)
            )
            self.emit(rank, made)

    def end(self, slot: int) -> None:
        for rank in range(self.size):
            self.emit(rank, calls.free(self.groups[slot].of(rank)))
        del self.groups[slot]

    def forget(self) -> None:
        """The end of a communicator, whose handle the next one may get."""
        if len(self.groups) > 1:
            self.end(self.random.choice([slot for slot in self.groups if slot]))

    def pair_of_threads(self) -> None:
        """Two threads at once, each on a communicator of its own."""
        slots = self.random.sample(sorted(self.groups), 2) if len(self.groups) > 1 else []
        tag, rounds, count = self.tag(), self.random.randint(1, 20), self.count()
        for rank in range(self.size):
            for slot in slots:
                comm = self.groups[slot].of(rank)
                me = comm.members.index(rank)
                thread: list[Call] = []
                for _ in range(rounds):
                    thread += ring(comm, me, tag, count)
                    thread += collective(
                        "Allreduce", comm, me, root=0, count=count, is_nonblocking=False
                    )
                self.program.threads[rank].append(thread)
            if slots:
                self.program.main[rank].append(None)


def ring(comm: Comm, me: int, tag: int, count: int) -> list[Call]:
    """A ring of nonblocking messages as one rank calls it."""
    size = len(comm.members)
    return [
        calls.fill(comm.members[me] + tag, count),
        calls.receive("Irecv", comm, (me - 1) % size, tag, count),
        calls.send("Isend", comm, (me + 1) % size, tag, count),
        calls.wait_all(),
        calls.take(count),
    ]


def generate(seed: int, *, size: int = 3, steps: int = 60) -> Program:
    """The program of a seed."""
    writer = _Writer(seed, size)
    writer.create()
    actions = [writer.message, writer.collective] * 4
    actions += [writer.shift, writer.exchange, writer.persistent, writer.create] * 2
    actions += [writer.forget, writer.pair_of_threads]
    for _ in range(steps):
        writer.random.choice(actions)()
    for slot in [slot for slot in writer.groups if slot]:
        writer.end(slot)
    return writer.program
