"""Samples what a process does that works for a rank: loader workers, pools, other programs.

Such a process records its stacks and its CPU time alone, in files of its own, once it has lived
for a moment. What else the agent does in a rank stays off in it, so that a worker that turns out
to be a rank is still one that records nothing.
"""

from __future__ import annotations

import os
import sys

from . import (
    awaited,
    busy_threads,
    file_locks,
    files,
    looks,
    metadata,
    notes,
    own_threads,
    recorder,
    stacks,
)
from .pace import waits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .kinds import Any, Callable

_MOST_RECORDED = 512  # of the processes of a host: many short ones would fill the disk

_opened: recorder.Recorder | None = None
"""The recording of this process while it is that of a worker."""

_functions: recorder.Recorder | None = None
_at_end: Callable[[], None] | None = None


class _Sampler(stacks.Sampler):
    """Writes to the recording of a worker."""

    def recording(self) -> recorder.Recorder | None:
        """That recording, once it is open."""
        return _opened


def prepare(rec: recorder.Recorder, at_end: Callable[[], None]) -> None:
    """Takes what a worker is sampled with, and what it calls when it ends by itself."""
    global _functions, _at_end
    _functions, _at_end = rec, at_end


def start() -> None:
    """Starts to sample this process, which works for another one, in its main thread."""
    import atexit

    if _functions is not None and _at_end is not None:
        atexit.register(_at_end)
        _start(_functions)


def start_in_child(is_noted: bool) -> None:
    """The same in a forked child that is to work, if its parent has not too many yet.

    Whoever forks by hand may do what the kernel grants to a process with one thread alone.
    """
    if not is_noted or _functions is None:
        return
    files_of = [place[0].co_filename for place in looks.walk(sys._getframe())]
    if _is_to_work(files_of):
        depth = sum(not file.startswith(files.AGENT) for file in files_of)
        _start(_functions.anew(), depth - 1)


def _is_to_work(files_of: list[str]) -> bool:
    """Whether multiprocessing has forked this process, by the files of its stack."""
    module = sys.modules.get("multiprocessing.process")
    file = getattr(module, "__file__", None)
    folder = os.path.dirname(file) + os.sep if isinstance(file, str) else ""
    return bool(folder) and any(one.startswith(folder) for one in files_of)


def _start(rec: recorder.Recorder, inherited: int = 0) -> None:
    import _thread

    global _opened
    _opened = None
    stacks.forget()
    busy_threads.forget()
    awaited.forget()
    file_locks.forget()
    own_threads.forget()
    waits.forget()
    hz = stacks.statistics["hz"] = stacks.possible_hz(rec)
    if hz > 0:
        recorder.main_thread = _thread.get_ident()
        stacks.watched[recorder.main_thread] = os.getpid()
        stacks.sampler = _Sampler(hz, rec, lambda: _open(rec), inherited=inherited)
        stacks.sampler.start()


def is_recorded() -> bool:
    """Whether the process has files as a worker."""
    return _opened is not None


def finish() -> None:
    """At exit: writes what has been noted, and what the samples cost."""
    stacks.stop()
    if _opened is not None:
        metadata.facts["stack_sampler"] = dict(stacks.statistics)
        metadata.write()


def leave() -> None:
    """The process is no worker from now on; what was recorded is the begin of its own."""
    global _opened
    stacks.stop()
    if _opened is not None:
        opened, _opened = _opened, None
        opened.is_no_worker()


def forget() -> None:
    """Drops what belongs to the parent, in a forked child; it is freed with nothing of its own."""
    global _opened
    _opened = None


def _open(rec: recorder.Recorder) -> None:
    """Opens the files, in the sampler's thread: what ends before that leaves none."""
    global _opened
    try:
        if _has_room() and rec.open_worker() == 0:
            rec.set_flag(recorder.FLAG_AGENT)
            rec.sampler_start()
            _opened = rec
            _call_at_end()
            return
    except Exception as error:
        notes.failure("worker not recorded", error)
    rec.stack_notes_stop()


def _has_room() -> bool:
    folder = os.path.join(os.environ.get("PERFSCOPE_DIR", ""), os.uname().nodename)
    recorded = [name for name in os.listdir(folder) if name.endswith(".rec")]
    return len(recorded) < _MOST_RECORDED


def _call_at_end() -> None:
    """Has the end noted where multiprocessing ends the process: it leaves out what atexit knows."""
    util: Any = sys.modules.get("multiprocessing.util")
    if util is not None and _at_end is not None and own_threads.is_there("multiprocessing.util"):
        util.Finalize(None, _at_end, exitpriority=-100)
