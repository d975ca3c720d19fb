"""Reads several files at once: in threads of this process, or wherever else one is told to."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol, TypeVar

from perfscope.errors import UnreadableInputError
from perfscope.parallel import each
from perfscope.readers.common.blocks import MOST_BOMBS, GrowthError, not_tried

One = TypeVar("One")


class Spread(Protocol):
    """What calls a function for each of some arguments somewhere else."""

    def __call__(self, function: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
        """The results, in the order of the values; both and the function can be pickled."""


_elsewhere: ContextVar[Spread | None] = ContextVar("spread", default=None)


@contextmanager
def spread_by(spread: Spread) -> Iterator[None]:
    """Has files read by `spread` during the block."""
    token = _elsewhere.set(spread)
    try:
        yield
    finally:
        _elsewhere.reset(token)


class Attempt:
    """Reads one file; what cannot be read is a result as well."""

    def __init__(self, read: Callable[[Path], Any]) -> None:
        self._read = read

    def __call__(self, path: Path) -> Any:
        """What was read, or the error that says why not."""
        try:
            return self._read(path)
        except UnreadableInputError as error:
            return error


def attempts(
    paths: Sequence[Path], read: Callable[[Path], One]
) -> list[One | UnreadableInputError]:
    """What was read of each file, or why it could not be, in the order of the paths.

    `read` is a function that can be found by its name, as it may run elsewhere.
    """
    attempt = Attempt(read)
    if (spread := _elsewhere.get()) is not None:
        found = spread(attempt, [path.absolute() for path in paths])
        return [_as_given(one, path) for one, path in zip(found, paths, strict=True)]
    bombs: list[GrowthError] = []

    def guarded(path: Path) -> One | UnreadableInputError:
        if len(bombs) >= MOST_BOMBS:
            return not_tried(str(path), len(bombs))
        found: One | UnreadableInputError = attempt(path)
        if isinstance(found, GrowthError):
            bombs.append(found)
        return found

    return each(guarded, paths)


def _as_given(found: Any, path: Path) -> Any:
    """A result with the path that the user gave, as if it had been read here."""
    if isinstance(found, UnreadableInputError):
        whole, given = str(path.absolute()), str(path)
        found.what, found.why = (t.replace(whole, given) for t in (found.what, found.why))
    elif hasattr(found, "path"):
        found.path = path
    return found
