"""The program's own times of its parts, and perfscope's markers around the same parts."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class Stopwatch:
    """Times named parts of the current step; writes one JSON line per step when there is a log.

    All ranks append to the same log; a line is one write, so lines stay whole.
    """

    def __init__(self, *, rank: int, log: str | None, markers: bool) -> None:
        self._rank = rank
        self._seconds: dict[str, float] = {}
        self._log = Path(log).open("a", buffering=1, encoding="utf-8") if log else None
        self._perfscope: Any = _load_markers() if markers else None

    @contextmanager
    def step(self, number: int, *, samples: int) -> Iterator[None]:
        """One iteration of the training loop: one step marker, one line in the log at its end."""
        with self._perfscope.step(samples=samples) if self._perfscope else nullcontext():
            yield
        self.write(step=number, end_ns=time.monotonic_ns(), samples=samples, seconds=self._seconds)
        self._seconds = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Times a part of a step and marks it as a phase; MPI calls need no marker."""
        is_marked = self._perfscope and name != "allreduce"
        start_ns = time.monotonic_ns()
        with self._perfscope.phase(name) if is_marked else nullcontext():
            yield
        passed_s = (time.monotonic_ns() - start_ns) / 1e9
        self._seconds[name] = self._seconds.get(name, 0.0) + passed_s

    def write(self, **values: object) -> None:
        """Appends one line to the log, if there is one."""
        if self._log is not None:
            self._log.write(json.dumps({"rank": self._rank, **values}) + "\n")


def _load_markers() -> Any:
    """The perfscope module; only wanted with --markers, so that the trainer runs without it."""
    import perfscope

    return perfscope
