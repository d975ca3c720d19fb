"""Functions that TensorFlow or torch.compile traces, and so compiles, again and again."""

from collections.abc import Mapping
from typing import Any

from perfscope.findings.core import thresholds, wording
from perfscope.metrics.results import Results
from perfscope.structures import dataclass
from perfscope.trace.model import Frame

TRACED_OFTEN = 3  # times: the first one and one for a last, smaller batch are ordinary
MADE_OFTEN = 20  # functions of one name: more than a program has models and layers, mostly
LONGEST_NAME = 120
ONE_SHAPE = "give its batches one shape (drop the last partial one, pad to a few lengths), or "
CHANGES = {
    "value": "pass it as a tensor (`tf.constant({0})`), not as a Python value",
    "shape": f"{ONE_SHAPE}leave that size open (`None`) in the input_signature of tf.function",
    "type": "cast it to one type before the call",
    "object": "make the object once, before the loop",
}
"""What to do about an argument of a function, by what of it changed."""

OF_TORCH = {
    "value": "make it a tensor (`torch.tensor({0})`), not a Python value",
    "shape": f"{ONE_SHAPE}compile with dynamic=True",
}
"""The same of PyTorch's functions, where that is something else."""


@dataclass(frozen=True)
class Traced:
    """All functions of one name on one rank: how many were made, and how often they were traced.

    `traces` are those of all together, `most_traces` those of one function at most. Models share
    the names of their functions, so that only the second tells one that is traced again. `frame` is
    where the program defines it, None unknown. `is_given_up`: PyTorch compiled it as often as its
    limit allows, and runs it uncompiled for whatever it has not seen by then.
    """

    name: str
    functions: int
    traces: int
    most_traces: int
    frame: Frame | None = None
    is_torch: bool = False
    is_given_up: bool = False
    argument: str = ""  # of it, that was another one in most traces; "" unknown
    changes: str = ""  # what of that: a key of CHANGES
    again: int = 0  # how often there was another one

    @property
    def where(self) -> tuple[Frame, ...]:
        """Where the program defines it, as findings tell it."""
        return () if self.frame is None else (self.frame,)

    @property
    def place(self) -> str:
        """The function with its file and line, as far as they are known."""
        return wording.place(self.frame) or f"{self.name}()"

    @property
    def is_often(self) -> bool:
        """Whether one function is traced again and again, or very many of one name are made."""
        if self.is_torch:
            return self.is_given_up or self.most_traces > thresholds.COMPILED_OFTEN
        many = self.functions > MADE_OFTEN
        return many or self.most_traces > TRACED_OFTEN

    @property
    def is_pipeline(self) -> bool:
        """A function of a tf.data pipeline and not of the program's own."""
        return not self.is_torch and self.name.startswith("Dataset_")

    @property
    def is_made_anew(self) -> bool:
        """The program makes a new function each time, and not new input to an old one."""
        return not self.is_torch and self.most_traces <= TRACED_OFTEN

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
        if self.is_torch:
            return f"PyTorch compiled {self.name}() {self.most_traces:,} times"
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
                f"Make the model or tf.function of {self.place} once, before the loop, compile "
                "it once, and call it in the loop."
            )
        if self.changes in CHANGES:
            by_change = {**CHANGES, **OF_TORCH} if self.is_torch else CHANGES
            told = by_change[self.changes].format(self.argument)
            times = "once" if self.again == 1 else f"{self.again:,} times"
            return f"`{self.argument}` of {self.place} had another {self.changes} {times}: {told}."
        if self.is_torch:
            return (
                f"Let {self.place} see nothing new from call to call: make numbers that change, "
                "arguments or attributes of a module, tensors and not Python numbers; mark sizes "
                "that change with torch._dynamo.mark_dynamic, or compile with dynamic=True. "
                f"{wording.exported('TORCH_LOGS=recompiles')} prints the reason of each "
                "compilation."
            )
        return (
            f"Let {self.place} always see tensors of the same shapes and types: pass Python "
            "numbers as tensors, drop the last partial batch, give tf.function an "
            "input_signature."
        )


def traced_often(results: Results) -> list[Traced]:
    """What was traced too often, of the rank that traced most; most often traced first.

    Compiled functions of TensorFlow and of PyTorch are looked at alike.
    """
    ranks = (
        _often(
            [
                *_rows(rank.framework("tensorflow"), is_torch=False),
                *_rows(rank.framework("torch"), is_torch=True),
            ]
        )
        for rank in results.trace.ranks
    )
    return max(ranks, key=lambda found: sum(one.times for one in found), default=[])


def _often(found: list[Traced]) -> list[Traced]:
    often = [one for one in found if one.is_often]
    return sorted(often, key=lambda one: (-one.times, one.name))


def _rows(framework: Mapping[str, Any], *, is_torch: bool) -> list[Traced]:
    rows = framework.get("tracing")
    found = [_row(row, is_torch=is_torch) for row in rows] if isinstance(rows, list) else []
    return [one for one in found if one is not None]


def _row(row: Any, *, is_torch: bool) -> Traced | None:
    """A row of the metadata; None for one that makes no sense."""
    if not isinstance(row, dict):
        return None
    counts = [row.get(name) for name in ("functions", "traces", "most_traces", "line")]
    functions, traces, most, line = (count if isinstance(count, int) else 0 for count in counts)
    if functions < 1 or traces < 1:
        return None
    name, file = str(row.get("name", ""))[:LONGEST_NAME], row.get("file")
    return Traced(
        name,
        functions,
        traces,
        # older recordings do not tell the most of one: at least the mean, rounded up
        most or -(-traces // functions),
        frame=Frame(name, file, max(0, line)) if isinstance(file, str) and file else None,
        is_torch=is_torch,
        is_given_up=is_torch and row.get("given_up") is True,
        **_changing(row),
    )


def _changing(row: Mapping[str, Any]) -> dict[str, Any]:
    """What of which argument changed from trace to trace; nothing where that makes no sense."""
    name, what, again = (row.get(key) for key in ("argument", "changes", "again"))
    is_known = isinstance(name, str) and name and isinstance(what, str) and what in CHANGES
    if not is_known or not isinstance(again, int) or again < 1:
        return {}
    return {"argument": str(name)[:LONGEST_NAME], "changes": what, "again": again}
