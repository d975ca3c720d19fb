"""Reads several files at once: in threads of this process, or wherever else one is told to."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from perfscope.errors import UnreadableInputError
from perfscope.parallel import each
from perfscope.readers.common.blocks import MOST_BOMBS, GrowthError, not_tried
from perfscope.trace.elsewhere import Elsewhere

One = TypeVar("One")


_elsewhere: ContextVar[Elsewhere | None] = ContextVar("spread", default=None)


@contextmanager
def spread_by(place: Elsewhere) -> Iterator[None]:
    """Has files read in other processes during the block."""
    token = _elsewhere.set(place)
    try:
        yield
    finally:
        _elsewhere.reset(token)


def elsewhere() -> Elsewhere | None:
    """Where files are read; None in this process."""
    return _elsewhere.get()


def attempt(read: Callable[[Path], Any], path: Path) -> Any:
    """What was read of a file, or the error that says why not, which is a result as well."""
    try:
        return read(path)
    except UnreadableInputError as error:
        return error


def attempts(
    paths: Sequence[Path], read: Callable[[Path], One]
) -> list[One | UnreadableInputError]:
    """What was read of each file, or why it could not be, in the order of the paths.

    `read` is a function that can be found by its name, as it may run elsewhere.
    """
    if (place := elsewhere()) is not None:
        found = place.take(place.start(partial(attempt, read), [path.absolute() for path in paths]))
        return [as_given(one, path) for one, path in zip(found, paths, strict=True)]
    bombs: list[GrowthError] = []

    def guarded(path: Path) -> One | UnreadableInputError:
        if len(bombs) >= MOST_BOMBS:
            return not_tried(str(path), len(bombs))
        found: One | UnreadableInputError = attempt(read, path)
        if isinstance(found, GrowthError):
            bombs.append(found)
        return found

    return each(guarded, paths)


def read_each(paths: Sequence[Path], read: Callable[[Path], One]) -> tuple[list[One], list[str]]:
    """What was read of the files, several at once, and why the others could not be.

    Raises:
        UnreadableInputError: none of them can be read.
    """
    return readable(attempts(paths, read))


def readable(found: Sequence[One | UnreadableInputError]) -> tuple[list[One], list[str]]:
    """What was read, and why the others could not be.

    Raises:
        UnreadableInputError: nothing was.
    """
    whole = [one for one in found if not isinstance(one, UnreadableInputError)]
    failures = [one for one in found if isinstance(one, UnreadableInputError)]
    if not whole:
        raise failures[0]
    return whole, [f"{error.what} {error.why}" for error in failures]


def as_given(found: Any, path: Path) -> Any:
    """A result with the path that the user gave, as if it had been read here."""
    if isinstance(found, UnreadableInputError):
        whole, given = str(path.absolute()), str(path)
        found.what, found.why = (t.replace(whole, given) for t in (found.what, found.why))
    elif hasattr(found, "path"):
        found.path = path
    return found
