"""OTF2: for Vampir, Cube, Scalasca, Score-P's tools and otf2-print.

Times are the nanoseconds of the trace's wall clock; ranks are location groups, threads locations.
"""

import importlib
from pathlib import Path

from perfscope.dataframes.source import Source
from perfscope.errors import PerfscopeError
from perfscope.export.target import Target, missing_package


def check() -> None:
    """Fails where the package otf2 is missing.

    Raises:
        UsageError: it is.
    """
    try:
        importlib.import_module("_otf2")
    except (ImportError, OSError) as error:
        why = "It is not installed. It has wheels for CPython up to 3.11 on x86; elsewhere pip "
        why += "compiles it, which takes a C compiler and half a minute."
        raise missing_package("otf2", "otf2", "otf2", why) from error


def write(source: Source, output: Path) -> list[str]:
    """Writes a trace as an OTF2 archive: a directory with traces.otf2."""
    import _otf2  # noqa: PLC0415 - an extra, see check

    from perfscope.export._otf2_trace import write_archive  # noqa: PLC0415 - needs it

    try:
        return write_archive(source, output)
    except _otf2.Error as error:
        raise PerfscopeError(
            "The OTF2 archive could not be written.",
            why=f"The OTF2 library says: {error}.",
            action="Look whether the place has room, or export --to chrome instead.",
        ) from error


TARGET = Target(
    "otf2", "a directory for Vampir, Cube and otf2-print; needs otf2", "-otf2", write, check
)
