"""What is saved where batches need no unpacking any more."""

import pytest

from perfscope.attribution.stack_rules import BUILT_IN
from perfscope.schema.enums import PhaseKind
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

LOOK_UP = ("NpzFile.__getitem__", "/env/site-packages/numpy/lib/npyio.py", 257)
BATCH = ("batch", "/job/train.py", 52)
READ_ARRAY = ("fromfile", "/env/site-packages/numpy/lib/_npyio_impl.py", 90)


@pytest.mark.parametrize("by_thread", [False, True])
def test_what_is_unpacked_anew_saves_its_share_of_the_waiting(*, by_thread: bool) -> None:
    """Rank 1 gets a batch in 60 ms of each step of 100 ms, 40 ms of which it unpacks an item.

    Where a thread gets them, how long it is waited for does not tell what unpacking once saves.
    """
    unpacking, taking = [BATCH, LOOK_UP, (".decompress", BUILT_IN, 0)], [BATCH]
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * 80)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.1 * 80)
        maker = rank.main_tid + by_thread
        for step, begin in rank.steps(80, 0.1):
            input_s = 0.06 if number else 0.001
            rank.phase(PhaseKind.INPUT, begin, begin + input_s, step=step)
            rank.phase(PhaseKind.FORWARD, begin + input_s, begin + input_s + 0.035, step=step)
            for tick in range(6 * number):
                at_s = begin + 0.01 * tick + 0.005
                rank.stack(at_s, unpacking if tick < 4 else taking, tid=maker)
            rank.op("MPI_Allreduce", begin + input_s + 0.035, begin + 0.0999, seq=step)
        if by_thread:
            rank.queue(1.5, 1.6, depth=4, is_get=False, tid=maker)
            rank.queue(1.5, 1.7, depth=4, is_get=True)
    finding = analyze_trace(builder.build()).findings["data_stall"]
    assert finding.gain_s == pytest.approx(0.059 * 80, rel=0.1)
    assert finding.actions[0].startswith("Decompress once: ")
    assert finding.first is not None
    assert finding.first.is_bound is by_thread
    once_s = finding.gain_s if by_thread else pytest.approx(0.04 * 80, rel=0.1)
    assert finding.first.seconds == once_s


def test_files_that_are_read_over_and_over_for_batches_are_to_be_read_once() -> None:
    """Rank 1 reads 40 MB anew in each of 80 steps, for most of the time it takes to get a batch."""
    reading, taking = [BATCH, READ_ARRAY], [BATCH]
    size, files = 40 << 20, [{"name": "shard1.npz", "bytes": 40 << 20, "looks": 40}]
    told = {"looks": 40, "lost": 0, "ns": 8_000_000_000, "written_bytes": 0, "files": files}
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * 80)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.1 * 80)
        rank.set(metadata={"read_files": {**told, "read_bytes": 80 * size}})
        for step, begin in rank.steps(80, 0.1):
            input_s = 0.06 if number else 0.001
            rank.phase(PhaseKind.INPUT, begin, begin + input_s, step=step)
            rank.phase(PhaseKind.FORWARD, begin + input_s, begin + input_s + 0.035, step=step)
            for tick in range(6 * number):
                rank.stack(begin + 0.01 * tick + 0.005, reading if tick < 5 else taking)
            rank.op("MPI_Allreduce", begin + input_s + 0.035, begin + 0.0999, seq=step)
    finding = analyze_trace(builder.build()).findings["data_stall"]
    assert finding.actions[0].startswith("Read the file once and keep what is needed of it")
    assert "rank 1 reads 3.12 GiB" in finding.actions[0]
    assert finding.first is not None
    assert finding.first.seconds == pytest.approx(0.05 * 80, rel=0.1)


ONE_ARCHIVE = [{"name": "tides.npz", "bytes": 4 << 20, "looks": 40}]
WITH_OTHERS = [*ONE_ARCHIVE, *({"name": f"{at}.json", "bytes": 512, "looks": 1} for at in (1, 2))]
AN_ARCHIVE_EACH = [{"name": f"{at}.npz", "bytes": 1 << 17, "looks": 1} for at in range(40)]


def archive_action(files: list[dict[str, object]], of_six: int) -> str:
    """The first action where batches are read from archives, in so many sixths of the time."""
    reading = [BATCH, LOOK_UP, ("ZipExtFile._update_crc", "/usr/lib/python3.11/zipfile.py", 960)]
    told = {"looks": 40, "lost": 0, "ns": 8_000_000_000, "written_bytes": 0, "files": files}
    builder = TraceBuilder(2, end_s=3.0 + 0.1 * 80)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.1 * 80)
        rank.set(metadata={"read_files": {**told, "read_bytes": 1 << 30}})
        for step, begin in rank.steps(80, 0.1):
            input_s = 0.06 if number else 0.001
            rank.phase(PhaseKind.INPUT, begin, begin + input_s, step=step)
            rank.phase(PhaseKind.FORWARD, begin + input_s, begin + input_s + 0.035, step=step)
            for tick in range(6 * number):
                stack = reading if tick < of_six else [BATCH]
                rank.stack(begin + 0.01 * tick + 0.005, stack)
            rank.op("MPI_Allreduce", begin + input_s + 0.035, begin + 0.0999, seq=step)
    return analyze_trace(builder.build()).findings["data_stall"].actions[0]


@pytest.mark.parametrize(("of_six", "is_told"), [(6, True), (3, False)])
def test_what_each_look_up_in_an_archive_reads_whole_is_to_be_kept(
    *, of_six: int, is_told: bool
) -> None:
    """It is not compressed: opening, reading and checking it takes the time."""
    action = archive_action(ONE_ARCHIVE, of_six)
    assert action.startswith("Read each array of the archive once") is is_told
    assert ("called in batch() (train.py:52)" in action) is is_told
    assert ("reads 1.00 GiB while it has files of 4.00 MiB open" in action) is is_told


def test_files_read_once_beside_the_archive_change_nothing() -> None:
    assert archive_action(WITH_OTHERS, 6).startswith("Read each array of the archive once")


@pytest.mark.parametrize(("of_six", "is_told"), [(6, True), (3, False)])
def test_no_array_is_kept_of_archives_that_hold_a_sample_each(
    *, of_six: int, is_told: bool
) -> None:
    action = archive_action(AN_ARCHIVE_EACH, of_six)
    assert action.startswith("Store the arrays as .npy, not in archives (.npz)") is is_told
    assert "Read each array of the archive once" not in action
