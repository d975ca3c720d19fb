"""The runs of the study: what each was, and how it came out."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, number, rows, text, texts
from perfscope.report.formats import count, decimal, ratio, seconds
from perfscope.report.studies.section import RUNS, Context, StudySection

MOST_RUNS = 200


def _context(document: Document) -> Context:
    found = rows(document, "runs")
    return {
        "runs": [_view(row) for row in found[:MOST_RUNS]],
        "left_out": max(len(found) - MOST_RUNS, 0),
    }


def _view(row: Mapping[str, Any]) -> Context:
    return {
        "label": text(row, "label"),
        "command": shlex.join(texts(row, "command")),
        "ending": text(row, "ending"),
        "cells": (
            count(number(row.get("ranks"))),
            count(number(row.get("hosts"))),
            seconds(number(row.get("wall_s"))),
            count(number(row.get("steps")) or None),
            decimal(number(row.get("samples_per_s"))),
            ratio(number(row.get("parallel_efficiency"))),
        ),
    }


def _applies(document: Document) -> bool:
    return text(document, "kind") != "history"  # which has an index of its own


SECTION = StudySection("runs", "Runs", "study_runs.html", _context, place=RUNS, applies=_applies)
