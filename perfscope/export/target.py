"""What an export is, and how its output comes to stand under its name only when it is complete."""

import errno
import gzip
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from perfscope.dataframes.source import Source
from perfscope.errors import PerfscopeError, UsageError
from perfscope.files import remove, resolved, unique_name
from perfscope.registry import members
from perfscope.structures import dataclass
from perfscope.trace.model import Trace


@dataclass(frozen=True)
class Target:
    """A format that a trace can be exported to."""

    name: str  # what `--to` takes
    summary: str  # what reads it, for `--help`
    suffix: str  # of the output's name where the user gives none
    # writes a trace to a path that does not exist yet: a file, or a directory that it makes.
    # Returns sentences on what the format could not hold
    write: Callable[[Source, Path], list[str]]
    # fails where a package is missing; called before the trace is read
    check: Callable[[], None] = lambda: None
    needs_events: bool = False  # whether nothing opens a file of it without any


def targets() -> dict[str, Target]:
    """Every target by name."""
    found: list[Target] = members("perfscope.export", "TARGET")
    return {target.name: target for target in found}


def default_output(trace: Path, target: Target) -> Path:
    """Where an export goes when the user does not say: in the current directory."""
    stem = resolved(trace).name.split(".")[0] or "trace"
    return Path(f"{stem}{target.suffix}")


def refuse_existing(output: Path) -> None:
    """Fails where the output is there already.

    Raises:
        UsageError: something is there.
    """
    if os.path.lexists(output):
        raise _exists(output)


def _exists(output: Path) -> UsageError:
    return UsageError(
        f"{output} exists already.",
        why="An export never overwrites anything.",
        action="Name another place with -o, or remove it first.",
    )


@contextmanager
def completed(output: Path) -> Iterator[Path]:
    """A path to write to; what is there becomes the output when the block ends well.

    Raises:
        UsageError: the output exists already.
        PerfscopeError: the place cannot be written to, or is full.
    """
    refuse_existing(output)
    partial = unique_name(output)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        _take_name(partial, output)
    except OSError as error:
        raise PerfscopeError(
            f"{output} could not be written.",
            why=f"{error.strerror or error}.",
            action="Name a place with -o that you may write to and that has room.",
        ) from error
    finally:
        remove(partial)


def _take_name(partial: Path, output: Path) -> None:
    """Gives a complete output its name, which another process may have taken meanwhile."""
    refuse_existing(output)
    try:
        if partial.is_dir():
            partial.rename(output)
            return
        try:
            output.hardlink_to(partial)
        except PermissionError:  # a file system without links
            partial.rename(output)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
            raise _exists(output) from error
        raise


_TABLES = (
    *("operations", "background", "phases", "steps", "stacks", "counters", "metrics"),
    *("process_samples", "system_samples", "node_samples", "main_samples"),
)


def refuse_without_events(trace: Trace) -> None:
    """Fails where a timeline would be empty, which no tool opens.

    Raises:
        UsageError: no rank has an interval, a sample or a value at any time.
    """
    for rank in trace.ranks:
        if rank.devices is not None or any(len(getattr(rank, name)) for name in _TABLES):
            return
    raise UsageError(
        f"{trace.source} holds nothing to draw along time.",
        why="It tells sums, or tells of no rank what it did when.",
        action="Export tables instead: --to csv or --to parquet.",
    )


def missing_package(target: str, package: str, extra: str, why: str = "") -> UsageError:
    """The error for an export whose package is not installed."""
    return UsageError(
        f"--to {target} needs the Python package {package}.",
        why=why or "It is not installed; perfscope installs it only where it is asked for.",
        action=f"pip install {package}  (or perfscope-hpc[{extra}])",
    )


def clean(word: str) -> str:
    """A text that every encoding of Unicode can hold: no lone surrogates, no NUL."""
    safe = word.encode("utf-8", "backslashreplace").decode("utf-8")
    return safe.replace("\0", "\\x00")


def opened(output: Path) -> IO[bytes]:
    """A new file to write to, compressed where its name ends in .gz: always to the same bytes."""
    if output.suffix == ".gz":
        return cast("IO[bytes]", gzip.GzipFile(output, "xb", compresslevel=6, mtime=0))
    return output.open("xb")
