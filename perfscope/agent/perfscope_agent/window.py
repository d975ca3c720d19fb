"""Only some steps in detail, and the end of the job after a step: what a study needs of a run."""

from __future__ import annotations

import os
import sys

from . import notes, steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .recorder import Recorder

STOP_FILE = "stop-after"

_recorder: Recorder | None = None
_first = 0
_end = -1  # -1: to the end of the run
_is_detailed = True
_stop_after = -1
_is_asked_to_stop = False


def begin(recorder: Recorder, rank: int) -> None:
    """Reads what the user asked for; called once, when the recording has been opened."""
    global _recorder, _first, _end, _stop_after
    first, _, end = os.environ.get("PERFSCOPE_STEPS", "").partition(":")
    after = os.environ.get("PERFSCOPE_STOP_AFTER", "")
    _recorder = recorder
    _first = int(first) if first.isdigit() else 0
    _end = int(end) if end.isdigit() else -1
    # One rank decides for all; a program without ranks decides for itself.
    _stop_after = int(after) if after.isdigit() and rank <= 0 else -1
    steps.window = sys.modules[__name__]
    running(0)


def running(number: int, slack: int = 0) -> None:
    """Step `number` runs now, or one up to `slack` steps away where that is not known exactly."""
    global _is_detailed
    if _recorder is None:
        return
    wanted = _first - slack <= number and (_end < 0 or number < _end + slack)
    if wanted != _is_detailed:
        _is_detailed = wanted
        _recorder.set_detail(1 if wanted else 0)


def recorded(number: int) -> None:
    """Step `number` has been written: asks `perfscope run` to end the job when it was the last."""
    global _is_asked_to_stop
    running(number + 1, slack=0 if steps.source == steps.MARKER else 1)
    if _stop_after < 0 or number < _stop_after or _is_asked_to_stop:
        return
    _is_asked_to_stop = True
    try:
        path = os.path.join(os.environ["PERFSCOPE_DIR"], STOP_FILE)
        with open(path + ".new", "w") as stream:
            stream.write("%d\n" % number)
        os.replace(path + ".new", path)
    except (OSError, KeyError) as error:
        notes.failure("the end of the job was not asked for", error)
