"""The directory of a recording: a new one for every run, also for two that start together."""

import itertools
import os
from pathlib import Path

DEFAULT_NAME = "trace"
RUN_FILE = "run.json"


def create_run_directory(wanted: Path) -> Path:
    """Makes the directory of one recording and claims it against runs that start at that moment.

    Args:
        wanted: the name asked for; used when there is no such thing or an empty directory, else
            `wanted-2`, `wanted-3` ...

    Returns:
        The absolute path; an empty run file in it marks it as taken.

    Raises:
        OSError: when no directory can be made or written there.
    """
    wanted = Path(os.path.abspath(wanted))  # noqa: PTH100 - resolve() would rename what a link stands for
    wanted.parent.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        path = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        if _claim(path):
            return path
    raise AssertionError("unreachable: the numbers do not end")


def _claim(path: Path) -> bool:
    """Whether the directory is now this run's alone."""
    try:
        path.mkdir()
    except FileExistsError:
        if not path.is_dir() or any(path.iterdir()):
            return False
    try:
        os.close(
            os.open(path / RUN_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        )
    except FileExistsError:
        return False
    return True
