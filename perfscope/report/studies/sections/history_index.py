"""An index of all runs of a history, with links to their reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfscope.report.access import Document, number, rows, text
from perfscope.report.formats import count, decimal, ratio, seconds
from perfscope.report.studies.section import RUNS, Context, StudySection

MOST_RUNS = 1000


def _context(document: Document) -> Context:
    found = rows(document, "runs")
    reasons = {
        int(number(row.get("run")) or 0): text(row, "reason")
        for row in rows(document, "history", "left_out")
    }
    views = [_view(row, reasons.get(place, "")) for place, row in enumerate(found)]
    views.reverse()  # the newest first
    return {
        "runs": views[:MOST_RUNS],
        "left_out": max(len(views) - MOST_RUNS, 0),
        "unreadable": [
            (text(row, "path"), text(row, "reason"))
            for row in rows(document, "history", "unreadable")
        ],
    }


def _view(row: Mapping[str, Any], reason: str) -> Context:
    return {
        "label": text(row, "label"),
        "link": safe_path(text(row, "report")),
        "commit": text(row, "commit", "id")[:10],
        "branch": text(row, "commit", "branch"),
        "day": text(row, "day"),
        "reason": reason,
        "cells": (
            count(number(row.get("ranks"))),
            seconds(number(row.get("wall_s"))),
            decimal(number(row.get("samples_per_s"))),
            seconds(number(row.get("step_s_median"))),
            ratio(number(row.get("parallel_efficiency"))),
        ),
    }


def safe_path(link: str) -> str:
    """A link to a file beside the page; "" for anything else."""
    return link if link.startswith(("./", "../")) and ":" not in link else ""


SECTION = StudySection(
    "index", "All runs", "history_index.html", _context, place=RUNS, kinds=("history",)
)
