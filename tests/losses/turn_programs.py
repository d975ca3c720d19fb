"""Programs of which it is known by hand who takes turns with whom: sends and receives only."""

from dataclasses import dataclass, field

from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Trace
from tests.support.trace_builder import TraceBuilder

STEPS = 20
WORK_S = 0.05
AROUND_S = 0.01
"""What each rank does before the first step and after the last."""


@dataclass
class Ranks:
    """Ranks with a clock each, that work and send."""

    count: int
    has_steps: bool = True
    builder: TraceBuilder = field(init=False)
    clock: list[float] = field(init=False)
    waited_s: float = 0.0

    def __post_init__(self) -> None:
        self.builder = TraceBuilder(self.count, end_s=200.0)
        self.clock = [1.0] * self.count
        for rank in range(self.count):
            self.builder.rank(rank).init(1.0)
            self.work(rank, AROUND_S)

    def work(self, rank: int, seconds: float = WORK_S) -> None:
        begin, self.clock[rank] = self.clock[rank], self.clock[rank] + seconds
        self.builder.rank(rank).phase(PhaseKind.TRAIN, begin, self.clock[rank])

    def send(self, sender: int, receiver: int, tag: int) -> None:
        """A message that arrives at once, to a rank that waits for it from its own clock on."""
        sent, asked = self.clock[sender], self.clock[receiver]
        self.builder.rank(sender).op("MPI_Send", sent, sent, peer=receiver, tag=tag, sent=8)
        came = max(sent, asked)
        self.builder.rank(receiver).op("MPI_Recv", asked, came, peer=sender, tag=tag, received=8)
        self.waited_s += came - asked
        self.clock[receiver] = came

    def step(self, number: int, begin: list[float]) -> None:
        for rank in range(self.count):
            if self.has_steps and self.clock[rank] > begin[rank]:
                self.builder.rank(rank).step(number, begin[rank], self.clock[rank])

    def finish(self) -> Trace:
        for rank in range(self.count):
            self.work(rank, AROUND_S)
            self.builder.rank(rank).finalize(self.clock[rank])
        self.waited_s += sum(max(self.clock) - clock for clock in self.clock)
        return self.builder.build()


def pipeline(ranks: Ranks, tag: int) -> None:
    """Forward through all stages, and backward."""
    last = ranks.count - 1
    for stage in range(last):
        ranks.work(stage)
        ranks.send(stage, stage + 1, tag)
    for stage in range(last, 0, -1):
        ranks.work(stage)
        ranks.send(stage, stage - 1, tag)


def ring(ranks: Ranks, tag: int) -> None:
    """Each receives, works and sends on, the first begins: a ring of blocking calls."""
    for rank in range(ranks.count):
        ranks.work(rank)
        ranks.send(rank, (rank + 1) % ranks.count, tag)


def lock(ranks: Ranks, tag: int) -> None:
    """Rank 0 hands a lock out, and has it back before the next one gets it."""
    for rank in range(1, ranks.count):
        ranks.send(0, rank, tag)
        ranks.work(rank)
        ranks.send(rank, 0, tag)


def master(ranks: Ranks, tag: int) -> None:
    """The master prepares tasks while all wait, and waits while they do them."""
    ranks.work(0)
    for rank in range(1, ranks.count):
        ranks.send(0, rank, tag)
    for rank in range(1, ranks.count):
        ranks.work(rank)
    for rank in range(1, ranks.count):
        ranks.send(rank, 0, tag)


PROGRAMS = {"pipeline": pipeline, "ring": ring, "lock": lock, "master and workers": master}


def run(name: str, count: int, *, has_steps: bool = True) -> tuple[Trace, float]:
    """A program as a recording, and the seconds that all ranks wait in it."""
    ranks = Ranks(count, has_steps)
    for number in range(STEPS):
        begin = list(ranks.clock)
        PROGRAMS[name](ranks, number)
        ranks.step(number, begin)
    trace = ranks.finish()
    return trace, ranks.waited_s
