"""The trace engine, `perfscope._core`, or what stands in for it where it could not be built."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfscope.compiled import digest_of
from perfscope.errors import PerfscopeError

__all__ = ["engine"]

SOURCES = Path(__file__).parent.parent / "native" / "core"
"""In a checkout; an installed package has none."""


class _Unusable:
    """Stands where the engine should be, and says what is wrong as soon as it is needed."""

    FormatError = ValueError

    def __init__(self, what: str, why: str, action: str) -> None:
        self._told = what, why, action

    def __getattr__(self, name: str) -> Any:
        what, why, action = self._told
        raise PerfscopeError(what, why=why, action=action)


def _is_of(made_from: str) -> bool:
    """Whether an engine is of the sources beside it, where there are any that can be read."""
    try:
        return not SOURCES.is_dir() or digest_of(SOURCES) == made_from
    except OSError:
        return True


if TYPE_CHECKING:
    from perfscope import _core as engine
else:
    try:
        from perfscope import _core as engine
    except ImportError:
        engine = _Unusable(
            "The trace engine is missing: nothing can be analyzed.",
            why="perfscope was installed where Python's headers or a C++ compiler were not found.",
            action="Install them (Debian, Ubuntu: apt-get install python3-dev g++) and then "
            "perfscope once more.",
        )
    else:
        if not _is_of(getattr(engine, "sources", "")):
            engine = _Unusable(
                "The trace engine is not that of these sources: nothing can be analyzed.",
                why=f"The C++ files in {SOURCES} have changed since it was compiled.",
                action=f"Compile it again: pip install -e {SOURCES.parent.parent}",
            )
