"""Bandwidth of collectives, and what other ways of doing them would take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, mapping, number, rows, text, texts
from perfscope.report.formats import bytes_, count, percent, seconds
from perfscope.report.sections.section import Context

MOST_CLASSES = 20
WAYS = (
    ("Ring", "ring_s"),
    ("Recursive doubling", "recursive_doubling_s"),
    ("Rabenseifner", "rabenseifner_s"),
    ("Tree", "tree_s"),
    ("Hierarchical", "hierarchical_s"),
)


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
    return {
        "classes": [_class(row) for row in classes[:MOST_CLASSES]],
        "left_out": max(len(classes) - MOST_CLASSES, 0)
        + int(number(cost.get("classes_left_out")) or 0),
        "fits": [_fit(row) for row in rows(cost, "fits")],
        "reason": text(cost, "reason"),
        "head": ("Ranks", *(label for label, _ in WAYS), "2D torus"),
        "predictions": [_prediction(row) for row in predictions],
        "size": bytes_(number(predictions[0].get("size_bytes"))) if predictions else "",
        "measured": seconds(number(cost.get("allreduce_measured_s"))),
        "assumptions": texts(cost, "assumptions"),
    }


def _rate(bytes_per_s: float | None) -> str:
    return "any" if bytes_per_s is None else f"{bytes_per_s / 1e9:.3g} GB/s"


def _class(row: Mapping[str, Any]) -> Context:
    return {
        "name": text(row, "name"),
        "ranks": count(number(row.get("ranks"))),
        "size": bytes_(number(row.get("size_bytes"))),
        "calls": count(number(row.get("calls"))),
        "seconds": seconds(number(row.get("seconds"))),
        "algorithm": _rate(number(row.get("algorithm_bytes_per_s"))),
        "bus": _rate(number(row.get("bus_bytes_per_s"))),
        "of_best": percent(number(row.get("of_best"))),
    }


def _fit(row: Mapping[str, Any]) -> Context:
    return {
        "name": text(row, "name"),
        "ranks": count(number(row.get("ranks"))),
        "latency": seconds(number(row.get("latency_s"))),
        "rate": _rate(number(row.get("bytes_per_s"))),
        "error": percent(number(row.get("typical_error"))),
    }


def _prediction(row: Mapping[str, Any]) -> Context:
    torus = mapping(row, "torus")
    shape = f" ({int(number(torus.get('x')) or 0)} × {int(number(torus.get('y')) or 0)})"
    cells = [seconds(number(row.get(key))) for _, key in WAYS]
    cells.append(seconds(number(torus.get("seconds"))) + (shape if torus else ""))
    return {"ranks": count(number(row.get("ranks"))), "cells": cells}
