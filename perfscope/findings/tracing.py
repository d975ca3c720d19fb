"""Functions that TensorFlow traces, and so compiles, again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfscope.findings import thresholds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perfscope.metrics.results import Results


@dataclass(frozen=True)
class Traced:
    """All functions of one name on one rank: how many were made, and how often they were traced."""

    name: str
    functions: int
    traces: int

    @property
    def is_made_anew(self) -> bool:
        """The program makes a new function each time, and not new input to an old one."""
        return self.functions > thresholds.TRACED_OFTEN and self.traces < 2 * self.functions

    @property
    def what(self) -> str:
        """What happens, in words."""
        if self.is_made_anew:
            return f"{self.name}() is built and compiled {self.functions:,} times"
        return f"TensorFlow traced {self.name}() {self.traces:,} times"

    @property
    def action(self) -> str:
        """What to do about it."""
        if self.is_made_anew:
            return (
                f"Make the model or the tf.function of {self.name}() once, before the loop, compile "
                "it once, and call it in the loop."
            )
        return (
            f"Let {self.name}() always see tensors of the same shapes and types: pass Python "
            "numbers as tensors, drop the last partial batch, give tf.function an "
            "input_signature."
        )


def traced_often(results: Results) -> list[Traced]:
    """What was traced too often, of the rank that traced most; most first."""
    ranks = (_of_rank(rank.metadata) for rank in results.trace.ranks)
    return max(ranks, key=lambda found: sum(one.traces for one in found), default=[])


def _of_rank(metadata: Mapping[str, Any]) -> list[Traced]:
    frameworks = metadata.get("frameworks")
    tensorflow = frameworks.get("tensorflow") if isinstance(frameworks, dict) else None
    rows = tensorflow.get("tracing") if isinstance(tensorflow, dict) else None
    found = [_row(row) for row in rows] if isinstance(rows, list) else []
    often = [one for one in found if one is not None and one.traces > thresholds.TRACED_OFTEN]
    return sorted(often, key=lambda one: (-one.traces, one.name))


def _row(row: Any) -> Traced | None:
    """A row of the metadata; None for one that makes no sense."""
    if not isinstance(row, dict):
        return None
    functions, traces = row.get("functions"), row.get("traces")
    if not isinstance(functions, int) or not isinstance(traces, int):
        return None
    return Traced(str(row.get("name", "")), functions, traces)
