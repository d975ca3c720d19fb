"""`perfscope`: the entry, which is light so that an interrupt is seen to before all else."""

import gc
import sys
from collections.abc import Sequence

from perfscope.cli.interrupts import watched

SELDOM = 100_000, 50, 1_000
"""A command makes many objects that all stay: nothing is gained by looking for cycles often."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line.

    Returns:
        The exit code: that of the job for `run`, else one of perfscope.errors.ExitCode.
    """
    gc.set_threshold(*SELDOM)
    words = list(sys.argv[1:] if arguments is None else arguments)
    with watched(words, for_good=arguments is None):
        from perfscope.cli.group import execute

        code = execute(words)
    if arguments is None:
        gc.disable()  # the process ends: Python would look through all objects once more
    return code
