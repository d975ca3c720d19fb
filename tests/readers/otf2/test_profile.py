"""The profile of OTF2 archives against a plain stack, however calls nest, repeat and are left."""

import os
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfscope import _core
from tests.support.otf2_archives import ArchiveWriter
from tests.support.otf2_swap import swap_archive

REGIONS = (0, 1, 200, 255, 256, 65535, 65536, 70000)
"""Ids of one to three bytes."""
PROFILE = np.dtype(
    [
        ("region", "u4"),
        ("location", "u4"),
        ("count", "u8"),
        ("inclusive", "i8"),
        ("exclusive", "i8"),
    ]
)
Event = tuple[bool, int, int]  # enters, place of the region, ticks since the event before


def plain(events: list[Event]) -> tuple[dict[int, tuple[int, int, int]], int, int]:
    """By region calls, inclusive and exclusive ticks; stray leaves; calls that were not left."""
    found: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    stack: list[list[int]] = []
    now = stray = unended = 0

    def pop() -> None:
        region, start, inside = stack.pop()
        spent = now - start
        found[region][0] += 1
        if all(open_region != region for open_region, _, _ in stack):
            found[region][1] += spent
        found[region][2] += spent - inside
        if stack:
            stack[-1][2] += spent

    for enters, region, passed in events:
        now += passed
        if enters:
            stack.append([region, now, 0])
        elif all(open_region != region for open_region, _, _ in stack):
            stray += 1
        else:
            while stack[-1][0] != region:
                unended += 1
                pop()
            pop()
    while stack:
        unended += 1
        pop()
    return {region: (c, i, e) for region, (c, i, e) in found.items()}, stray, unended


def reduced(anchor: Path) -> tuple[dict[int, tuple[int, int, int]], int, int]:
    archive = _core.Otf2Archive(os.fsencode(anchor))
    roles = bytes(8 * len(archive.regions()))
    [location] = archive.reduce(roles, 0, 0, 0, 1)["locations"]
    rows = location["profile"].view(PROFILE)
    found = {
        int(row["region"]): (int(row["count"]), int(row["inclusive"]), int(row["exclusive"]))
        for row in rows
    }
    return found, location["stray_leaves"], location["left_open"]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, len(REGIONS) - 1), st.integers(0, 300)),
        min_size=1,
        max_size=60,
    ),
    st.booleans(),
    st.booleans(),
)
def test_any_calls_add_up_as_on_a_plain_stack(
    events: list[Event], corrected: bool, swapped: bool
) -> None:
    with TemporaryDirectory() as name:
        writer = ArchiveWriter(Path(name) / "archive")
        writer.ranks(1)
        for region in REGIONS:
            writer.region(f"f{region}", number=region)
        if corrected:  # by the same distance everywhere, so that nothing but the path is another
            for time in (1, 1 << 30):
                writer.clock(0, time, 1000)
        now = 5000
        for enters, place, passed in events:
            now += passed
            writer.event(0, "Enter" if enters else "Leave", now, REGIONS[place])
        anchor = writer.close()
        if swapped:
            anchor = swap_archive(anchor, Path(name) / "swapped")
        assert reduced(anchor) == plain(events)


def test_calls_that_make_no_others_are_told_from_those_that_do(tmp_path: Path) -> None:
    """A leave of another region behind an enter, a time that goes back, a leave at once."""
    writer = ArchiveWriter(tmp_path / "archive")
    writer.ranks(1)
    first, second = writer.region("first"), writer.region("second")
    for name, time, region in (
        ("Enter", 100, first),
        ("Enter", 110, second),
        ("Leave", 120, first),
        ("Enter", 130, second),
        ("Leave", 130, second),
    ):
        writer.event(0, name, time, region)
    found, stray, unended = reduced(writer.close())
    assert found == {0: (1, 20, 10), 1: (2, 10, 10)}
    assert (stray, unended) == (0, 1)
    assert sum(exclusive for _, _, exclusive in found.values()) == pytest.approx(20)
