"""Where runs are stored: one run, or a directory of runs."""

import re
from collections.abc import Iterator
from pathlib import Path

from perfscope.errors import UsageError
from perfscope.readers.recording.reader import is_recording

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
