"""Final loss or accuracy of a run: from its recording, else from the job's output."""

import math
import os
import re
from pathlib import Path

from perfscope.files import open_input
from perfscope.structures import dataclass
from perfscope.studies.common.runs import StudyRun
from perfscope.sweep.study.stored import OUTPUT_FILES, RUNS, StoredPlan, StoredRun

MOST_BYTES = 32 << 20
LONGEST_LINE = 10_000
# In this order: what a training is for, then what it is measured by.
_NAMES = ("val_accuracy", "val_acc", "accuracy", "acc", "val_loss", "loss")


@dataclass(frozen=True)
class Quality:
    """A final value and what it is called."""

    name: str
    value: float


def printed_throughput(plan: StoredPlan, stored: StoredRun) -> Quality | None:
    """The last value of --throughput in the output; None without the option or a match."""
    return None if plan.throughput is None else _from_output(plan, stored, plan.throughput)


def final_value(plan: StoredPlan, stored: StoredRun, run: StudyRun | None) -> Quality | None:
    """The last value of --metric in the output; without it the last recorded accuracy or loss.

    None where there is none.
    """
    if plan.metric is not None:
        return _from_output(plan, stored, plan.metric)
    return None if run is None else _recorded(run)


def _recorded(run: StudyRun) -> Quality | None:
    series = run.result.steps.series
    for name in _NAMES:
        for key in sorted(series):
            if key.lower().rpartition("/")[2] == name and series[key]:
                return Quality(key, series[key][-1][1])
    return None


def _from_output(plan: StoredPlan, stored: StoredRun, pattern: str) -> Quality | None:
    """The last match in what the job printed."""
    try:
        expression = re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None
    name = next(iter(expression.groupindex), "metric")
    for file in OUTPUT_FILES:
        try:
            content = _end_of(plan.place / RUNS / stored.name / file)
        except OSError:
            continue
        last = None
        for line in content.splitlines():
            for match in expression.finditer(line[:LONGEST_LINE]):
                last = _number(match[1]) if _number(match[1]) is not None else last
        if last is not None:
            return Quality(name, last)
    return None


def _end_of(path: Path) -> str:
    """The last part of a file, from the beginning of a line."""
    with open_input(path) as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - MOST_BYTES))
        if size > MOST_BYTES:
            stream.readline(MOST_BYTES)
        return stream.read(MOST_BYTES).decode("utf-8", "replace")


def _number(text: str | None) -> float | None:
    try:
        value = float((text or "").strip().rstrip("%").replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
