"""Hands the figures of a run to an experiment tracker: `perfscope analyze --log mlflow:URI`."""

from collections.abc import Callable, Mapping
from math import isfinite
from types import ModuleType
from typing import Any

from perfscope.errors import PerfscopeError, UsageError
from perfscope.registry import optional
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


def log(where: str, document: Mapping[str, Any]) -> str:
    """Writes the figures of a result to a tracker; returns what was done in a sentence.

    Args:
        where: `tensorboard:DIR`, `wandb:PROJECT` or `mlflow:URI` (a database or server; empty for
            what MLFLOW_TRACKING_URI says).
        document: as analysis.json holds it.

    Raises:
        UsageError: there is no such tracker, or its package is missing.
        PerfscopeError: it takes nothing.
    """
    name, _, place = where.partition(":")
    if name not in TRACKERS or (name == "tensorboard" and not place):
        raise UsageError(
            f"--log {where!r} is not understood.",
            why=f"It names a tracker and its place; trackers are {', '.join(TRACKERS)}.",
            action="Write it as --log tensorboard:runs/baseline, --log wandb:project or "
            "--log mlflow:sqlite:///mlflow.db.",
        )
    figures = scalars(document)
    try:
        TRACKERS[name](place, figures, facts(document))
    except PerfscopeError:
        raise
    except Exception as error:  # whatever the tracker's package raises, the analysis is written
        raise PerfscopeError(
            f"{name} took no figures.",
            why=f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}",
            action="The analysis itself is written. See the settings of the tracker.",
        ) from error
    return f"Logged: {len(figures)} figures to {where}"


def _tensorboard(place: str, figures: Mapping[str, float], told: Mapping[str, str]) -> None:
    """An events file with a scalar each at step 0; what describes the run stands at the first."""
    described: str | None = "; ".join(f"{name}: {text}" for name, text in told.items())
    writers = _package("tensorboard.summary", "tensorboard")
    writer = writers.Writer(place)
    try:
        for name, value in figures.items():
            writer.add_scalar(name, value, 0, description=described)
            described = None
    finally:
        writer.close()


def _wandb(place: str, figures: Mapping[str, float], told: Mapping[str, str]) -> None:
    """A run of its own, whose summary has the figures; offline as WANDB_MODE says."""
    wandb = _package("wandb", "wandb")
    with wandb.init(project=place or None, job_type="perfscope") as run:
        run.log(dict(figures))
        run.summary.update(dict(told))


def _mlflow(place: str, figures: Mapping[str, float], told: Mapping[str, str]) -> None:
    """A run of its own, or the one that MLFLOW_RUN_ID names, with metrics and tags."""
    mlflow = _package("mlflow", "mlflow")
    if place:
        mlflow.set_tracking_uri(place)
    with mlflow.start_run():
        mlflow.log_metrics(dict(figures))
        mlflow.set_tags(dict(told))


TRACKERS: dict[str, Callable[[str, Mapping[str, float], Mapping[str, str]], None]] = {
    "tensorboard": _tensorboard,
    "wandb": _wandb,
    "mlflow": _mlflow,
}


def _package(name: str, distribution: str) -> ModuleType:
    return optional(name, option="--log", distribution=distribution, install=distribution)
