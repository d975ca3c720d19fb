"""Boosted trees, XGBoost and LightGBM: each round is a step over all rows that the process has."""

from __future__ import annotations

import sys
import weakref

from .. import metadata, recorder, steps
from ..kinds import Any, AnyFunction, ModuleType
from . import wrap

_cycle = steps.Cycle(sums_samples=True)
_last: Any = None
"""The booster of the last round, without keeping it."""


def install(module: ModuleType) -> None:
    """Wraps the class of both that grows a tree a call, and evaluates."""
    source = module.__name__.partition(".")[0]
    wrap.replace(module.Booster, "update", lambda original: _make_update(original, source))
    for name in ("eval_set", "eval_train", "eval_valid"):
        wrap.phase(module.Booster, name, recorder.Phase.EVALUATE, name)
    version = getattr(sys.modules.get(source), "__version__", "")
    metadata.framework(source, version=str(version))


def _make_update(original: AnyFunction, source: str) -> AnyFunction:
    def update(self: Any, *args: Any, **kwargs: Any) -> Any:
        rec = recorder.current
        if rec is None:
            return original(self, *args, **kwargs)
        start_ns = rec.now()
        with wrap.Inside(rec, recorder.Phase.TRAIN, "update"):
            result = original(self, *args, **kwargs)
        if rec is recorder.current:
            samples = _rows(args[0] if args else kwargs.get("dtrain"), self)
            unit = steps.Unit(
                source, id(self), start_ns=start_ns, end_ns=rec.now(), samples=samples
            )
            wrap.guarded("rounds of " + source, _add, self, unit)  # another thread may add one
        return result

    return update


def _add(booster: Any, unit: steps.Unit) -> None:
    """Takes a round; a booster that is no more has had its last one, and another may lie there."""
    global _last
    if _last is not None and _last() is None:
        _cycle.cut()
    _last = weakref.ref(booster)
    _cycle.add(unit)


def _rows(given: Any, booster: Any) -> int:
    """Rows of what XGBoost is given, or of the training set that LightGBM's booster keeps."""
    try:
        if hasattr(given, "num_row"):
            return int(given.num_row())
        return int((given or booster.train_set).num_data())
    except Exception:  # another version, or a class of the program's own
        return 0


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    _cycle.drop()


def finish() -> None:
    """At exit: the last round."""
    _cycle.cut()
