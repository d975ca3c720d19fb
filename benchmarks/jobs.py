"""Starts perfscope on the programs of examples/, in the environments below .envs/."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
LAST_WORDS = 2000


class RunError(Exception):
    """A run or what was asked about it failed; the message shows its last words."""


def prefix(environment: str) -> Path:
    """Where an environment is: `.envs/<name>`, or what PERFSCOPE_ENV_<NAME> says."""
    place = os.environ.get(f"PERFSCOPE_ENV_{environment.upper()}")
    return Path(place) if place else ROOT / ".envs" / environment


def perfscope(*words: object, longest_s: float, search: str = "", may_fail: bool = False) -> str:
    """What a command of perfscope prints.

    Args:
        words: the command line after `perfscope`.
        longest_s: it is ended after so long.
        search: PATH of the job; "" that of this process.
        may_fail: an exit code other than 0 is an answer, too, when something was printed.

    Raises:
        RunError: it failed or did not end.
    """
    script = Path(sys.executable).with_name("perfscope")
    try:
        done = subprocess.run(
            [str(word) for word in (script, *words)],
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=longest_s,
            env={
                **os.environ,
                **AS_ROOT,
                "TF_CPP_MIN_LOG_LEVEL": "3",
                "PATH": search or os.environ["PATH"],
            },
        )
    except subprocess.TimeoutExpired:
        raise RunError(f"perfscope {words[0]} did not end in {longest_s:.0f} s") from None
    if done.returncode and not (may_fail and done.stdout):
        last = done.stderr[-LAST_WORDS:]
        raise RunError(f"perfscope {words[0]} ended with {done.returncode}:\n{last}")
    return done.stdout
