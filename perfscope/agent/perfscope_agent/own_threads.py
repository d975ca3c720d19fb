"""The threads that the agent itself starts, and what holds for them.

They import nothing. Python lets two threads that import the same modules wait for each other, and
under rare circumstances for good; and what a program imports itself is none of their business. So
what they use is imported before they start, and what is too much for that is done without.
"""

from __future__ import annotations

import sys
from _thread import get_ident

from .kinds import Any

_Module = type(sys)
_identities: set[int] = set()


def enter() -> None:
    """The calling thread is one of them from now on."""
    _identities.add(get_ident())


def leave() -> None:
    """The calling thread ends: the next one of the program may be given its identity."""
    _identities.discard(get_ident())


def block_signals() -> None:
    """Leaves every signal to the program's own threads."""
    # `signal` would import enum; 32 and 33 belong to the C library, and a page of a record file
    # that cannot be written is met by SIGBUS, which must not be blocked then.
    signal = sys.modules.get("_signal") or __import__("_signal")
    kept = (32, 33, signal.SIGBUS)
    signal.pthread_sigmask(signal.SIG_BLOCK, [n for n in range(1, 65) if n not in kept])


def may_use(module: str) -> bool:
    """Whether the calling thread may say `import` of a module: it is no own one, or all is there.

    A module that another thread is still importing is not there.
    """
    if get_ident() not in _identities:
        return True
    return is_there(module)


def is_there(module: str) -> bool:
    """Whether a module is loaded, all of it."""
    spec = contents(module).get("__spec__")
    return spec is not None and not getattr(spec, "_initializing", False)


def contents(module: str) -> dict[str, Any]:
    """What a loaded module holds; nothing where asking it would run code of its own.

    A lazy module would import itself, whatever it is asked for, and in the wrong thread.
    """
    found = sys.modules.get(module)
    kind = type(found)
    is_plain = issubclass(kind, _Module) and kind.__getattribute__ is _Module.__getattribute__
    return found.__dict__ if is_plain else {}


def forget() -> None:
    """In a forked child, where none of them is."""
    _identities.clear()
