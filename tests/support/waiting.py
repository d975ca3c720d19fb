"""Waiting for something that another process does, with an end to it."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
LONGEST_S = 60.0
_INTERVAL_S = 0.02


def wait_for(what: str, look: Callable[[], T | None], *, longest_s: float = LONGEST_S) -> T:
    """What `look` returns as soon as it is neither None nor False."""
    end = time.monotonic() + longest_s
    while time.monotonic() < end:
        found = look()
        if found is not None and found is not False:
            return found
        time.sleep(_INTERVAL_S)
    raise AssertionError(f"waited {longest_s} s in vain for {what}")


def wait_for_pids(directory: Path, ranks: int) -> list[int]:
    """The pids that ranks leave in files of a directory, `pid-RANK`, as soon as all have."""

    def look() -> list[int] | None:
        files = [directory / f"pid-{rank}" for rank in range(ranks)]
        texts = [file.read_text(encoding="utf-8") if file.exists() else "" for file in files]
        return [int(text) for text in texts] if all(texts) else None

    return wait_for("all ranks", look)


def wait_for_text(path: Path, *, longest_s: float = LONGEST_S) -> str:
    """The text of a file that a job writes in one go, as soon as there is any."""
    return wait_for(
        f"text in {path.name}",
        lambda: (path.read_text(encoding="utf-8") if path.exists() else "") or None,
        longest_s=longest_s,
    )
