"""The recorder library as Python functions: one writer and one clock for C and Python records."""

from __future__ import annotations

import os
import sys

from . import notes
from .library import Library, types
from .secrets.redact import redact_path, redact_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MAY_HAVE_OWN_LOCK = sys.version_info >= (3, 12)
"""Whether an interpreter inside the process may have a lock of its own."""

NO_STEP = -1  # as a 32-bit word: UINT32_MAX
NO_EPOCH = -1
FLAG_AGENT = 128


class Phase:
    """Codes of phases, as in the recording format."""

    TRAIN = 1
    FORWARD = 2
    BACKWARD = 3
    OPTIMIZER = 4
    INPUT = 5
    EVALUATE = 6
    PREDICT = 7
    CHECKPOINT = 8
    IO = 9
    DEVICE_WAIT = 10
    COMMUNICATION = 11
    USER = 12


_FUNCTIONS = {
    "open": "int",
    "open_forked": "int",
    "open_worker": "int",
    "is_no_worker": "-",
    "is_recording": "int",
    "base_path": "text",
    "now": "u64",
    "phase_begin": "u64",
    "phase_end": "- u64",
    "phase": "- u32 u32 i32 i32 u64 u64",
    "step": "- u32 i32 u64 u64 u64 u64",
    "metric": "- u32 u32 i32 f64",
    "stack_sample": "- u32 u32 u64",
    "collector_calls": "- object object",
    "collections": "u64 u32",
    "calls": "- u32 u32 u32 u32 i64 u64 u64",
    "python_blocks": "- u64",
    "private_bytes": "u64",
    "address_space_left": "u64",
    "set_rank": "- i32 i32",
    "run_here": "int",
    "set_flag": "- u32",
    "sampler_start": "-",
    "ignore_thread": "- u32",
    "set_detail": "- u32",
    "type_of_variable": "object pointer u32 u32 pointer",
    "call_alone": "object object object",
    "builtin": "object text object",
    "_name": "u32 text u32",
    "_stack": "u32 pointer u32",
    "stack_notes_start": "- pointer u32 u32 u32",
    "stack_notes_stop": "-",
    "hooked": "u32 u32",
    "received_again": "int u32 pointer",
    "given": "int u32 pointer",
    "stack_is_noted": "int",
    "stack_notes": "object",
    "turns_are_timed": "int",
    "turn_times": "object",
    "stack_knows": "- pointer i32",
    "can_look_at_operands": "int",
    "operand_places": "object u32",
    "operands": "object object object object u32 u32 u32",
    "values_held": "object object object object u32 u32",
    "subnormal_times": "u32 u32",
    "read_pieces": "int pointer pointer u32 pointer",
}
"""What each function of the library returns and takes, by its name in Python."""

_IN_EACH_STEP = ("now", "phase_begin", "phase_end", "phase", "step")
"""Those that Python calls by itself where it can, in a fraction of the time of `ctypes`."""


class Recorder:
    """The bound functions of an open recording."""

    def __init__(self, library: Library) -> None:
        self._library = library
        # alone of all these it gives the interpreter's lock away
        wait = library.function("ps_stack_notes_wait", "u32 pointer u32", keeps_lock=False)
        self._notes_wait = wait
        self._names: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        """One of `_FUNCTIONS`, which is bound when it is asked for."""
        signature = _FUNCTIONS.get(name)
        if signature is None:
            raise AttributeError(name)
        found = self._own_function(name) if name in _IN_EACH_STEP else None
        if found is None:
            found = self._library.function(_symbol(name), signature)
        if name == "phase_begin" and hasattr(found, "argtypes"):
            # Without argument types plain ints are passed, in half the time; they all fit 32 bits.
            found.argtypes = None
        setattr(self, name, found)
        return found

    def _own_function(self, name: str) -> Any:
        """One that Python calls by itself; None where it cannot be made."""
        try:
            return self.builtin(name.encode(), None)
        except ValueError:  # what ctypes makes of NULL: Python's functions are not to be seen
            return None

    def anew(self) -> Recorder:
        """The same library, in a forked child that has none of its parent's records."""
        return Recorder(self._library)

    def look_at_all(self, function: Callable[[], Any]) -> Any:
        """What a function of Python returns that looks into all interpreters of the process.

        None where that could crash: since Python 3.12 another one may go on meanwhile.
        """
        return self.call_alone(function, None) if _MAY_HAVE_OWN_LOCK else function()

    def name(self, text: str) -> int:
        """The id of a name; equal text, equal id.

        What names a phase, a step or a value may hold whatever the program put there: it is
        written without its secrets.
        """
        known = self._names.get(text)
        if known is None:
            data = redact_value(text).encode("utf-8", "replace")
            known = int(self._name(data, len(data)))
            if len(self._names) < 20000:
                self._names[text] = known
        return known

    def place(self, function: str, file: str, line: int) -> int:
        """The id of a place in the program's code."""
        data = place_text(function, file, line).encode("utf-8", "replace")
        return int(self._name(data, len(data)))

    def stack_notes_wait(self, due_ns: list[int]) -> int:
        """How many of these moments, at which the stack was to be noted, have passed; 0: stop."""
        return int(self._notes_wait((types["u64"] * len(due_ns))(*due_ns), len(due_ns)))

    def stack(self, frames: list[int]) -> int:
        """The id of a stack of name ids, outermost frame first."""
        return int(self._stack((types["u32"] * len(frames))(*frames), len(frames)))


def place_text(function: str, file: str, line: int) -> str:
    """What a place in the program's code is written as."""
    return "%s\x1f%s\x1f%d" % (redact_path(function), redact_path(file), line)


current: Recorder | None = None
"""The open recording of this process, None while nothing is recorded."""
main_thread = 0
"""Identity of the thread that runs the program, as sys._current_frames names it."""

on_open: Callable[[Recorder, int], None] | None = None
"""Called with the recorder and the rank when the recording has been opened."""

becomes_rank: Callable[[int, int], None] | None = None
"""In a worker: what makes it a rank, by its number and the size of its world, -1 where unknown."""

on_move: Callable[[Recorder], None] | None = None
"""Called in the thread that turned out to run the program."""

_trains = 0
"""Identity of the first thread that trained, 0 none yet."""
_loaded: Recorder | None = None
_rank_and_size = (-1, -1)


def _symbol(name: str) -> str:
    return "ps_" + name.lstrip("_")


def tell_rank(recorder: Recorder, rank: int, size: int) -> None:
    """Which rank this process is, as a framework says that no launcher has told."""
    global _rank_and_size
    _rank_and_size = (rank, size)
    recorder.set_rank(rank, size)


def rank_and_size() -> tuple[int, int]:
    """Of this process, -1 where unknown."""
    return _rank_and_size


def load(rank: int, size: int) -> bool:
    """Finds the recorder library in this process; False: not found, with a note."""
    global _loaded, _rank_and_size, _trains, main_thread
    import _thread

    main_thread, _trains = _thread.get_ident(), 0
    _rank_and_size = (rank, size)
    path = os.environ.get("PERFSCOPE_RECORDER", "")
    try:
        here = Library(None)
        is_preloaded = all(here.has(_symbol(name)) for name in _FUNCTIONS)
        _loaded = Recorder(here if is_preloaded or not path else Library(path))
    except ImportError as error:
        cure = "build it with libffi"
        notes.add(
            "recorder library not usable: no `ctypes` in this Python (%s); %s" % (error, cure)
        )
        return False
    except (AttributeError, OSError) as error:
        notes.failure("recorder library not usable", error)
        return False
    return True


def activate() -> Recorder | None:
    """Opens the record files on first use; None when nothing can be recorded."""
    global current, _loaded
    if current is not None or _loaded is None:
        return current
    recorder, _loaded = _loaded, None
    if recorder.open() != 0 and recorder.open_forked() != 0:
        notes.add("the recorder did not open its files")
        return None
    if _rank_and_size[0] >= 0:
        recorder.set_rank(*_rank_and_size)
    recorder.set_flag(FLAG_AGENT)
    recorder.sampler_start()
    if on_open is not None:
        on_open(recorder, _rank_and_size[0])
    current = recorder
    return recorder


def of_training(rank: int = -1, size: int = -1) -> Recorder | None:
    """The recording of a process that has a part of the training: a worker that does is a rank."""
    if current is None and becomes_rank is not None:
        becomes_rank(rank, size)
    return activate()


def trains_here(rec: Recorder) -> None:
    """Takes the first thread that trains for the one that runs the program.

    Ray and others start a process's training in a thread and let the main one wait for it. A
    thread that initialized MPI stays the one.
    """
    global _trains, main_thread
    if _trains:
        return
    import _thread

    _trains = _thread.get_ident()
    if _trains != main_thread and rec.run_here():
        main_thread = _trains
        if on_move is not None:
            on_move(rec)


def functions() -> Recorder | None:
    """The bound functions, whether or not the recording is open yet."""
    return current or _loaded


def can_record() -> bool:
    """Whether records of this process are or could be written."""
    return current is not None or _loaded is not None


def deactivate() -> None:
    """Forgets the recording: a forked child must not write into its parent's files."""
    global current, _loaded
    current = None
    _loaded = None


def native_thread_id() -> int:
    """Kernel id of the calling thread, 0 unknown."""
    import _thread

    if hasattr(_thread, "get_native_id"):
        return _thread.get_native_id()
    import ctypes

    numbers = {"x86_64": 186, "aarch64": 178}
    number = numbers.get(os.uname().machine)
    return int(ctypes.CDLL(None).syscall(number)) if number else 0


def has_address_space(needed_bytes: int, asked: Recorder | None = None) -> bool:
    """Whether so much is a small part of what the process may still map."""
    recorder = asked or current or _loaded
    return recorder is None or int(recorder.address_space_left()) >= 16 * needed_bytes


def is_open() -> bool:
    """Whether the library records this process already, because MPI was initialized."""
    recorder = current or _loaded
    return recorder is not None and bool(recorder.is_recording())
