"""Has Python's garbage collections measured: how many, how long, and when the long ones were.

The collector calls the recorder itself and no Python function. There a signal that came during the
collection would be handled, and what its handler raises, an interrupt, would be lost.
"""

from __future__ import annotations

import gc
import time

from . import recorder
from .kinds import Any

_COST_NS = 2000
"""What listening to one takes."""
_SHARE = 0.002
"""Of the time, for listening: of more collections some go unheard; the collector's counts go on."""

_listener: Any = None
_heard: Any = None
_ticked_ns = 0
_ticked_count = 0
_silent_until_ns = 0
_counted_before: list[int] = []


def start(rec: recorder.Recorder) -> None:
    """Listens from now on."""
    global _listener, _heard
    _listener, _heard = rec.collector_calls, rec.collections
    _counted_before[:] = _counts()
    gc.callbacks.append(_listener)


def finish() -> dict[str, Any]:
    """Stops listening; what was heard, for the metadata."""
    if _listener is None:
        return {}
    forget()
    counts = [now - then for now, then in zip(_counts(), _counted_before)]
    return {"collections": counts, "heard": int(_heard(0)), "heard_ns": int(_heard(1))}


def forget() -> None:
    """Stops listening: a forked child's collections belong to nobody's recording."""
    if _listener in gc.callbacks:
        gc.callbacks.remove(_listener)


def tick() -> None:
    """Called with each look at the process: pauses where there are too many, and resumes."""
    global _ticked_ns, _ticked_count, _silent_until_ns
    if _listener is None:
        return
    now, count = time.monotonic_ns(), int(_heard(0))
    if _silent_until_ns:
        if now >= _silent_until_ns:
            _silent_until_ns = 0
            gc.callbacks.append(_listener)
    elif _ticked_ns and now > _ticked_ns:
        cost_ns = _COST_NS * (count - _ticked_count)
        is_dear = cost_ns > _SHARE * (now - _ticked_ns)
        # With callbacks of the program's own behind it, taking it out would skip one of them.
        if is_dear and gc.callbacks[-1:] == [_listener]:
            _silent_until_ns = _ticked_ns + int(cost_ns / _SHARE)
            forget()
    _ticked_ns, _ticked_count = now, count


def _counts() -> list[int]:
    return [int(one["collections"]) for one in gc.get_stats()]
