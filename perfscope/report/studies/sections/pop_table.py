"""The POP table in the layout of the field: factors down, sizes across."""

from __future__ import annotations

from itertools import zip_longest

from perfscope.report.formats import ratio
from perfscope.report.labels import band, focus_words, formula_words, useful_words
from perfscope.report.studies.section import Context, StudySection
from perfscope.report.studies.sections.speedup import scaled
from perfscope.schema.common import NO_REASON, Metric
from perfscope.schema.efficiency import EFFICIENCIES
from perfscope.schema.scaling import PopRow
from perfscope.schema.study import Study

MEANINGS = {
    "global_efficiency": "What of the ideal speed-up is left over: all factors together.",
    "computation_scalability": "How well the useful time of all ranks together stays what it was.",
    "ipc_scalability": "Instructions per cycle against the smallest size.",
    "instruction_scalability": "Instructions executed at the smallest size over those at this one.",
    "frequency_scalability": "Clock frequency against the smallest size.",
}


def _context(study: Study) -> Context:
    found = scaled(study)
    pop = found.pop
    values = pop.rows[0].values if pop.rows else ()
    return {
        "sizes": [found.size_label(size) for size in pop.sizes],
        "rows": [_row(row) for row in pop.rows],
        "formula": formula_words(pop.formula),
        "useful": useful_words(values[0].useful or "") if values else "",
        "foa": focus_words(values[0].foa or "") if values else "",
        "counters_reason": pop.counters_reason,
    }


def _row(row: PopRow) -> Context:
    factor = EFFICIENCIES.get(row.id)
    return {
        "label": row.label,
        "level": row.level,
        "meaning": factor.meaning if factor else MEANINGS.get(row.id, ""),
        "cells": [_cell(*one) for one in zip_longest(row.values, row.spreads)],
    }


def _cell(found: Metric, bounds: tuple[float, float] | None) -> Context:
    return {
        "value": ratio(found.value),
        "band": band(found.value),
        "reason": "" if found.is_measured else found.reason or NO_REASON,
        "range": " to ".join(map(ratio, bounds)) if bounds else "",
    }


SECTION = StudySection(
    "pop", "Efficiencies (POP)", "scaling_pop.html", _context, place=20, kinds=("scaling",)
)
