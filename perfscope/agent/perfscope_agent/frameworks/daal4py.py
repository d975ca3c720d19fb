"""daal4py: each `compute` of an algorithm is a phase with the algorithm's name."""

from __future__ import annotations

import sys

from .. import exceptions, metadata, recorder
from ..kinds import Any, ModuleType
from . import wrap

_SOURCE = "daal4py"
_PREDICTIONS = ("_prediction", "_prediction_ratings", "_transform")
# What other algorithms are built from: their own compute is no work of a program.
_PARTS = ("engines_", "distributions_", "optimization_solver_", "kernel_function_")


def install(module: ModuleType) -> None:
    """Puts a subclass in the place of each algorithm, before the package hands out its name.

    The classes are compiled and cannot be changed. A subclass of the same name passes wherever the
    algorithm is asked for.
    """
    count = 0
    for name, value in list(vars(module).items()):
        if not isinstance(value, type) or value.__name__ != name or name.startswith(_PARTS):
            continue
        if "compute" in vars(value):
            setattr(module, name, _recorded(value, name))
            count += 1
    exceptions.hide_agent_frames()
    metadata.framework(_SOURCE, algorithms=count)


def _recorded(algorithm: Any, name: str) -> Any:
    is_prediction = name.endswith(_PREDICTIONS)
    kind = recorder.Phase.PREDICT if is_prediction else recorder.Phase.TRAIN

    def compute(self: Any, *args: Any, **kwargs: Any) -> Any:
        rec = recorder.current
        if rec is None:
            return algorithm.compute(self, *args, **kwargs)
        with wrap.Inside(rec, kind, name):
            return algorithm.compute(self, *args, **kwargs)

    compute.__doc__ = algorithm.compute.__doc__
    compute.__qualname__ = "%s.compute" % name
    compute.__dict__["__wrapped__"] = algorithm.compute
    body = {
        "compute": compute,
        "__doc__": algorithm.__doc__,
        "__module__": algorithm.__module__,
        "__slots__": (),
    }
    return type(name, (algorithm,), body)


def loaded(module: ModuleType) -> None:
    """Notes the version once daal4py is there; it has no `__version__`."""
    version = getattr(module, "_get__version__", None)
    # A text such as (2024, 7, 0, '"P"').
    words = str(version()).strip("()").split(",") if version is not None else []
    numbers = [word.strip() for word in words if word.strip().isdigit()]
    metadata.framework(_SOURCE, version=".".join(numbers), pool="TBB")
    metadata.write()


def finish() -> None:
    """At exit: the threads of the pool, which `daalinit` may have set. Asking earlier sets them."""
    threads = getattr(sys.modules.get("daal4py._daal4py"), "num_threads", None)
    metadata.framework(_SOURCE, threads=int(threads()) if threads is not None else None)
