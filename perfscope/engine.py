"""The trace engine, `perfscope._core`, or what stands in for it where it could not be built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfscope.errors import PerfscopeError

__all__ = ["engine"]


class _NotBuilt:
    """Says what is missing as soon as something of the engine is needed."""

    FormatError = ValueError

    def __getattr__(self, name: str) -> Any:
        raise PerfscopeError(
            "The trace engine is missing: nothing can be analyzed.",
            why="perfscope was installed where Python's headers or a C++ compiler were not found.",
            action="Install them (Debian, Ubuntu: apt-get install python3-dev g++) and then "
            "perfscope once more.",
        )


if TYPE_CHECKING:
    from perfscope import _core as engine
else:
    try:
        from perfscope import _core as engine
    except ImportError:
        engine = _NotBuilt()
