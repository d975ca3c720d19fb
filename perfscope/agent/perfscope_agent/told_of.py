"""What Python is to tell others of while the program runs: its calls, lines and allocations.

A profiler, a debugger, a measure of coverage or tracemalloc that is left on makes Python code slow.
"""

from __future__ import annotations

import sys

from . import metadata
from .kinds import Any
from .recorder import Recorder

_PROFILE, _TRACE = 0, 1  # as the recorder counts hooks
_HALF = 50  # percent
_TOOLS = range(6)
_AT_CALLS = ("CALL", "PY_RETURN", "C_RETURN")
"""Of which a profiler is told at each call; what is told once at each place costs nothing."""

_looks = [0, 0]
"""At tools, and those in which one was told of calls."""


def look() -> None:
    """Whether a tool is told of calls, where tools are: since Python 3.12."""
    if hasattr(sys, "monitoring"):
        _looks[0] += 1
        _looks[1] += any(_is_told(tool) for tool in _TOOLS)


def _is_told(tool: int) -> bool:
    """Whether a tool is told of calls; one that ends meanwhile is not."""
    monitoring: Any = getattr(sys, "monitoring", None)
    at_calls = sum([getattr(monitoring.events, name, 0) for name in _AT_CALLS])
    try:
        return bool(monitoring.get_tool(tool) and monitoring.get_events(tool) & at_calls)
    except ValueError:
        return False


def note(rec: Recorder | None) -> None:
    """At exit: what was told of for most of the run."""
    import _tracemalloc  # a part of it, also where no program has asked for that

    if _tracemalloc.is_tracing():
        metadata.facts["tracemalloc_frames"] = _tracemalloc.get_traceback_limit()
    by_tools = 100 * _looks[1] // max(1, _looks[0])
    calls, lines = (rec.hooked(_PROFILE), rec.hooked(_TRACE)) if rec is not None else (0, 0)
    if max(by_tools, calls) > _HALF:
        metadata.facts["profile_function"] = max(by_tools, calls)
    if lines > _HALF:
        metadata.facts["trace_function"] = lines
