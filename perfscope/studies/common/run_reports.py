"""Where the report of a run is stored, and links to it from the page of a study."""

import os
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from perfscope.files import resolved
from perfscope.schema.study import Study

REPORT_FILE = "report.html"


def report_of(path: Path) -> Path:
    """Where the report of a run lies when it has one."""
    return (path if path.is_dir() else path.parent) / REPORT_FILE


def with_links(study: Study, page: Path) -> Study:
    """The study with a link to the report of each run that has one.

    Paths of runs start at the directory of the page for a sweep, else here.
    """
    home = page.parent if study.kind == "sweep" else Path()
    rows = tuple(
        row if row.path is None else replace(row, report=_link(report_of(home / row.path), page))
        for row in study.runs
    )
    return replace(study, runs=rows)


def _link(report: Path, page: Path) -> str | None:
    """A file as a link from a page; None when it is not there."""
    if not report.is_file():
        return None
    try:
        relative = os.path.relpath(resolved(report), resolved(page.parent))
    except ValueError:
        return None
    linked = quote(os.fsencode(relative))
    return linked if linked.startswith("../") else f"./{linked}"
