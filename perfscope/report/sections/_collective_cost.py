"""Bandwidth of collectives, and what other ways of doing them would take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from perfscope.report.access import Document, mapping, number, rows, text, texts
from perfscope.report.formats import bytes_, count, percent, seconds
from perfscope.report.sections.section import Context
from perfscope.report.table import Column, Kind, Table
from perfscope.units import MISSING

MOST_CLASSES = 20
WAYS = (
    ("Ring", "ring_s"),
    ("Recursive doubling", "recursive_doubling_s"),
    ("Rabenseifner", "rabenseifner_s"),
    ("Tree", "tree_s"),
    ("Hierarchical", "hierarchical_s"),
    ("Hierarchical, put", "hierarchical_put_s"),
)
MOST_TORI = 16
UNFIT = "no line through the seconds of these calls by their sizes fits them"
MOST_FIT_ERROR = 0.5  # typical, of the seconds of a call


def collective_cost(document: Document) -> Context | None:
    """What the section shows of it; None where no collective of known size was recorded."""
    cost = mapping(document, "collectives", "cost")
    classes = sorted(
        rows(cost, "classes"),
        key=lambda row: -(number(row.get("calls")) or 0.0) * (number(row.get("seconds")) or 0.0),
    )
    if not classes:
        return None
    predictions = rows(cost, "allreduce")
    size = bytes_(number(predictions[0].get("size_bytes"))) if predictions else ""
    measured = seconds(number(cost.get("allreduce_measured_s")))
    fits = [line for row in rows(cost, "fits") for line in _fit(row)]
    return {
        "classes": Table(
            "bandwidth",
            "Collectives by size: median from the last arrival to the last exit",
            CLASSES,
            classes,
            MOST_CLASSES,
            "sizes",
            more=int(number(cost.get("classes_left_out")) or 0),
        ),
        "fits": Table("latency-bandwidth", "Latency and bandwidth", FITS, fits),
        "reason": text(cost, "reason") or ("" if fits else UNFIT),
        "predictions": Table(
            "allreduce-ways",
            f"An allreduce of {size}, by the way it is done; it took {measured}",
            PREDICTIONS,
            predictions,
        ),
        "assumptions": texts(cost, "assumptions"),
        "tori": Table(
            "tori",
            f"Seconds of an allreduce of {size} on every torus of so many ranks",
            TORI,
            [row for row in predictions if rows(row, "tori")],
        ),
        "fusion": _fusion(mapping(cost, "fusion")),
    }


def _rate(bytes_per_s: float | None) -> str:
    if bytes_per_s is None:
        return MISSING
    for factor, unit in ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")):
        if bytes_per_s >= factor:
            return f"{bytes_per_s / factor:.3g} {unit}"
    return f"{bytes_per_s:.3g} B/s"


def _fit(row: Mapping[str, Any]) -> list[Context]:
    """One line for each piece, from the smallest sizes on."""
    bounds = row.get("pieces_meet_at_bytes")
    meets = [number(x) for x in bounds] if isinstance(bounds, list) else []
    edges = [number(row.get("least_bytes")), *meets, number(row.get("most_bytes"))]
    pieces = rows(row, "pieces") or [row]
    return [
        {
            "name": text(row, "name"),
            "ranks": number(row.get("ranks")),
            "sizes": f"{bytes_(low)} to {bytes_(high)}",
            "latency": _with_interval(piece, "latency_s", "latency_interval_s", seconds),
            "rate": _with_interval(piece, "bytes_per_s", "bytes_per_s_interval", _rate),
            "error": number(piece.get("typical_error")),
        }
        for piece, low, high in zip(pieces, edges, edges[1:], strict=False)
        if _holds(piece)
    ]


def _holds(piece: Mapping[str, Any]) -> bool:
    """Whether a line fits its calls: one that misses them by half tells nothing, as no slope."""
    error = number(piece.get("typical_error"))
    has_slope = number(piece.get("bytes_per_s")) is not None
    return has_slope and error is not None and error <= MOST_FIT_ERROR


def _with_interval(
    piece: Mapping[str, Any], key: str, interval: str, shown: Callable[[float | None], str]
) -> str:
    """A value and, in brackets, its interval."""
    ends = piece.get(interval)
    value = shown(number(piece.get(key)))
    if not isinstance(ends, list) or len(ends) != 2:
        return value
    low, high = number(ends[0]), number(ends[1])
    spread = f"{shown(low)} or more" if high is None else f"{shown(low)} to {shown(high)}"
    return f"{value} ({spread})"


def _fusion(found: Mapping[str, Any]) -> Context | None:
    """What one allreduce in place of several would save; None where there are no such."""
    if not found:
        return None
    return {
        "calls": count(number(found.get("calls"))),
        "groups": count(number(found.get("groups"))),
        "most": bytes_(number(found.get("most_bytes"))),
        "seconds": seconds(number(found.get("seconds"))),
        "latency": seconds(number(found.get("latency_s"))),
        "saved": seconds(number(found.get("saved_s"))),
        "is_dominant": found.get("is_dominant") is True,
    }


def _torus(shape: Mapping[str, Any]) -> str:
    return f"{int(number(shape.get('x')) or 0)} × {int(number(shape.get('y')) or 0)}"


def _fastest_torus(row: Mapping[str, Any]) -> str:
    torus = mapping(row, "torus")
    written = seconds(number(torus.get("seconds")))
    return f"{written} ({_torus(torus)})" if torus else written


def _tori(row: Mapping[str, Any]) -> str:
    """Every shape of the torus at one number of ranks."""
    shapes = rows(row, "tori")
    cells = [f"{_torus(shape)}: {seconds(number(shape.get('seconds')))}" for shape in shapes]
    left = len(cells) - MOST_TORI
    return ", ".join(cells[:MOST_TORI]) + (f", and {left} more" if left > 0 else "")


CLASSES = (
    Column("Operation", "name", kind=Kind.CODE, longest=40),
    Column("Ranks", "ranks", count),
    Column("Size", "size_bytes", bytes_),
    Column("Calls", "calls", count),
    Column("Time", "seconds", seconds),
    Column("Size / time", "algorithm_bytes_per_s", _rate),
    Column("Bus bandwidth", "bus_bytes_per_s", _rate),
    Column("Of the best here", "of_best", percent),
)
FITS = (
    Column("Operation", "name", kind=Kind.CODE, longest=40),
    Column("Ranks", "ranks", count),
    Column("Sizes", "sizes"),
    Column("Latency (95 %)", "latency"),
    Column("Bandwidth (95 %)", "rate"),
    Column("Typical error", "error", percent),
)
PREDICTIONS = (
    Column("Ranks", "ranks", count),
    *(Column(label, key, seconds) for label, key in WAYS),
    Column("Fastest 2D torus", _fastest_torus),
)
TORI = (
    Column("Ranks", "ranks", count),
    Column("X × Y: time", _tori, kind=Kind.TEXT, longest=600),
)
