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
    """All functions of one name on one rank: how many were made, and how often they were traced.

    `traces` are those of all together, `most_traces` those of one function at most. Models share
    the names of their functions, so that only the second tells one that is traced again.
    """

    name: str
    functions: int
    traces: int
    most_traces: int

    @property
    def is_pipeline(self) -> bool:
        """A function of a tf.data pipeline and not of the program's own."""
        return self.name.startswith("Dataset_")

    @property
    def is_made_anew(self) -> bool:
        """The program makes a new function each time, and not new input to an old one."""
        return self.most_traces <= thresholds.TRACED_OFTEN

    @property
    def times(self) -> int:
        """How often the same was compiled."""
        return self.functions if self.is_made_anew else self.most_traces

    @property
    def what(self) -> str:
        """What happens, in words."""
        if self.is_pipeline:
            return f"A tf.data pipeline is built {self.times:,} times"
        if self.is_made_anew:
            return f"{self.name}() is built and compiled {self.functions:,} times"
        return f"TensorFlow traced {self.name}() {self.most_traces:,} times"

    @property
    def action(self) -> str:
        """What to do about it."""
        if self.is_pipeline:
            return (
                "Use predict_on_batch(x) or model(x, training=False) for single batches in a loop: "
                "Model.predict, evaluate and fit build a pipeline in every call. Build pipelines "
                "of your own once, before the loop."
            )
        if self.is_made_anew:
            return (
                f"Make the model or tf.function of {self.name}() once, before the loop, compile "
                "it once, and call it in the loop."
            )
        return (
            f"Let {self.name}() always see tensors of the same shapes and types: pass Python "
            "numbers as tensors, drop the last partial batch, give tf.function an "
            "input_signature."
        )


def traced_often(results: Results) -> list[Traced]:
    """What was traced too often, of the rank that traced most; most first."""
    ranks = (_of_rank(rank.framework("tensorflow")) for rank in results.trace.ranks)
    return max(ranks, key=lambda found: sum(one.times for one in found), default=[])


def _of_rank(tensorflow: Mapping[str, Any]) -> list[Traced]:
    rows = tensorflow.get("tracing")
    found = [_row(row) for row in rows] if isinstance(rows, list) else []
    often = [one for one in found if one is not None and _is_often(one)]
    return sorted(often, key=lambda one: (-one.times, one.name))


def _is_often(one: Traced) -> bool:
    """Whether one function is traced again and again, or very many of one name are made."""
    return one.most_traces > thresholds.TRACED_OFTEN or one.functions > thresholds.MADE_OFTEN


def _row(row: Any) -> Traced | None:
    """A row of the metadata; None for one that makes no sense."""
    if not isinstance(row, dict):
        return None
    counts = [row.get(name) for name in ("functions", "traces", "most_traces")]
    functions, traces, most = (count if isinstance(count, int) else 0 for count in counts)
    if functions < 1 or traces < 1:
        return None
    # older recordings do not tell the most of one: at least the mean, rounded up
    return Traced(str(row.get("name", "")), functions, traces, most or -(-traces // functions))
