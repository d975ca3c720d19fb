"""Counters of OTF2 archives: in the unit of the metric, whatever base and exponent scale them."""

import os
import struct
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfscope
from perfscope import _core
from tests.support.otf2_archives import ArchiveWriter

UINT64, INT64, DOUBLE = 4, 8, 10
BASES = (2, 10)
COUNTER = np.dtype([("time", "i8"), ("location", "u4"), ("member", "u4"), ("value", "f8")])


def bits(kind: int, value: float) -> int:
    packed = struct.pack({UINT64: "<Q", INT64: "<q", DOUBLE: "<d"}[kind], value)
    return int.from_bytes(packed, "little")


def write(place: Path, kind: int, base: int, exponent: int, values: list[float]) -> Path:
    writer = ArchiveWriter(place / "archive")
    writer.ranks(1)
    region = writer.region("main")
    metric = writer.metric("steps", kind, base=base, exponent=exponent)
    writer.event(0, "Enter", 1000, region)
    for at, value in enumerate(values):
        writer.event(0, "Metric", 2000 + at, metric, [(kind, bits(kind, value))])
    writer.event(0, "Leave", 9000, region)
    return writer.close()


def counters(anchor: Path) -> list[float]:
    archive = _core.Otf2Archive(os.fsencode(anchor))
    roles = bytes(8 * len(archive.regions()))
    [location] = archive.reduce(roles, 10, 10, 100, 1)["locations"]
    values: list[float] = location["counters"].view(COUNTER)["value"].tolist()
    return values


@st.composite
def metrics(draw: st.DrawFn) -> tuple[int, int, int, list[float]]:
    kind = draw(st.sampled_from((UINT64, INT64, DOUBLE)))
    value: st.SearchStrategy[float] = {
        UINT64: st.integers(0, 2**64 - 1),
        INT64: st.integers(-(2**63), 2**63 - 1),
        DOUBLE: st.floats(-1e18, 1e18, allow_subnormal=False),
    }[kind]
    values = draw(st.lists(value, min_size=1, max_size=5))
    return kind, draw(st.integers(0, 1)), draw(st.integers(-12, 12)), values


@settings(max_examples=30, deadline=None)
@given(metrics())
def test_values_are_scaled_by_base_to_the_exponent(
    metric: tuple[int, int, int, list[float]],
) -> None:
    kind, base, exponent, values = metric
    with TemporaryDirectory() as place:
        found = counters(write(Path(place), kind, base, exponent, values))
    scale = Fraction(BASES[base]) ** exponent
    exact = [float(Fraction(value) * scale) for value in values]
    assert found == pytest.approx(exact, rel=4e-16)


def test_readers_show_the_scaled_value(tmp_path: Path) -> None:
    anchor = write(tmp_path, INT64, 1, -3, [1500, -250])
    table = perfscope.open_trace(anchor).counters()
    assert table[table["name"] == "steps"]["value"].tolist() == [1.5, -0.25]


@pytest.mark.parametrize(("base", "exponent"), [(0, 901), (1, -271), (1, 2**62), (7, 1)])
def test_a_scale_that_no_metric_has_is_refused(tmp_path: Path, base: int, exponent: int) -> None:
    anchor = write(tmp_path, UINT64, base, exponent, [1])
    with pytest.raises(_core.FormatError, match="of a metric"):
        _core.Otf2Archive(os.fsencode(anchor))
