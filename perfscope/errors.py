"""The errors that a user is meant to read: what happened, why, and what to do, in three lines."""

from enum import IntEnum
from pathlib import Path
from typing import Any


class ExitCode(IntEnum):
    """Exit codes of every command but `run`, which passes on the exit code of the job.

    INCOMPLETE: the results were written in full, but the recording is damaged.
    """

    OK = 0
    GATE_FAILED = 1
    USAGE = 2
    UNREADABLE = 3
    INCOMPLETE = 4


class PerfscopeError(Exception):
    """A failure that the user can understand and act on; shown without a traceback.

    Args:
        what: what could not be done, one sentence.
        why: the reason as far as it is known.
        action: what the user can do about it.
        exit_code: the exit code of the command.
    """

    def __init__(
        self, what: str, *, why: str, action: str, exit_code: ExitCode = ExitCode.UNREADABLE
    ) -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.action = action
        self.exit_code = exit_code

    def __reduce__(self) -> tuple[Any, ...]:
        """As another process makes it again: an exception alone remembers its first argument."""
        return _again, (type(self), dict(vars(self)))

    def lines(self) -> tuple[str, str, str]:
        """The three lines shown to the user."""
        return (self.what, self.why, self.action)


def _again(kind: type[PerfscopeError], values: dict[str, Any]) -> PerfscopeError:
    error = kind.__new__(kind, values["what"])
    vars(error).update(values)
    return error


class UnreadableInputError(PerfscopeError):
    """A file or directory is not what it should be: damaged, empty, or of another version."""


def refused(path: Path, error: OSError) -> UnreadableInputError:
    """What is raised for a file that the system does not let perfscope read."""
    return UnreadableInputError(
        f"Cannot read {path}.",
        why=f"{error.strerror or error}.",
        action="Make it readable for you, or give a copy.",
    )


class NothingYetError(UnreadableInputError):
    """Nothing is recorded of a job that has not told its end: it may just not have come so far."""


class UsageError(PerfscopeError):
    """The command line asks for something that does not exist or does not fit together."""

    def __init__(self, what: str, *, why: str, action: str) -> None:
        super().__init__(what, why=why, action=action, exit_code=ExitCode.USAGE)
