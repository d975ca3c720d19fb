"""Every event of an OTF2 archive, as our decoder and as libotf2 see it."""

import ctypes
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfscope._core import Otf2Archive
from tests.support.otf2_archives import (
    SPECIAL,
    TYPE_OF,
    ArchiveWriter,
    Event,
    fields_of,
    read_events,
)
from tests.support.otf2_swap import swap_archive

BYTES_OF_TYPE = {1: 1, 5: 1, 2: 2, 6: 2, 4: 8, 8: 8, 10: 8, 13: 8}  # others have 4
CORRECTIONS = [(True, True), (True, False), (False, True), (False, False)]


def ours(anchor: Path, location: int, *, mappings: bool, clock: bool) -> list[Event]:
    """The events of the location at a place among the definitions."""
    found = Otf2Archive(os.fsencode(anchor)).events(location, mappings, clock)
    starts, marks = found["starts"].tolist(), found["attribute_starts"].tolist()
    values, attributes = found["values"].tolist(), found["attributes"].tolist()
    events = []
    for i, (kind, time) in enumerate(
        zip(found["types"].tolist(), found["times"].tolist(), strict=True)
    ):
        own = attributes[marks[i] : marks[i + 1]]
        triples = tuple(masked(*own[j : j + 3]) for j in range(0, len(own), 3))
        events.append(Event(kind, time, tuple(values[starts[i] : starts[i + 1]]), triples))
    return events


def masked(identity: int, kind: int, bits: int) -> tuple[int, int, int]:
    """An attribute with only the bits that its type has."""
    return identity, kind, bits & ((1 << 8 * BYTES_OF_TYPE.get(kind, 4)) - 1)


def theirs(anchor: Path, location: int, *, mappings: bool, clock: bool) -> list[Event]:
    """The same of libotf2, for the location with an id."""
    return [
        Event(event.type, event.time, event.values, tuple(masked(*a) for a in event.attributes))
        for event in read_events(anchor, location, mappings=mappings, clock=clock)
    ]


def numbers(kind: Any) -> st.SearchStrategy[int]:
    """Small ids, any number, and the one that means undefined."""
    most = (1 << 8 * ctypes.sizeof(kind)) - 1
    return st.integers(0, min(most, 12)) | st.integers(0, most) | st.just(most)


IDS = numbers(ctypes.c_uint32)
BITS = numbers(ctypes.c_uint64)


@st.composite
def fields(draw: st.DrawFn, name: str) -> tuple[Any, ...]:
    """Values for the fields of an event."""
    if name == "Metric":
        pairs = st.tuples(st.sampled_from([4, 8, 10]), BITS)
        return draw(IDS), draw(st.lists(pairs, max_size=5))
    if name == "ProgramBegin":
        return draw(IDS), draw(st.lists(IDS, max_size=4))
    if name == "BufferFlush":  # holds a time, which is corrected as well: see CLOCKS
        return (draw(st.integers(0, 1 << 50)),)
    return tuple(draw(numbers(kind)) for kind in fields_of(name))


ATTRIBUTES = st.dictionaries(st.integers(0, 9), st.tuples(st.integers(1, 25), BITS), max_size=3)


@st.composite
def written_events(draw: st.DrawFn) -> tuple[str, int, tuple[Any, ...], dict[int, Any]]:
    """A name, how long after the event before, values, attributes."""
    name = draw(st.sampled_from(sorted(TYPE_OF)))
    gap = draw(st.just(0) | st.integers(0, 1000) | st.integers(0, 1 << 40))
    return name, gap, draw(fields(name)), draw(ATTRIBUTES)


ATTRIBUTE_TABLE = 1
TABLES = st.dictionaries(
    st.integers(0, 14).filter(lambda kind: kind != ATTRIBUTE_TABLE),
    st.lists(st.integers(0, 100), min_size=1, max_size=8)
    | st.dictionaries(st.integers(0, 14), st.integers(0, 100), min_size=1, max_size=8),
    max_size=14,
)
# libotf2 refuses an event with two attributes of one id
ATTRIBUTE_IDS = st.none() | st.permutations(range(15))
# gaps between measurements so long that no correction leaves 64 bits, where libotf2 is undefined
CLOCKS = st.lists(
    st.tuples(st.integers(1 << 30, 1 << 42), st.integers(-(1 << 40), 1 << 40)), max_size=5
)


@settings(max_examples=60, deadline=None)
@given(st.lists(written_events(), max_size=40), TABLES, ATTRIBUTE_IDS, CLOCKS, st.booleans())
def test_events_are_those_of_libotf2(
    events: list[Any],
    tables: dict[int, Any],
    attribute_ids: list[int] | None,
    clocks: list[tuple[int, int]],
    swapped: bool,
) -> None:
    if attribute_ids is not None:
        tables = {**tables, ATTRIBUTE_TABLE: attribute_ids}
    with tempfile.TemporaryDirectory() as directory:
        writer = ArchiveWriter(Path(directory) / "a", name="any name")
        writer.ranks(1)
        time = 1 << 41
        for name, gap, values, attributes in events:
            time += gap
            triples = [(key, kind, bits) for key, (kind, bits) in attributes.items()]
            writer.event(0, name, time, *values, attributes=triples)
        for kind, table in tables.items():
            pairs = table if isinstance(table, dict) else dict(enumerate(table))
            writer.mapping(0, kind, pairs, dense=not isinstance(table, dict))
        at = 0
        for gap, offset in clocks:
            at += gap
            writer.clock(0, at, offset)
        if not events:
            writer.event(0, "Enter", time, 0)
        anchor = writer.close()
        if swapped:
            anchor = swap_archive(anchor, Path(directory) / "swapped")
        for mappings, clock in CORRECTIONS:
            expected = theirs(anchor, 0, mappings=mappings, clock=clock)
            assert ours(anchor, 0, mappings=mappings, clock=clock) == expected
            assert len(expected) == max(1, len(events))


@pytest.mark.parametrize("name", sorted(TYPE_OF))
def test_each_kind_of_event(tmp_path: Path, name: str) -> None:
    writer = ArchiveWriter(tmp_path / "a")
    writer.ranks(1)
    if name == "Metric":
        values: tuple[Any, ...] = (3, [(4, 1 << 60), (8, (1 << 64) - 5), (10, 0x3FF0000000000000)])
    elif name == "ProgramBegin":
        values = (1, [2, 3])
    else:
        values = tuple(range(1, len(fields_of(name)) + 1))
    writer.event(0, name, 1000, *values, attributes=[(1, 11, 7)])
    anchor = writer.close()
    swapped = swap_archive(anchor, tmp_path / "swapped")
    (event,) = ours(anchor, 0, mappings=True, clock=True)
    flat = values
    if name in SPECIAL:
        items = [item if isinstance(item, tuple) else (item,) for item in values[1]]
        flat = (values[0], len(items), *(part for item in items for part in item))
    assert event == Event(TYPE_OF[name], 1000, flat, ((1, 11, 7),))
    assert ours(swapped, 0, mappings=True, clock=True) == [event]


@pytest.mark.parametrize("name", ["ping_pong", "mi300_hpl"])
@pytest.mark.parametrize(("mappings", "clock"), CORRECTIONS)
def test_real_archives(
    reference: Callable[[str], Path], name: str, mappings: bool, clock: bool
) -> None:
    anchor = reference(f"otf2/{name}/traces.otf2")
    for place, location in enumerate(Otf2Archive(os.fsencode(anchor)).locations()):
        expected = theirs(anchor, location[0], mappings=mappings, clock=clock)
        assert ours(anchor, place, mappings=mappings, clock=clock) == expected


@pytest.mark.parametrize("name", ["ping_pong", "mi300_hpl"])
def test_real_archives_in_the_other_byte_order(
    tmp_path: Path, reference: Callable[[str], Path], name: str
) -> None:
    anchor = reference(f"otf2/{name}/traces.otf2")
    swapped = swap_archive(anchor, tmp_path / "swapped")
    archive, other = Otf2Archive(os.fsencode(anchor)), Otf2Archive(os.fsencode(swapped))
    assert other.regions() == archive.regions()
    assert other.locations() == archive.locations()
    assert other.clock() == archive.clock()
    for place in range(len(archive.locations())):
        expected = ours(anchor, place, mappings=True, clock=True)
        assert ours(swapped, place, mappings=True, clock=True) == expected


def test_unknown_events_are_skipped_and_counted(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path / "a")
    writer.ranks(1)
    writer.event(0, "Enter", 10, 0)
    writer.event(0, "MpiImrecv", 20, 1, 2)
    writer.event(0, "Leave", 30, 0)
    anchor = writer.close()
    file = anchor.with_suffix("") / "0.evt"
    content = bytearray(file.read_bytes())
    place = content.index(bytes([TYPE_OF["MpiImrecv"], 4]))
    content[place] = 200  # a kind of event that no version has
    file.write_bytes(content)
    found = Otf2Archive(os.fsencode(anchor)).events(0)
    assert found["types"].tolist() == [12, 13]
    assert found["unknown"] == 1


def test_many_chunks(tmp_path: Path) -> None:
    writer = ArchiveWriter(tmp_path / "a")
    writer.ranks(1)
    for i in range(60_000):
        writer.event(0, "Enter" if i % 2 == 0 else "Leave", 10 * i, 1)
    anchor = writer.close()
    assert (anchor.with_suffix("") / "0.evt").stat().st_size > 2 * writer.chunk_bytes
    found = Otf2Archive(os.fsencode(anchor)).events(0)
    assert found["types"].tolist() == [12, 13] * 30_000
    assert found["times"].tolist() == [10 * i for i in range(60_000)]
