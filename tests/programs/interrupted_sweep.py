"""Works through the sweep in a directory, and is killed by SIGKILL at a named stage.

    interrupted_sweep.py DIRECTORY STAGE

STAGE is one of `STAGES`, or `none`. The first run that comes to the stage ends the process.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perfscope import files
from perfscope.sweep import campaign, one_run, outcome, plan, store

SURVIVORS_S = 0.5
STAGES: dict[str, tuple[Any, str, str]] = {
    "claimed": (one_run, "make", "before"),
    "started": (one_run, "_attend", "before"),
    "ended": (store.Store, "commit", "before"),
    "half a record": (files, "flush_directory", "before"),
    "recorded": (store.Store, "_rename", "before"),
    "renamed": (store.Store, "_rename", "after"),
    "finished": (store.Store, "commit", "after"),
}


def killing(original: Callable[..., Any], when: str) -> Callable[..., Any]:
    """The function, with SIGKILL before it begins or after it has ended."""

    def killed(*arguments: Any, **more: Any) -> Any:
        if when == "after":
            original(*arguments, **more)
        os.kill(os.getpid(), signal.SIGKILL)

    return killed


def main() -> None:
    """Follows the plan until the stage."""
    place, stage = Path(sys.argv[1]), sys.argv[2]
    store.WAIT_FOR_SURVIVORS_S = SURVIVORS_S
    if stage in STAGES:
        owner, name, when = STAGES[stage]
        setattr(owner, name, killing(getattr(owner, name), when))
    followed = plan.read(place)
    runs = list(followed.runs())
    tally = campaign.work_through(followed, runs, place=place, total=len(runs), tell=print)
    print(tally.made, tally.found, len(tally.failed), outcome.SCHEMA_VERSION)


if __name__ == "__main__":
    main()
