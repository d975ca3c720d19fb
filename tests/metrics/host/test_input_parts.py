"""Reading, decoding, copying and waiting told apart by the functions in stack samples."""

import pytest

from perfscope.metrics.compute import compute
from perfscope.metrics.host.input_parts import (
    InputPart,
    part_of_frame,
    part_of_stack,
    unpacked_by,
)
from perfscope.schema.enums import PhaseKind
from perfscope.trace.model import Frame
from tests.support.trace_builder import TraceBuilder

PACKAGES = "/usr/lib/python3/site-packages"


@pytest.mark.parametrize(
    ("function", "file", "part"),
    [
        ("default_collate", f"{PACKAGES}/torch/utils/data/_utils/collate.py", InputPart.COPY),
        ("rebuild_storage_fd", f"{PACKAGES}/torch/multiprocessing/reductions.py", InputPart.COPY),
        ("DupFd.detach", "/usr/lib/python3.12/multiprocessing/resource_sharer.py", InputPart.COPY),
        ("ImageFile.load", f"{PACKAGES}/PIL/ImageFile.py", InputPart.DECODE),
        ("Compose.__call__", f"{PACKAGES}/torchvision/transforms/v2.py", InputPart.DECODE),
        ("decodeImage", "/job/train.py", InputPart.DECODE),
        ("random_crop", "/job/train.py", InputPart.DECODE),
        ("Dataset.__getitem__", f"{PACKAGES}/h5py/_hl/dataset.py", InputPart.READ),
        ("read_shard", "/job/train.py", InputPart.READ),
        ("wait", "/usr/lib/python3.12/multiprocessing/connection.py", InputPart.WAIT),
        ("Queue.put", "/usr/lib/python3.12/queue.py", InputPart.WAIT),
        ("Connection._recv", "/usr/lib/python3.12/multiprocessing/connection.py", InputPart.WAIT),
        ("Thread.run", "/usr/lib/python3.12/threading.py", None),
        ("_MapDatasetFetcher.fetch", f"{PACKAGES}/torch/utils/data/_utils/fetch.py", None),
        ("Samples.__getitem__", "/job/train.py", None),
        ("spread", "/job/json/train.py", None),  # neither the word nor the library
    ],
)
def test_what_a_function_tells(function: str, file: str, part: InputPart | None) -> None:
    assert part_of_frame(Frame(function, file, 7)) is part


def test_the_innermost_function_that_tells_something_decides() -> None:
    frames, no_own = [InputPart.READ, None, InputPart.DECODE], [False] * 3
    assert part_of_stack(frames, no_own, (0, 2, 1)) is InputPart.DECODE
    assert part_of_stack(frames, no_own, (2, 0, 1)) is InputPart.READ
    assert part_of_stack(frames, no_own, (1, 1)) is InputPart.OTHER


def test_what_calls_the_users_own_function_tells_nothing_of_it() -> None:
    frames, is_own = [InputPart.WAIT, None, InputPart.DECODE], [False, True, False]
    assert part_of_stack(frames, is_own, (0, 1)) is InputPart.OTHER
    assert part_of_stack(frames, is_own, (0, 1, 2)) is InputPart.DECODE


def test_samples_of_getting_and_of_producing_are_counted_apart() -> None:
    """The rank waits for input in [2, 4); its producer is thread 2, thread 3 is no producer."""
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0).phase(PhaseKind.INPUT, 2.0, 4.0).phase(PhaseKind.FORWARD, 4.0, 9.0)
    producer, other = rank.main_tid + 1, rank.main_tid + 2
    rank.queue(2.5, 3.0, depth=4, is_get=False, tid=producer)
    rank.queue(2.5, 3.1, depth=4, is_get=True)
    read, decode = [("read", "/job/a.py", 1)], [("decode", "/job/a.py", 2)]
    for at_s in (1.0, 2.1, 2.2, 3.9, 4.1):
        rank.stack(at_s, read)
        rank.stack(at_s, decode, tid=producer)
        rank.stack(at_s, read, tid=other)
    [found] = compute(builder.build()).input_parts
    assert found.rank == 0
    assert found.getting == {InputPart.READ: 3}
    assert found.producing == {InputPart.DECODE: 5}
    assert found.place == Frame("decode", "/job/a.py", 2)


def test_what_workers_load_at_their_start_is_no_part_of_a_batch() -> None:
    """Each of the processes loads modules in three of four looks, at a line of the program."""
    builder = TraceBuilder(1, end_s=10.0)
    rank = builder.rank(0).phase(PhaseKind.INPUT, 2.0, 4.0).phase(PhaseKind.FORWARD, 4.0, 9.0)
    started = ("<module>", "/job/train.py", 6)
    load = [started, ("_find_and_load", "<frozen importlib._bootstrap>", 1176)]
    for pid in (71, 72):
        for number in range(12):
            made = [("Samples.__getitem__", "/job/train.py", 36), ("decode", "/job/train.py", 50)]
            rank.worker_stack(pid, 2.0 + 0.1 * number, load if number < 9 else made)
    [found] = compute(builder.build()).input_parts
    assert found.producing == {InputPart.DECODE: 6}
    assert found.place == Frame("decode", "/job/train.py", 50)


LOOK_UP = Frame("NpzFile.__getitem__", f"{PACKAGES}/numpy/lib/npyio.py", 257)
OTHER_LOOK_UP = Frame("Dataset.__getitem__", f"{PACKAGES}/h5py/_hl/dataset.py", 760)
OWN_LOOK_UP = Frame("Shards.__getitem__", "/job/train.py", 47)
DECOMPRESS = Frame(".decompress", "<built-in>", 0)


@pytest.mark.parametrize(
    ("stack", "found"),
    [
        ([OWN_LOOK_UP, LOOK_UP, DECOMPRESS], (LOOK_UP, True)),
        ([OWN_LOOK_UP, LOOK_UP], (LOOK_UP, False)),  # it reads all of an item, and no more
        ([OWN_LOOK_UP, OTHER_LOOK_UP, DECOMPRESS], (OTHER_LOOK_UP, True)),
        ([OWN_LOOK_UP, OTHER_LOOK_UP], None),  # it may read what it is asked for
        ([OWN_LOOK_UP, DECOMPRESS], None),  # the user's own, which may keep what it has
        ([LOOK_UP, OWN_LOOK_UP, DECOMPRESS], None),
    ],
)
def test_a_look_up_that_unpacks(stack: list[Frame], found: object) -> None:
    assert unpacked_by(stack, range(len(stack))) == found


def test_nothing_is_told_of_a_rank_that_never_waits_for_input() -> None:
    builder = TraceBuilder(1, end_s=10.0)
    builder.rank(0).phase(PhaseKind.FORWARD, 2.0, 9.0).stack(3.0, [("read", "/job/a.py", 1)])
    assert compute(builder.build()).input_parts == ()
