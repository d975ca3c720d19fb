"""Reads CUBE profiles of Score-P and Scalasca: sums by metric, call path and location.

Wait states and delay costs are Scalasca's own, and are shown as such.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from perfscope.readers.common.tool_reports import report, reporting_trace, table
from perfscope.readers.cube.anchor import Metric
from perfscope.readers.cube.archive import CubeArchive
from perfscope.readers.detect import Place, Reader, ReadOptions, Tells
from perfscope.schema.enums import Quantity
from perfscope.schema.other_tools import Cell, ToolTable
from perfscope.trace.model import Format, Trace
from perfscope.units import format_seconds, format_share

MAGIC, MAGIC_AT = b"ustar", 257
_FIRST = re.compile(rb"(?:\./)?(?:remapping\.spec|anchor\.xml|\d{1,6}\.(?:index|data))\0")
"""What the first file in a profile is called."""
UNITS = {"sec": Quantity.SECONDS, "occ": Quantity.COUNT, "bytes": Quantity.BYTES}
NO_SUMS = ("MINDOUBLE", "MAXDOUBLE")
"""Types of metrics whose values do not add up."""
WHY = "a CUBE profile tells sums by call path, and not when anything happened"
TIME, VISITS = "time", "visits"


def _recognizes(place: Place) -> bool:
    head = place.head
    return head[MAGIC_AT:].startswith(MAGIC) and _FIRST.match(head) is not None


def _open(paths: Sequence[Path], _: ReadOptions) -> Trace:
    """The run that a profile sums up.

    Raises:
        UnreadableInputError: it is damaged.
    """
    path = paths[0]
    archive = CubeArchive(path)
    by_key = {metric.key: metric for metric in archive.metrics}
    tables = [*_by_region(archive, by_key), _by_metric(archive)]
    said = [*_sentences(archive, by_key), *_left_out(archive)]
    told = report(archive.creator or "CUBE", path, said, tables)
    ranks = [location.rank for location in archive.locations]
    return reporting_trace(
        path, Format.CUBE, told, why=WHY, ranks=ranks or (0,), wall_ns=_longest_ns(archive, by_key)
    )


def _longest_ns(archive: CubeArchive, by_key: dict[str, Metric]) -> int:
    """How long the location lived that lived longest, 0 unknown."""
    spent = archive.exclusive(by_key[TIME]) if TIME in by_key else None
    return 0 if spent is None else round(float(spent.sum(axis=0).max(initial=0.0)) * 1e9)


def _by_region(archive: CubeArchive, by_key: dict[str, Metric]) -> Iterator[ToolTable]:
    """Regions by their own time, over all locations, with the ranks that spent most and least."""
    spent = archive.exclusive(by_key[TIME]) if TIME in by_key else None
    if spent is None:
        return
    visits = archive.exclusive(by_key[VISITS]) if VISITS in by_key else None
    regions = archive.callees
    rows: list[tuple[Cell, ...]] = []
    for region in np.unique(regions).tolist():
        mine = spent[regions == region].sum(axis=0)
        count = None if visits is None else int(visits[regions == region].sum())
        by_rank = _per_rank(archive, mine)
        told = archive.regions[region]
        place = f"{told.file}:{told.line}" if told.file and told.line else told.file or None
        whole = float(mine.sum())
        rows.append((told.name, told.paradigm, place, count, whole, min(by_rank), max(by_rank)))
    rows.sort(key=lambda row: -float(row[4] or 0.0))
    columns = {
        "Region": Quantity.CODE,
        "Kind": Quantity.TEXT,
        "Place": Quantity.CODE,
        "Visits": Quantity.COUNT,
        "Own time, all locations": Quantity.SECONDS,
        "Least of a rank": Quantity.SECONDS,
        "Most of a rank": Quantity.SECONDS,
    }
    yield table("Regions by their own time", columns, rows)


def _per_rank(archive: CubeArchive, values: np.ndarray) -> list[float]:
    found: dict[int, float] = defaultdict(float)
    for location, value in zip(archive.locations, values.tolist(), strict=True):
        found[location.rank] += value
    return list(found.values())


def _by_metric(archive: CubeArchive) -> ToolTable:
    """What each metric comes to, with the metric that it is a part of: wait states among them."""
    rows: list[tuple[Cell, ...]] = []
    for metric in archive.metrics:
        found = None if metric.kind.upper() in NO_SUMS else archive.exclusive(metric)
        if found is None or not found.any():
            continue
        by_rank = _per_rank(archive, found.sum(axis=0))
        whole = float(found.sum())
        row = (metric.name, metric.key, metric.parent or None, metric.unit, whole, max(by_rank))
        rows.append(row)
    columns = {
        "Metric": Quantity.TEXT,
        "Id": Quantity.CODE,
        "Part of": Quantity.CODE,
        "Unit": Quantity.TEXT,
        "All locations": Quantity.NUMBER,
        "Most of a rank": Quantity.NUMBER,
    }
    return table("Metrics, wait states and delay costs as the tool has them", columns, rows)


def _sentences(archive: CubeArchive, by_key: dict[str, Metric]) -> Iterator[str]:
    spent = archive.exclusive(by_key[TIME]) if TIME in by_key else None
    if spent is None or not spent.sum():
        return
    whole = float(spent.sum())
    by_kind: dict[str, float] = defaultdict(float)
    for region, values in zip(archive.callees.tolist(), spent.sum(axis=1).tolist(), strict=True):
        by_kind[archive.regions[region].paradigm or "a kind not told"] += values
    parts = sorted(by_kind.items(), key=lambda one: -one[1])[:3]
    told = ", ".join(f"{format_share(value / whole)} in regions of {kind}" for kind, value in parts)
    yield f"Of {format_seconds(whole)} of all locations, {told}."


def _left_out(archive: CubeArchive) -> list[str]:
    """What is to be said of metrics whose values cannot be true."""
    names = ", ".join(archive.impossible.values())
    return [f"Values that cannot be true were left out, with all of: {names}."] if names else []


READER = Reader(
    format=Format.CUBE,
    description="a CUBE profile of Score-P or Scalasca (.cubex)",
    recognizes=_recognizes,
    open=_open,
    tells=Tells(
        waits="Scalasca's wait states and delay costs, as it has them",
        phases="regions, as sums",
        counters="its metrics, as sums",
        known_from="a file of Cube's library; 69 of Score-P and Scalasca by hand, beside pycubexr",
    ),
)
