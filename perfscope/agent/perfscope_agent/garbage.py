"""Has Python's garbage collections measured: how many, how long, and when the long ones were.

The collector calls the recorder itself and no Python function. There a signal that came during the
collection would be handled, and what its handler raises, an interrupt, would be lost.
"""

from __future__ import annotations

import gc
import time

from . import recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_A_SECOND = 1000.0  # listening to one takes a microsecond or two
_LONGEST_TURN_NS = 100000000
_TURNS = 10
"""Where there are more, one of so many turns is listened to; the collector's own counts go on."""

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
        rate = (count - _ticked_count) * 1e9 / (now - _ticked_ns)
        # With callbacks of the program's own behind it, taking it out would skip one of them.
        if rate > _MOST_A_SECOND and gc.callbacks[-1:] == [_listener]:
            _silent_until_ns = now + (_TURNS - 1) * min(now - _ticked_ns, _LONGEST_TURN_NS)
            forget()
    _ticked_ns, _ticked_count = now, count


def _counts() -> list[int]:
    return [int(one["collections"]) for one in gc.get_stats()]
