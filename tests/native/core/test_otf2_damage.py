"""Damaged and hostile OTF2 archives: a clear error or the right events, never anything else."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfscope._core import FormatError, Otf2Archive
from perfscope.errors import UnreadableInputError
from perfscope.readers.registry import open_trace
from tests.native.core.damage_otf2 import cut, every_event, parts
from tests.support.otf2_archives import ArchiveWriter
from tests.support.otf2_swap import copy_archive


def everything(anchor: Path) -> list[Any]:
    """All events of all locations, and the definitions."""
    archive = Otf2Archive(os.fsencode(anchor))
    columns = [
        {key: np.asarray(value).tolist() for key, value in archive.events(place).items()}
        for place in range(len(archive.locations()))
    ]
    return [columns, archive.regions(), archive.locations(), archive.clock()]


def test_cut_off_at_every_length(tmp_path: Path) -> None:
    anchor = every_event(tmp_path / "archive")
    intact = everything(anchor)
    other = copy_archive(anchor, tmp_path / "copy")
    survived = 0
    for file, content in cut(other):
        whole = file.read_bytes()
        file.write_bytes(content)
        try:
            found = everything(other)
        except FormatError as error:
            path, offset, reason = error.args
            assert Path(path).parent in {other.parent, other.with_suffix("")}
            assert 0 <= offset <= len(whole)
            assert reason
        else:
            assert found == intact
            survived += 1
        file.write_bytes(whole)
    # the byte behind the mark of the end means nothing, and the anchor has two such
    assert survived <= len(parts(anchor)) + 1


def test_an_end_mark_in_the_middle_loses_no_events_silently(tmp_path: Path) -> None:
    anchor = small(tmp_path / "archive")
    file = anchor.with_suffix("") / "0.evt"
    content = file.read_bytes()
    enter, leave = 18 + 9, 18 + 9 + 2 + 9
    assert (content[enter], content[leave]) == (12, 13)
    for place in (enter, leave):
        for mark in (0, 1, 2, 3):
            file.write_bytes(content[:place] + bytes([mark]) + content[place + 1 :])
            with pytest.raises(FormatError):
                everything(anchor)


def small(directory: Path) -> Path:
    """An archive of one call."""
    writer = ArchiveWriter(directory)
    writer.ranks(1)
    main = writer.region("main")
    writer.event(0, "Enter", 10, main)
    writer.event(0, "Leave", 20, main)
    return writer.close()


@pytest.mark.parametrize(("place", "text"), [(28, "SION"), (29, "zlib")])
def test_archives_of_another_kind(tmp_path: Path, place: int, text: str) -> None:
    anchor = small(tmp_path / "a")
    content = bytearray(anchor.read_bytes())
    assert content[place] == 1
    content[place] = 2
    anchor.write_bytes(content)
    with pytest.raises(UnreadableInputError) as error:
        open_trace(anchor)
    assert text in error.value.why
    assert f"byte {place + 1}" in error.value.why
    assert str(anchor) in error.value.why


def test_missing_parts(tmp_path: Path) -> None:
    anchor = small(tmp_path / "a")
    events = anchor.with_suffix("") / "0.evt"
    events.unlink()
    with pytest.raises(UnreadableInputError, match="holds no events"):
        open_trace(anchor)
    anchor.with_suffix(".def").unlink()
    with pytest.raises(UnreadableInputError, match="cannot be read") as error:
        open_trace(anchor)
    assert ".def" in error.value.why


def test_a_huge_count_asks_for_no_memory(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path / "a")
    writer.ranks(1)
    writer.group(2, [1, 2, 3], paradigm=1)
    writer.event(0, "Enter", 1, 0)
    anchor = writer.close()
    file = anchor.with_suffix(".def")
    content = file.read_bytes()
    place = content.index(bytes([1, 3, 1, 1, 1, 2, 1, 3]))
    file.write_bytes(content[:place] + b"\xff" + content[place + 2 :] + b"\0")
    with pytest.raises(FormatError):
        Otf2Archive(os.fsencode(anchor))


def test_many_names_and_long_ones(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path / "a")
    writer.ranks(1)
    regions = [writer.region(f"region {i}") for i in range(20_000)]
    long = writer.region("x" * 100_000 + "train_step")
    for place, region in enumerate([*regions, long]):
        writer.event(0, "Enter", 2 * place, region)
        writer.event(0, "Leave", 2 * place + 1, region)
    trace = open_trace(writer.close())
    assert len(trace.ranks[0].profile) == 20_001
    longest = max(trace.names, key=len)
    assert longest.startswith("x" * 8_000)
    assert len(longest) < 100_010  # secrets are looked for in so much at most


def test_ids_that_nobody_defined(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path / "a")
    writer.ranks(1)
    send = writer.region("MPI_Send", paradigm=4, number=4_000_000_000)
    for place, region in enumerate((send, 3_999_999_999, 7)):
        at = 100 * place
        writer.event(0, "Enter", at, region)
        writer.event(0, "MpiSend", at, 4_000_000_000, 3_000_000_000, 2_000_000_000, 1 << 63)
        writer.event(0, "Metric", at, 12345, [(4, 1)])
        writer.event(0, "Leave", at + 20, region)
    trace = open_trace(writer.close())
    (row,) = trace.ranks[0].operations
    assert (row["comm"], row["peer"], row["sent"]) == (-1, -2, 0)
    assert any("in 1 call: 0 bytes are taken" in n for n in trace.notes)
    assert any("Of regions that the archive does not define: 2 calls." in n for n in trace.notes)


def test_calls_that_never_end(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path / "a")
    writer.ranks(1)
    for _ in range(1 << 17):
        writer.event(0, "Enter", 10, 0)
    trace = open_trace(writer.close())
    assert trace.ranks[0].profile["count"].tolist() == [1 << 17]


def test_times_far_away(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path / "a")
    writer.ranks(1)
    main = writer.region("main")
    writer.event(0, "Enter", 10, main)
    writer.event(0, "Leave", 1 << 62, main)
    with pytest.raises(UnreadableInputError, match="not an OTF2 archive") as error:
        open_trace(writer.close())
    assert "decades" in error.value.why


def test_times_before_the_beginning(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path / "a", offset=1000)
    writer.ranks(1)
    main = writer.region("main")
    writer.event(0, "Enter", 10, main)
    writer.event(0, "Leave", 1500, main)
    writer.clock(0, 0, -200)
    writer.clock(0, 5000, -200)
    trace = open_trace(writer.close())
    assert (trace.ranks[0].start_ns, trace.ranks[0].end_ns) == (-1190, 300)
