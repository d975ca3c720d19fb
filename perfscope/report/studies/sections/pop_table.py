"""The POP table in the layout of the field: factors down, sizes across."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, figure, mapping, number, numbers, rows, text
from perfscope.report.formats import ratio
from perfscope.report.labels import band, focus_words, formula_words, useful_words
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.speedup import size_label
from perfscope.schema.efficiency import EFFICIENCIES

MEANINGS = {
    "global_efficiency": "What of the ideal speed-up is left over: all factors together.",
    "computation_scalability": "How well the useful time of all ranks together stays what it was.",
    "ipc_scalability": "Instructions per cycle against the smallest size.",
    "instruction_scalability": "Instructions executed at the smallest size over those at this one.",
    "frequency_scalability": "Clock frequency against the smallest size.",
}


def _context(document: Document) -> Context:
    found = mapping(document, "scaling")
    pop = mapping(found, "pop")
    table = rows(pop, "rows")
    first = table[0] if table else {}
    values = rows(first, "values")
    return {
        "sizes": [size_label(found, size) for size in numbers(pop, "sizes")],
        "rows": [_row(row) for row in table],
        "formula": formula_words(text(pop, "formula")),
        "useful": useful_words(text(values[0], "useful")) if values else "",
        "foa": focus_words(text(values[0], "foa")) if values else "",
        "counters_reason": text(pop, "counters_reason"),
    }


def _row(row: Mapping[str, Any]) -> Context:
    identity = text(row, "id")
    known = EFFICIENCIES.get(identity)
    spreads = row.get("spreads")
    bounds = spreads if isinstance(spreads, list) else []
    return {
        "label": text(row, "label"),
        "level": int(number(row.get("level")) or 0),
        "meaning": known.meaning if known else MEANINGS.get(identity, ""),
        "cells": [
            _cell(value, bounds[place] if place < len(bounds) else None)
            for place, value in enumerate(rows(row, "values"))
        ],
    }


def _cell(value: Mapping[str, Any], bounds: Any) -> Context:
    found = figure({"metric": value}, "metric")
    low_high = numbers({"bounds": bounds}, "bounds")
    return {
        "value": ratio(found.value),
        "band": band(found.value),
        "reason": found.reason,
        "range": " to ".join(map(ratio, low_high)) if len(low_high) == 2 else "",
    }


SECTION = StudySection(
    "pop", "Efficiencies (POP)", "scaling_pop.html", _context, place=20, kinds=("scaling",)
)
