"""Where runs are stored: one run, or a directory of runs."""

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from perfscope.errors import UsageError
from perfscope.files import resolved
from perfscope.readers.recording.reader import is_recording
from perfscope.schema.study import Study

ANALYSIS_FILE = "analysis.json"
DEEPEST = 3  # levels below the directory that is named
MOST_RUNS = 5000


def find_runs(path: Path) -> list[Path]:
    """The runs at a path, in the order of their names: the path itself where it is one.

    A directory is searched for what `perfscope run` wrote and for stored results, not deeper than
    `DEEPEST` levels and never inside a run. One without any counts as a run itself, as traces of
    other tools are directories too.

    Raises:
        UsageError: there are more runs than a study can read.
    """
    if not path.is_dir() or is_recording(path):
        return [path]
    found: list[Path] = []
    for run in _below(path, DEEPEST):
        found.append(run)
        if len(found) > MOST_RUNS:
            raise UsageError(
                f"There are more than {MOST_RUNS:,} runs below {path}.",
                why="A study reads every run that it finds.",
                action="Name a directory with fewer runs.",
            )
    return found or [path]


def is_run_directory(path: Path) -> bool:
    """Whether a directory holds a recording or a stored result."""
    return is_recording(path) or (path / ANALYSIS_FILE).is_file()


def _below(directory: Path, levels: int) -> Iterator[Path]:
    for child in sorted(directory.iterdir(), key=lambda entry: natural(entry.name)):
        if child.name.startswith(".") or not child.is_dir():
            continue
        if is_run_directory(child):
            yield child
        elif levels > 1:
            yield from _below(child, levels - 1)


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key by which `trace-2` comes before `trace-10`."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]", name)
    return [(0, int(part), "") if part[0] in "0123456789" else (1, 0, part) for part in parts]


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
