"""Samples of memory: as recorded, and with damage."""

from pathlib import Path

from perfscope.readers.recording.layout import KEPT_NOTHING, SampleKind
from perfscope.readers.recording.reader import open_recording
from perfscope.trace.model import Rank
from tests.support.write_recording import ProcessWriter


def written(tmp_path: Path, *calls: dict[str, int]) -> Rank:
    """A rank with a sample of the tree, one of Python, and of predict as given."""
    process = ProcessWriter()
    process.op("MPI_Init", 0.1, 0.2)
    process.sample(SampleKind.TREE, 1.0, sent=7, received=8, request=3)
    process.sample(SampleKind.PYTHON, 1.0, sent=9)
    process.sample(SampleKind.HEAP, 1.0, sent=5, received=6, request=7, comm=2, seq=3)
    process.sample(SampleKind.COLLECTION, 1.5, seq=2, sent=10, received=11)
    name = process.name("predict")
    for number, fields in enumerate(calls):
        at = 1.0 + number / 10
        sent = KEPT_NOTHING + fields.pop("kept", 0)
        process.sample(SampleKind.CALLS, at, **{"comm": name, "sent": sent, **fields})
    process.op("MPI_Finalize", 4.0, 4.5)
    process.write(tmp_path)
    [rank] = open_recording(tmp_path).ranks
    return rank


def test_every_field_is_read(tmp_path: Path) -> None:
    one = {"seq": 30, "tag": 20, "peer": 40, "received": 1000, "request": 700}
    rank = written(tmp_path, {**one, "kept": -5})
    assert [row[1:] for row in rank.tree_samples.tolist()] == [(7, 8, 3)]
    assert [row[1:] for row in rank.python_samples.tolist()] == [(9,)]
    assert [row[1:] for row in rank.heap_samples.tolist()] == [(5, 6, 7, 2048, 3072)]
    assert [row[3:] for row in rank.garbage_collections.tolist()] == [(2, 10, 11)]
    assert [row[2:] for row in rank.call_samples.tolist()] == [(30, 20, 40, -5, 1000, 700)]


def test_counts_that_fall_are_left_out(tmp_path: Path) -> None:
    rank = written(
        tmp_path,
        {"seq": 1, "tag": 1},
        {"seq": 4_000_000_000, "tag": 2},
        {"seq": 3, "tag": 3},
        {"seq": 4, "tag": 5},
        {"seq": 5, "tag": -1},
        {"seq": 6, "tag": 4, "kept": 1 << 50},
    )
    assert rank.call_samples["calls"].tolist() == [1, 3]


def test_unknown_names_are_left_out(tmp_path: Path) -> None:
    rank = written(tmp_path, {"seq": 1, "tag": 1, "comm": 77})
    assert not len(rank.call_samples)
