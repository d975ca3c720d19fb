"""Ranks on CPUs that others use as well: what a recorder sees of a thread whose life is known."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from perfscope.trace.model import Trace
from tests.support.trace_builder import RankBuilder, TraceBuilder

Floats = npt.NDArray[np.float64]
CLOCK_S = 0.002  # between two readings of the clock at least
SAMPLE_S = 0.1  # between two readings of the scheduler's counters


@dataclass
class Life:
    """What a thread did: stretches in which it ran, had no CPU, or slept; and its calls."""

    at_s: float = 1.0
    times: list[float] = field(default_factory=lambda: [0.0, 1.0])
    ran: list[float] = field(default_factory=lambda: [0.0, 1.0])
    queued: list[float] = field(default_factory=lambda: [0.0, 0.0])
    calls: list[tuple[float, float]] = field(default_factory=list)
    steps: list[tuple[float, float]] = field(default_factory=list)
    """Of each: its own time, and what it waited for a CPU."""

    def go(self, *, ran: float = 0.0, queued: float = 0.0, slept: float = 0.0) -> None:
        """A stretch of one kind."""
        self.at_s += ran + queued + slept
        self.times.append(self.at_s)
        self.ran.append(self.ran[-1] + ran)
        self.queued.append(self.queued[-1] + queued)

    def work(self, draws: np.random.Generator, own_s: float, waited_s: float, slept: bool) -> None:
        """A step's work in pieces, of which some wait for a CPU."""
        pieces = max(1, int(draws.integers(1, 5)))
        for own, waited in zip(
            own_s * draws.dirichlet(np.ones(pieces)),
            waited_s * draws.dirichlet(np.ones(pieces)),
            strict=True,
        ):
            self.go(queued=float(waited))
            if slept:
                self.go(slept=float(own))
            else:
                self.go(ran=float(own))
        self.steps.append((own_s, waited_s))

    def call(self, end_s: float) -> None:
        """A call that sleeps until then."""
        self.calls.append((self.at_s, end_s))
        self.go(slept=end_s - self.at_s)


def recorded(lives: list[Life], *, clocks: bool = True) -> Trace:
    """What a recorder sees of these ranks, which meet in each of their calls."""
    end = max(life.at_s for life in lives)
    builder = TraceBuilder(len(lives), end_s=end + 1.0)
    for number, life in enumerate(lives):
        life.go(slept=end + 1.0 - life.at_s)
        rank = builder.rank(number).init(1.0).finalize(end)
        rank.set(cpu_count_allowed=1, cpus_allowed=str(number))
        for step, (begin_s, end_s) in enumerate(life.calls):
            rank.op("MPI_Allreduce", begin_s, end_s, comm=0, seq=step, sent=8)
        if clocks:
            _read_clocks(rank, life)
        for tick in range(int((end + 1.0) / SAMPLE_S)):
            _look(rank, life, tick * SAMPLE_S)
    return builder.build()


def _read_clocks(rank: RankBuilder, life: Life) -> None:
    last_s = 0.0
    for moment_s in [1.0, *(edge for call in life.calls for edge in call)]:
        if moment_s - last_s >= CLOCK_S:
            rank.clock_sample(moment_s, cpu_s=_at(life, life.ran, moment_s))
            last_s = moment_s


def _look(rank: RankBuilder, life: Life, at_s: float) -> None:
    ran, queued = _at(life, life.ran, at_s), _at(life, life.queued, at_s)
    rank.main_sample(at_s, cpu_s=ran, queue_delay_s=queued)
    rank.process_sample(at_s, cpu_s=ran, queue_delay_s=queued)
    rank.cpu_sample(at_s, busy_s=at_s, used_s=ran, cpus=1)


def _at(life: Life, counter: list[float], at_s: float) -> float:
    return float(np.interp(at_s, life.times, counter))


def meeting(
    seed: int,
    *,
    steps: int,
    own_s: tuple[float, ...],
    waited_s: float,
    same: bool = False,
    slept: bool = False,
) -> list[Life]:
    """Two ranks that meet after each step: own times of a set, and waiting by chance.

    `same`: both have the same own time in a step. `slept`: their own time is no CPU time.
    """
    draws = np.random.default_rng(seed)
    lives = [Life(), Life()]
    for _ in range(steps):
        own = draws.choice(own_s, 2)
        for place, life in enumerate(lives):
            waited = waited_s * float(draws.exponential()) * float(draws.integers(0, 2))
            life.work(draws, float(own[0 if same else place]), waited, slept)
        last = max(life.at_s for life in lives)
        for life in lives:
            life.call(last + 0.0005)
    return lives
