"""The trace engine, `perfscope._core`, or what stands in for it where it could not be built."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfscope.errors import PerfscopeError

__all__ = ["engine"]

SOURCES = Path(__file__).parent.parent / "native" / "core"
"""In a checkout; an installed package has none."""


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


class _Outdated:
    """Says that the engine is not that of the sources as soon as something of it is needed."""

    FormatError = ValueError

    def __getattr__(self, name: str) -> Any:
        raise PerfscopeError(
            "The trace engine is not that of these sources: nothing can be analyzed.",
            why=f"The C++ files in {SOURCES} have changed since it was compiled.",
            action=f"Compile it again: pip install -e {SOURCES.parent.parent}",
        )


def digest_of(sources: Path) -> str:
    """What all C++ files below a directory are, as native/core/digest.cmake computes it."""
    found = {path.relative_to(sources).as_posix(): path for path in sources.rglob("*.*")}
    hashes = (
        hashlib.sha256(found[name].read_bytes()).hexdigest()
        for name in sorted(found)
        if name.endswith((".cpp", ".h"))
    )
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


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
        engine = _NotBuilt()
    else:
        if not _is_of(getattr(engine, "sources", "")):
            engine = _Outdated()
