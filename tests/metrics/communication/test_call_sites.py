"""The user's functions that communicate and stand still for files, as samples show them."""

from perfscope.metrics.communication.call_sites import CallSites, Place
from perfscope.metrics.compute import compute
from perfscope.metrics.results import Options
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Frame, Trace
from tests.support.trace_builder import RankBuilder, TraceBuilder

SITE = "/usr/lib/python3/site-packages"
MAIN = ("main", "/job/train.py", 5)
EXCHANGE = ("exchange", "/job/train.py", 88)
MPI = ("Allreduce", f"{SITE}/mpi4py/comm.py", 9)
READ = ("read_shard", "/job/train.py", 39)
LEARN = ("learn", "/job/train.py", 44)


def found(trace: Trace, focus: str | None = None) -> CallSites:
    return compute(trace, Options(focus=focus)).call_sites


def allreduces() -> TraceBuilder:
    """Rank 0 waits in [2, 3) for rank 1; both move data in [3, 4)."""
    builder = TraceBuilder(2, end_s=10.0)
    builder.rank(0).op("MPI_Allreduce", 2.0, 4.0, sent=1 << 20, received=1 << 20)
    builder.rank(1).op("MPI_Allreduce", 3.0, 4.0, sent=1 << 20, received=1 << 20)
    return builder


def test_the_users_innermost_function_is_counted_while_data_is_moved() -> None:
    builder = allreduces()
    for at_s in (2.5, 3.1, 3.2, 3.3, 4.5):  # the first waits, the last computes
        builder.rank(0).stack(at_s, [MAIN, EXCHANGE, MPI])
    builder.rank(0).stack(3.4, [MAIN, EXCHANGE, MPI], tid=builder.rank(0).main_tid + 1)
    builder.rank(1).stack(3.5, [MAIN, ("exchange", "/job/train.py", 90), MPI])
    builder.rank(1).stack(3.6, [MAIN, MPI])
    places = found(builder.build()).transfer
    assert places.samples == 5
    assert places.most == (
        Place(Frame(*EXCHANGE), 4),  # with the line that most samples have
        Place(Frame(*MAIN), 1),
    )


def test_frames_of_libraries_alone_are_no_place_of_the_users() -> None:
    builder = allreduces()
    for at_s in (3.1, 3.2, 3.3, 3.4):
        builder.rank(0).stack(at_s, [("_bootstrap", "/usr/lib/python3.12/threading.py", 3), MPI])
    places = found(builder.build()).transfer
    assert (places.samples, places.most) == (4, ())


def test_three_places_are_kept() -> None:
    builder = allreduces()
    for number, function in enumerate("abcd"):
        for count in range(4 - number):
            at_s = 3.1 + number / 10 + count / 100
            builder.rank(0).stack(at_s, [MAIN, (function, "/job/train.py", 7), MPI])
    places = found(builder.build()).transfer
    assert places.samples == 10
    assert [(p.frame.function, p.samples) for p in places.most] == [("a", 4), ("b", 3), ("c", 2)]


def test_only_the_focus_counts() -> None:
    builder = allreduces()
    for at_s in (3.1, 3.2, 3.6):
        builder.rank(0).stack(at_s, [MAIN, EXCHANGE, MPI])
    assert found(builder.build(), "3.5:9").transfer.samples == 1


def test_nothing_is_told_without_samples() -> None:
    assert found(allreduces().build()) == CallSites()


def test_file_phases_have_places_of_their_own() -> None:
    builder = allreduces()
    rank = builder.rank(0).phase(PhaseKind.IO, 5.0, 6.0)
    for at_s in (5.1, 5.2, 6.5):
        rank.stack(at_s, [MAIN, READ])
    sites = found(builder.build())
    assert (sites.files.samples, sites.files.most) == (2, (Place(Frame(*READ), 2),))
    assert sites.transfer.samples == 0


def stands_still(rank: RankBuilder, at_s: float) -> None:
    rank.process_sample(at_s, threads=2, runnable=0, blocked=1)


def test_in_short_stretches_the_sample_of_the_same_moment_of_another_one_speaks() -> None:
    """Twenty times 100 ms: 50 ms of reading, 30 ms of learning, then an allreduce.

    Every rank stands still 25 ms after each even allreduce. The sample nearest in time is 40 ms
    later and sees it learn; that of the next stretch is taken 27 ms after its beginning.
    """
    builder = TraceBuilder(2, end_s=5.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0)
        for cycle in range(20):
            begin = 1.0 + cycle / 10
            if cycle % 2 == 0:
                stands_still(rank, begin + 0.025)
                rank.stack(begin + 0.065, [MAIN, LEARN])
            else:
                rank.stack(begin + 0.027, [MAIN, READ])
            rank.op("MPI_Allreduce", begin + 0.08, begin + 0.1, sent=8, received=8)
        rank.finalize(4.0)
    sites = found(builder.build())
    assert set(sites.stalls) == {0, 1}
    assert sites.stalls[0].samples == 10
    # the first stretch begins after MPI_Init: of its kind there is only its own sample
    assert sites.stalls[0].most == (Place(Frame(*READ), 9), Place(Frame(*LEARN), 1))


def test_stretches_of_another_kind_do_not_speak() -> None:
    """After an allreduce it reads, after a broadcast it learns, as long each."""
    builder = TraceBuilder(2, end_s=5.0)
    for number in (0, 1):
        rank = builder.rank(number).init(1.0).op("MPI_Bcast", 1.0, 1.02, sent=8, received=8)
        for cycle in range(10):
            begin = 1.02 + cycle / 5
            rank.stack(begin + 0.025, [MAIN, LEARN])
            rank.op("MPI_Allreduce", begin + 0.08, begin + 0.1, sent=8, received=8)
            stands_still(rank, begin + 0.125)
            rank.stack(begin + 0.165, [MAIN, READ])
            rank.op("MPI_Bcast", begin + 0.18, begin + 0.2, sent=8, received=8)
        rank.finalize(4.0)
    stalls = found(builder.build()).stalls[1]
    assert (stalls.samples, stalls.most) == (10, (Place(Frame(*READ), 10),))


def test_in_a_long_stretch_the_nearest_sample_speaks() -> None:
    """A rank that never communicates reads in the first half of each second."""
    builder = TraceBuilder(1, end_s=12.0)
    rank = builder.rank(0)
    for tick in range(10, 110):
        is_reading = tick % 10 < 5
        rank.stack(tick / 10 + 0.05, [MAIN, READ if is_reading else LEARN])
        if is_reading:
            stands_still(rank, tick / 10 + 0.06)
    stalls = found(builder.build()).stalls[0]
    assert (stalls.samples, stalls.most) == (50, (Place(Frame(*READ), 50),))


def test_a_moment_without_a_sample_near_it_is_left_out() -> None:
    builder = TraceBuilder(1, end_s=60.0)
    rank = builder.rank(0)
    for tick in range(10, 30):
        rank.stack(tick / 10, [MAIN, LEARN])
    for at_s in (2.05, 30.0, 31.0):
        stands_still(rank, at_s)
    assert found(builder.build()).stalls[0].samples == 1
