"""Runs of which is known what a line that takes half of each step works on."""

from collections.abc import Mapping, Sequence
from typing import Any

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import PhaseKind
from tests.findings.analyzed import analyze_trace
from tests.support.trace_builder import TraceBuilder

STEPS = 40
FILE = "/home/me/train.py"
MAIN = ("main", FILE, 9)
HOT = ("whiten", FILE, 20)
OTHER = ("update", FILE, 30)
LIBRARY = ("inv", "/usr/lib/python3.11/site-packages/numpy/linalg/_linalg.py", 1)
NO_VERSIONS: Mapping[str, str] = {}
IDS = (
    "repeated_work",
    "replicated_work",
    "slow_operands",
    "padded_input",
    "single_samples",
    "widened_operands",
)


def operand(**changes: Any) -> dict[str, Any]:
    """An array of 360 x 360 doubles that was the same in ten looks."""
    usual = {"name": "covariance", "looks": 10, "kind": "array", "dtype": "float64"}
    form = {"byte_order": "native", "shape": [360, 360], "elements": [129600, 129600]}
    seen = {"layout": "rows", "stride": 8, "contents": 1, "shares": {"zero": 0.0}}
    return {**usual, **form, **seen, **changes}


def site(*operands: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Ten looks at the hot line, in which all was known and the same."""
    looks = {"looks": 10, "whole_looks": 10, "contents": 1, "result_looks": 0, "results": 0}
    place = "\x1f".join(map(str, HOT))
    return {"place": place, "is_innermost": True, **looks, "operands": operands, **changes}


def analyzed(
    *sites: dict[str, Any],
    is_one_call: bool = False,
    versions: Mapping[str, str] = NO_VERSIONS,
    timed: Mapping[str, Any] = NO_VERSIONS,
    others: Sequence[dict[str, Any]] | None = None,
    called: Sequence[dict[str, Any]] = (),
    library: tuple[str, str, int] = LIBRARY,
    loaders: Sequence[dict[str, Any]] = (),
    powers: object = None,
    backward_s: float = 0.0,
) -> dict[str, Finding]:
    """Two ranks whose steps of 0.2 s are half in the hot line and what it calls.

    Samples come at the begin and in the middle of each step. `others` is what rank 0 looked at,
    where that is not what rank 1 did; `called` what each rank saw a function being given.
    `backward_s` is how long the backward pass at the end of each step takes.
    """
    builder = TraceBuilder(2, end_s=3.0 + 0.2 * STEPS)
    for number in range(2):
        rank = builder.rank(number).init(1.0).finalize(1.0 + 0.2 * STEPS)
        own = sites if others is None or number else others
        told = {"looks": 10, "cpu_ns": 1, "sites": list(own), **timed}
        told["called"] = list(called[number : number + 1])
        torch = {"torch": {"loaders": list(loaders)}} if loaders else {}
        noted = {"operands": told, "versions": versions, "frameworks": torch, "powers": powers}
        rank.set(metadata=noted)
        for step, begin in rank.steps(STEPS, 0.2):
            if backward_s:
                rank.phase(PhaseKind.BACKWARD, begin + 0.2 - backward_s, begin + 0.2, step=step)
            is_hot = step < STEPS // 2 if is_one_call else True
            rank.stack(begin + 0.001, (MAIN, HOT, library) if is_hot else (MAIN, OTHER))
            is_other = not is_one_call or not is_hot
            rank.stack(begin + 0.1, (MAIN, OTHER) if is_other else (MAIN, HOT, library))
    return analyze_trace(builder.build()).findings


def judged(*sites: dict[str, Any], **changes: Any) -> dict[str, Finding]:
    """What such a run's findings about operands say."""
    found = analyzed(*sites, **changes)
    return {name: found[name] for name in IDS if name in found}


def faults(*sites: dict[str, Any], **changes: Any) -> dict[str, Finding]:
    """The findings that tell of a fault; of such a run."""
    found = judged(*sites, **changes)
    assert set(found) == set(IDS)
    return {name: one for name, one in found.items() if one.status.is_fault}
