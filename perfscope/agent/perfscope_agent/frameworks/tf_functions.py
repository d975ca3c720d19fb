"""What TensorFlow was built for, and how often its compiled functions were traced anew."""

from __future__ import annotations

import functools
import os
import sys
import types

from .. import files, metadata, recorder, steps
from ..kinds import Any, AnyFunction, ModuleType
from . import tf_arguments, wrap

_MOST_FUNCTIONS = 5000
_MOST_NAMES = 20

_functions: list[Any] = []
"""Weak references to the tf.functions of the program, so that none lives longer for it."""

_created = [0]

_DEEPEST_WRAPPING = 10
_OFTEN = 4  # traces: what changes between fewer is no problem


class _Counts:
    """Functions of one name: how many, how often traced, and the place of the one traced most."""

    __slots__ = ("changing", "file", "functions", "line", "most", "traces")

    def __init__(self) -> None:
        self.functions = 0
        self.traces = 0
        self.most = 0
        self.file = ""
        self.line = 0
        self.changing: dict[str, Any] = {}

    def add(
        self,
        traces: int,
        functions: int,
        most: int,
        place: tuple[str, int],
        changing: dict[str, Any],
    ) -> None:
        """Adds functions, of which the one traced most is at the place, for what changes."""
        self.functions += functions
        self.traces += traces
        if most > self.most or not self.file:
            self.file, self.line = place
            self.changing = changing
        self.most = max(self.most, most)


_gone: dict[str, _Counts] = {}
"""Functions that the program has let go, by name."""


def install(module: ModuleType) -> None:
    """Keeps count of the tf.functions that are made."""
    import weakref

    def make(original: AnyFunction) -> AnyFunction:
        def initialize(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            _created[0] += 1
            if len(_functions) < _MOST_FUNCTIONS:
                _functions.append(weakref.ref(self))

        return initialize

    wrap.replace(module.Function, "__init__", make)
    if not hasattr(module.Function, "__del__"):
        module.Function.__del__ = _let_go


def _let_go(function: Any) -> None:
    """Keeps the count of a function that ends with the part of the program that made it."""
    try:
        _count(function, _gone)
    except Exception:
        return


def _count(function: Any, counts: dict[str, _Counts]) -> None:
    """Adds a function and how often it was traced to the counts of its name."""
    traces = int(function.experimental_get_tracing_count())
    if traces:
        name = str(getattr(function, "_name", "")) or "tf.function"
        changes = wrap.asked({}, tf_arguments.changing, function) if traces >= _OFTEN else {}
        counts.setdefault(name, _Counts()).add(traces, 1, traces, _place(function), changes)


def _place(function: Any) -> tuple[str, int]:
    """File and first line of what is traced, ("", 0) where it is none of the program's own."""
    try:
        inner: Any = function._python_function
        for _ in range(_DEEPEST_WRAPPING):
            following = _inside(inner)
            if following is None:
                break
            inner = following
        if not isinstance(inner, types.FunctionType):
            return "", 0
        code = inner.__code__
        file, line = str(code.co_filename), int(code.co_firstlineno)
        return (os.path.abspath(file), line) if files.is_program(file) else ("", 0)
    except Exception:
        return "", 0  # a callable without Python code


def _inside(wrapper: Any) -> Any:
    """What a wrapper calls, None of anything else: attributes of objects may run their code."""
    if isinstance(wrapper, types.MethodType):
        return wrapper.__func__
    if isinstance(wrapper, functools.partial):
        return wrapper.func
    if isinstance(wrapper, types.FunctionType):
        return vars(wrapper).get("__wrapped__")
    return None


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
    counts: dict[str, _Counts] = {}
    for name, one in gone.items():
        entry = counts.setdefault(name, _Counts())
        entry.add(one.traces, one.functions, one.most, (one.file, one.line), one.changing)
    for reference in _functions:
        function = reference()
        if function is None:
            continue
        try:
            _count(function, counts)
        except Exception:
            continue
    ranked = sorted(counts.items(), key=lambda item: (-item[1].traces, item[0]))[:_MOST_NAMES]
    metadata.framework(
        "tensorflow",
        build=build_flags(),
        functions_made=_created[0],
        tracing=[
            {
                "name": name,
                "functions": one.functions,
                "traces": one.traces,
                "most_traces": one.most,
                "file": one.file,
                "line": one.line,
                **one.changing,
            }
            for name, one in ranked
        ],
    )
    rec = recorder.current
    if rec is not None:
        number = max(steps.last_number, 0)
        for name, one in ranked:
            rec.metric(rec.name("traces/" + name), number, steps.epoch, one.traces)
