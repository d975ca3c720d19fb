"""The figures of a run that other tools keep by run: declared once, whatever keeps them."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from perfscope.structures import dataclass

PREFIX = "perfscope"


@dataclass(frozen=True)
class Scalar:
    """One figure."""

    name: str  # under which it is kept
    path: tuple[str, ...]  # the keys that lead to it in analysis.json


SCALARS = (
    *(
        Scalar(name, ("metrics", name, "value"))
        for name in (
            *("parallel_efficiency", "load_balance", "communication_efficiency"),
            *("serialization_efficiency", "transfer_efficiency"),
            *("productive_share", "training_efficiency"),
        )
    ),
    Scalar("samples_per_s", ("run", "throughput", "samples_per_s", "value")),
    Scalar("step_s_median", ("run", "throughput", "step_s_median", "value")),
    Scalar("step_s_p95", ("run", "throughput", "step_s_p95", "value")),
    Scalar("epoch_s_median", ("run", "throughput", "epoch_s_median", "value")),
    Scalar("wall_s", ("run", "wall_s")),
    Scalar("ranks", ("run", "ranks")),
    Scalar("combined_gain_s", ("verdict", "combined_gain_s")),
)


def scalars(document: Mapping[str, Any]) -> dict[str, float]:
    """The figures that a result has, by name as `perfscope/parallel_efficiency`.

    What could not be measured is left out: trackers know no reasons.
    """
    found: dict[str, float] = {}
    for scalar in SCALARS:
        value: Any = document
        for key in scalar.path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            found[f"{PREFIX}/{scalar.name}"] = float(value)
    return found


def facts(document: Mapping[str, Any]) -> dict[str, str]:
    """What identifies the run beside its figures: verdict, findings that are not passed, commit."""
    verdict, run = document.get("verdict") or {}, document.get("run") or {}
    rows = document.get("findings") or []
    loud = [str(row.get("id")) for row in rows if row.get("status") in ("fail", "warn")]
    commit = run.get("commit") or {}
    told = {
        "verdict": str(verdict.get("sentence") or ""),
        "status": str(verdict.get("status") or ""),
        "findings": ", ".join(loud),
        "commit": str(commit.get("id") or ""),
    }
    return {f"{PREFIX}/{name}": text for name, text in told.items() if text}
