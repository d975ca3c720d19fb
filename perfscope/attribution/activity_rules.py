"""The taxonomy of activities: what the modules and functions of libraries are for.

A rule names a module, a class or a function in full; the longest one that fits tells. So a rule
of a package stands for all of it, but for what a longer rule says of a part.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from perfscope.attribution.activity_names import (
    METHODS,
    NEUTRAL,
    RULES,
    SYSTEM_CALLS,
    TRAINERS,
    UNDECIDED_CALLS,
    WAITED_FOR,
)
from perfscope.attribution.stack_rules import BUILT_IN, SYSTEM_CALL
from perfscope.schema.enums import Activity
from perfscope.trace.model import Frame


class Told(NamedTuple):
    """What one frame tells."""

    activity: Activity
    claims: bool = False  # also what it has others do for it, down to functions of the user's
    prepares: bool = False  # prepares data where these are input


_WAITS = frozenset(
    {
        Activity.COMMUNICATION,
        Activity.DEVICE_WAIT,
        Activity.FILES,
        Activity.NETWORK,
        Activity.LOCK,
        Activity.SLEEP,
        Activity.SUBPROCESS,
        Activity.WORKERS,
    }
)
_NEVER_CLAIMED = {
    Activity.DATA_PREPARATION: _WAITS,
    Activity.SERIALIZATION: _WAITS,
    Activity.MEMORY_MANAGEMENT: _WAITS,
    Activity.NUMERIC: _WAITS,
    Activity.TEXT: _WAITS,
    Activity.COMPRESSION: _WAITS | {Activity.UNPACKING},
    Activity.UNPACKING: _WAITS,
    Activity.HASHING: _WAITS,
    Activity.LOGGING: frozenset({Activity.COMMUNICATION, Activity.DEVICE_WAIT}),
    Activity.FILES: frozenset({Activity.COMPRESSION, Activity.UNPACKING}),
    Activity.INTERPRETER: _WAITS | {Activity.NUMERIC, Activity.SERIALIZATION},
}


def claims(outer: Told, inner: Activity) -> bool:
    """Whether what an outer frame does is the purpose of what runs inside it."""
    if not outer.claims or inner is Activity.GARBAGE_COLLECTION:
        return False
    return inner not in _NEVER_CLAIMED.get(outer.activity, ())


_ALIASES = {
    "posix": "os",
    "nt": "os",
    "_sre": "re",
    "_socket": "socket",
    "numpy._core._multiarray_umath": "numpy",
    "numpy.core._multiarray_umath": "numpy",
}
"""What a module of C is called by programs, where more than an underscore is between them."""

_CONVERTING = re.compile(
    r"mpi4py\.MPI\.\w*[Cc]omm\.(i?(all)?(bcast|gather|scatter|reduce|toall)|(ex)?scan"
    r"|i?[bsr]?send|recv|sendrecv|irecv|(all)?gather|m?probe)$"
)
"""mpi4py's lower-case calls outside of MPI's: objects become bytes and the reverse."""


def _declared(table: dict[Activity, str]) -> dict[str, Told]:
    return {
        word.rstrip("*+"): Told(activity, "*" in word, word.endswith("+"))
        for activity, words in table.items()
        for word in words.split()
    }


_OF_NAMES = _declared(RULES)
_OF_METHODS = _declared(METHODS)
_OF_WAITING = {name: one for one, names in WAITED_FOR.items() for name in names.split()}
_OF_CALLS = _declared(SYSTEM_CALLS)

_AS_TEXT = frozenset({"__format__", "__repr__", "__str__"})
"""What Python calls where arrays are to be read by somebody: the text of a message."""

_PICKLES = re.compile(
    r"__(reduce|reduce_ex|getstate|setstate|getnewargs|getnewargs_ex|deepcopy)__$"
    r"|_(reduce_ex_internal|frombuffer|reconstruct|rebuild_\w+|(DType|ufunc)_reduce(onstruct)?)$"
)
"""What Python's pickling calls of an object, and what libraries of arrays name in its place."""

_OPERATOR = "operator"
"""What an operator is called behind the kind of a value in it, or of what the value is behind."""

NOT_BEGUN = ("<module>", 0)
"""Code of a module, or of eval and exec, whose first line has not begun: it has just been made."""

_MODULE = re.compile(
    r".*/(?:site|dist)-packages/(?P<package>.+)"
    r"|.*/lib(?:64)?/python\d(?:\.\d+)?/(?:lib-dynload/)?(?P<library>.+)"
    r"|.*/python\d+\.zip/(?P<zipped>.+)|<frozen (?P<frozen>[\w.]+)>"
)
_ENDING = re.compile(r"(/__init__)?\.(py|pyx|pyc|so|pyi)$")


@lru_cache(maxsize=65536)
def module_of(file: str) -> str:
    """The module that a file of a library holds; empty for a file of the user's."""
    found = _MODULE.match(file)
    if found is None:
        return ""
    name = next(group for group in found.groups() if group)
    return _ENDING.sub("", name).replace("/", ".")


@lru_cache(maxsize=65536)
def told_by_name(name: str) -> Told | None:
    """What the longest rule tells that a full name fits."""
    inside = next((known for known in prefixes(name) if known in _ALIASES), "")
    name = _ALIASES[inside] + name[len(inside) :] if inside else name
    found = (
        _OF_NAMES.get(known) for start in (name, name.lstrip("_")) for known in prefixes(start)
    )
    told = next((told for told in found if told is not None), None)
    if told is not None and told.activity is Activity.COMPRESSION and _UNPACKS.search(name):
        return told._replace(activity=Activity.UNPACKING)
    return told


_UNPACKS = re.compile(r"(?i)(de|un)compress|unpack|inflate|[._]read")
"""What functions of a library that compresses are called that do the reverse."""


def prefixes(name: str) -> Iterator[str]:
    """A name and what holds it, the whole name first."""
    while name:
        yield name
        name = name.rpartition(".")[0]


def told_by(frame: Frame) -> Told | None:
    """What a frame of a library, or one without Python code, tells; None where it tells nothing."""
    if frame.file == SYSTEM_CALL:
        return None if frame.function in UNDECIDED_CALLS else _OF_CALLS.get(frame.function)
    if frame.file == BUILT_IN:
        return _told_by_callee(frame.function)
    module = module_of(frame.file)
    if not module:
        is_new = (frame.function, frame.line) == NOT_BEGUN
        return Told(Activity.COMPILING) if is_new else None
    if module in NEUTRAL:
        return None
    told = told_by_name(f"{module}.{frame.function}") or Told(Activity.UNKNOWN)
    computes = told.activity is Activity.NUMERIC
    method = frame.function.rpartition(".")[2]
    if computes and method in _AS_TEXT:
        return Told(Activity.LOGGING, claims=True)
    if computes and _PICKLES.match(method):
        return Told(Activity.SERIALIZATION, claims=True)
    return told


@lru_cache(maxsize=65536)
def waited_for(frame: Frame) -> Activity | None:
    """Whom the code of a library waits for where it waits in a lock; None where it may be a thread.

    What holds a lock is told by who waits in it: all that wait have the same ones in the end.
    """
    module = module_of(frame.file)
    known = (_OF_WAITING.get(part) for part in prefixes(f"{module}.{frame.function}") if module)
    return next((activity for activity in known if activity is not None), None)


def is_of_arrays(frame: Frame) -> bool:
    """Whether a frame is C code of a library whose arrays or tensors are computed with."""
    of_library = _OF_NAMES.get(frame.function.partition(".")[0])
    is_known = of_library is not None and of_library.activity is Activity.NUMERIC
    return frame.file == BUILT_IN and is_known


@lru_cache(maxsize=65536)
def is_trainer(frame: Frame) -> bool:
    """Whether a frame is of a library that models are trained with."""
    name = frame.function if frame.file == BUILT_IN else module_of(frame.file)
    return name.partition(".")[0] in TRAINERS


def is_converting(frame: Frame) -> bool:
    """Whether a frame is a call that makes bytes of Python's objects and moves these."""
    return frame.file == BUILT_IN and bool(_CONVERTING.match(frame.function))


def told_last(frame: Frame) -> Activity | None:
    """What an undecided system call tells where nothing else does."""
    told = _OF_CALLS.get(frame.function) if frame.file == SYSTEM_CALL else None
    return None if told is None else told.activity


def _told_by_callee(name: str) -> Told | None:
    if _CONVERTING.match(name):
        return Told(Activity.SERIALIZATION)
    if name.startswith("."):
        return _OF_METHODS.get(name[1:])
    told, (_, _, method) = told_by_name(name), name.rpartition(".")
    if told is None:
        return _OF_METHODS.get(method) or Told(Activity.UNKNOWN)
    # a number that is an attribute of a communicator or a file is no call of it
    return Told(Activity.UNKNOWN) if method == _OPERATOR and told.activity in _WAITS else told
