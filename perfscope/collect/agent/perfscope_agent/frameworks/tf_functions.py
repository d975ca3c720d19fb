"""What TensorFlow was built for, and how often its compiled functions were traced anew."""

from __future__ import annotations

import sys

from .. import metadata, recorder, steps
from . import wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

    AnyFunction = Callable[..., Any]

_MOST_FUNCTIONS = 5000
_MOST_NAMES = 20

_functions: list[Any] = []
"""Weak references to the tf.functions of the program, so that none lives longer for it."""

_created = [0]

_gone: dict[str, list[int]] = {}
"""Functions that the program has let go, by name: how many there were, how often all of them were
traced together, and how often one of them at most."""


def install(module: ModuleType) -> None:
    """Keeps count of the tf.functions that are made."""
    import weakref

    def make(original: AnyFunction) -> AnyFunction:
        def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            _created[0] += 1
            if len(_functions) < _MOST_FUNCTIONS:
                _functions.append(weakref.ref(self))

        return initialise

    wrap.replace(module.Function, "__init__", make)
    if not hasattr(module.Function, "__del__"):
        module.Function.__del__ = _let_go


def _let_go(function: Any) -> None:
    """Keeps the count of a function that ends with the part of the program that made it."""
    try:
        _count(function, _gone)
    except Exception:
        return


def _count(function: Any, counts: dict[str, list[int]]) -> None:
    """Adds a function and how often it was traced to the counts of its name."""
    traces = int(function.experimental_get_tracing_count())
    if traces:
        entry = counts.setdefault(str(getattr(function, "_name", "")) or "tf.function", [0, 0, 0])
        entry[0] += 1
        entry[1] += traces
        entry[2] = max(entry[2], traces)


def build_flags() -> dict[str, Any]:
    """What this TensorFlow was built for, as far as it says so itself."""
    flags: dict[str, Any] = {}
    info = getattr(sys.modules.get("tensorflow.python.platform.build_info"), "build_info", None)
    for name, value in dict(info or {}).items():
        if isinstance(value, (str, bool, int)):
            flags[str(name)] = value
    port = sys.modules.get("tensorflow.python.util._pywrap_util_port")
    for key, name in (("onednn", "IsMklEnabled"), ("cuda", "IsGoogleCudaEnabled")):
        function = getattr(port, name, None)
        if function is not None:
            flags[key] = bool(function())
    return flags


def finish() -> None:
    """At exit: notes the compiled functions by name, most often traced first."""
    gone = _gone.copy()  # at once: what is let go meanwhile would change it
    counts = {name: list(entry) for name, entry in gone.items()}
    for reference in _functions:
        function = reference()
        if function is None:
            continue
        try:
            _count(function, counts)
        except Exception:
            continue
    ranked = sorted(counts.items(), key=lambda item: (-item[1][1], item[0]))[:_MOST_NAMES]
    metadata.framework(
        "tensorflow",
        build=build_flags(),
        functions_made=_created[0],
        tracing=[
            {"name": name, "functions": functions, "traces": traces, "most_traces": most}
            for name, (functions, traces, most) in ranked
        ],
    )
    rec = recorder.current
    if rec is not None:
        for name, (_, traces, _most) in ranked:
            rec.metric(rec.name("traces/" + name), max(steps.last_number, 0), steps.epoch, traces)
