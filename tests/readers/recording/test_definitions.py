"""Definitions are read as far as they are sound."""

import struct
from pathlib import Path

import numpy as np
import pytest

from perfscope.readers.recording.definitions import Definitions, frame_of, read_definitions
from perfscope.readers.recording.interning import _frames
from perfscope.readers.recording.layout import DEFINITIONS_MAGIC, NO_ID


def entry(kind: int, number: int, payload: bytes) -> bytes:
    return struct.pack("<HHII", kind, 0, number, len(payload)) + payload


def communicator(members: list[int], *, size: int | None = None, mine: int = 0) -> bytes:
    head = struct.pack("<QIIII", 9, NO_ID, 0, len(members) if size is None else size, mine)
    return head + np.array(members, "<u4").tobytes()


def read(tmp_path: Path, *entries: bytes) -> Definitions:
    path = tmp_path / "p.def"
    path.write_bytes(DEFINITIONS_MAGIC + b"".join(entries))
    return read_definitions(path)


def test_sound_definitions(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        entry(1, 4, "évaluer".encode()),
        entry(3, 1, np.array([4, 4], "<u4").tobytes()),
        entry(2, 0, communicator([0, 2])),
        entry(4, 0, b"/lib/libmpi.so\nMPI 4"),
        entry(5, 0, b"0-3"),
        entry(6, 0, b"a note"),
        b"\0" * 40,
    )
    assert found.names == {4: "évaluer"}
    assert found.stacks == {1: (4, 4)}
    assert found.communicators[0].members == (0, 2)
    assert found.communicators[0].parent is None
    assert (found.library, found.affinity, found.notes) == (
        "/lib/libmpi.so\nMPI 4",
        "0-3",
        ["a note"],
    )


def test_the_mask_that_mpi_sets_replaces_the_first(tmp_path: Path) -> None:
    assert read(tmp_path, entry(5, 0, b"0-7"), entry(5, 1, b"2")).affinity == "2"


def test_damaged_definitions_are_counted(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        entry(2, 0, b"short"),
        entry(2, 1, communicator([0, 1], size=5)),
        entry(2, 2, communicator([0, 0])),
        entry(2, 3, communicator([0, 1], mine=2)),
        entry(3, 1, b"123"),
        entry(1, 1, b"\xff\xfe"),
    )
    assert found.communicators == {}
    assert found.names == {1: "\ufffd\ufffd"}
    assert found.notes == ["p.def: 5 damaged definitions were left out."]


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    found = read(tmp_path, entry(1, 1, b"a"), entry(1, 2, b"long name")[:-3])
    assert found.names == {1: "a"}
    assert "cut off" in found.notes[0]


def test_another_file(tmp_path: Path) -> None:
    path = tmp_path / "p.def"
    path.write_bytes(b"something else")
    assert "not a definitions file" in read_definitions(path).notes[0]


def test_frames() -> None:
    assert frame_of("f\x1fa.py\x1f12").line == 12
    assert frame_of("f\x1fa.py\x1fx").line == 0
    assert (frame_of("f").function, frame_of("f").file) == ("f", "")


@pytest.mark.parametrize("name", ["f.<locals>.<listcomp>", "<listcomp>"])
def test_a_comprehension_at_the_line_that_it_stands_in_is_no_frame_of_its_own(name: str) -> None:
    """As in Python 3.12; elsewhere in the function it tells which line of it runs."""
    around = "f\x1fa.py\x1f12"
    levels = (around, f"{name}\x1fa.py\x1f12", "len\x1f<built-in>\x1f0")
    assert [frame.line for frame in _frames(levels, {})] == [12, 0]
    assert [frame.line for frame in _frames((around, f"{name}\x1fa.py\x1f13"), {})] == [12, 13]
    assert [frame.line for frame in _frames((around, around), {})] == [12, 12]
