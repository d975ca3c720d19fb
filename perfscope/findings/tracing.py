"""Functions that TensorFlow traces, and so compiles, again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfscope.metrics.results import Results

PREFIX = "traces/"
OFTEN = 3
"""A function is traced once or twice at first, for a full and for a last, smaller batch."""


def traced_often(results: Results) -> list[tuple[str, int]]:
    """Functions that were traced too often in this run, and how often, most first."""
    found = [
        (f"{name.removeprefix(PREFIX)}()", int(max(value for _, value in series)))
        for name, series in results.steps.metric_series.items()
        if name.startswith(PREFIX) and series
    ]
    return sorted([item for item in found if item[1] > OFTEN], key=lambda item: -item[1])
