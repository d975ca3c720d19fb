"""Runs a unittest program in a rank and notes how every test ends in a file of the rank's own.

Usage: python noting.py DIRECTORY PROGRAM ARGUMENT... What the program prints is mixed with that of
the other ranks, and is cut off where a rank dies; a line for each test, written at once, is not.
"""

import os
import runpy
import sys
import unittest
from pathlib import Path
from typing import Any

RANK_VARIABLES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")
OUTCOMES = {
    "startTest": "began",
    "addSuccess": "passed",
    "addFailure": "failed",
    "addError": "error",
    "addSkip": "skipped",
    "addExpectedFailure": "failed as expected",
    "addUnexpectedSuccess": "passed unexpectedly",
}


def _noting(method: str, outcome: str, file: int) -> None:
    original = getattr(unittest.TestResult, method)

    def note(result: unittest.TestResult, test: unittest.TestCase, *details: Any) -> None:
        os.write(file, f"{test.id()}\t{outcome}\n".encode())
        original(result, test, *details)

    setattr(unittest.TestResult, method, note)


def main() -> None:
    """Runs the program of the command line under its own name."""
    directory, program = Path(sys.argv[1]), sys.argv[2]
    rank = next((os.environ[name] for name in RANK_VARIABLES if name in os.environ), "0")
    file = os.open(directory / f"rank-{rank}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for method, outcome in OUTCOMES.items():
        _noting(method, outcome, file)
    sys.argv = sys.argv[2:]
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
