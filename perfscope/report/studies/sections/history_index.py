"""An index of all runs of a history, with links to their reports."""

from __future__ import annotations

from perfscope.report.formats import count, decimal, ratio, seconds
from perfscope.report.studies.section import RUNS, Context, StudySection
from perfscope.report.studies.sections.history_trends import trends
from perfscope.schema.study import HistoryRunRow, Study

MOST_RUNS = 1000


def _context(study: Study) -> Context:
    found = trends(study)
    reasons = {one.run: one.reason for one in found.left_out}
    runs = (run for run in study.runs if isinstance(run, HistoryRunRow))
    views = [_view(run, reasons.get(place, "")) for place, run in enumerate(runs)]
    views.reverse()  # the newest first
    return {
        "runs": views[:MOST_RUNS],
        "left_out": max(len(views) - MOST_RUNS, 0),
        "unreadable": [(one.path, one.reason) for one in found.unreadable],
    }


def _view(run: HistoryRunRow, reason: str) -> Context:
    return {
        "label": run.label,
        "link": safe_path(run.report or ""),
        "commit": run.commit.short if run.commit else "",
        "branch": (run.commit.branch if run.commit else None) or "",
        "day": run.day,
        "reason": reason,
        "cells": (
            count(run.ranks),
            seconds(run.wall_s),
            decimal(run.samples_per_s),
            seconds(run.step_s_median),
            ratio(run.parallel_efficiency),
        ),
    }


def safe_path(link: str) -> str:
    """A link to a file beside the page; "" for anything else."""
    return link if link.startswith(("./", "../")) and ":" not in link else ""


SECTION = StudySection(
    "index", "All runs", "history_index.html", _context, place=RUNS, kinds=("history",)
)
