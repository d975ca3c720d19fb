"""Makes the runs of a plan one after the other and reports progress."""

import time
from collections.abc import Callable, Iterable
from dataclasses import field
from pathlib import Path

from perfscope.errors import UsageError
from perfscope.output import is_terminal, rewrite, shortened, visible
from perfscope.schema.sweep import RunRecord
from perfscope.structures import dataclass
from perfscope.sweep import one_run, outcome
from perfscope.sweep.plan import Plan, Run, unwritable
from perfscope.sweep.store import Store
from perfscope.units import format_seconds

LONGEST_LABEL = 60
_TICK_S = 1.0


class Progress:
    """How far a sweep is.

    On a terminal the line is written anew while a run is on; elsewhere there is one line a run.
    """

    def __init__(self, total: int, tell: Callable[[str], None]) -> None:
        self._total = total
        self._tell = tell
        self._walls: dict[int, list[float]] = {}
        self._done = 0
        self._line = ""
        self._last_tick_s = 0.0
        self._is_terminal = is_terminal()

    def start(self, run: Run, number: int) -> None:
        """A run begins."""
        label = short_label(run.configuration.label) or "the command"
        repeat = f", repeat {run.repeat}" if run.repeat > 1 else ""
        self._line = f"run {number} of {self._total}: {label}{repeat}"
        self._last_tick_s = 0.0
        self.tick(0.0)

    def tick(self, elapsed_s: float) -> None:
        """A run has been on for so long."""
        now_s = time.monotonic()
        if not self._is_terminal or now_s - self._last_tick_s < _TICK_S:
            return
        self._last_tick_s = now_s
        rewrite(f"perfscope: {self._line}, {elapsed_s:.0f} s{self._to_go(elapsed_s)}")

    def pause(self) -> None:
        """The run is over; other lines may be written."""
        if self._is_terminal:
            rewrite("")

    def finished(self, run: Run, record: RunRecord | None) -> None:
        """A run is finished, now or before."""
        self._done += 1
        if record is not None:
            self._walls.setdefault(run.configuration.number, []).append(record.wall_s)
        if not self._line:
            return
        end = record.reason if record else "no record"
        took = format_seconds(record.wall_s if record else None)
        if not self._is_terminal or record is None or record.end != "finished":
            self._tell(f"{self._line}, {end}, {took}{self._to_go(0.0)}")
        self._line = ""

    def close(self) -> None:
        """Nothing more comes."""
        self.pause()

    def _to_go(self, elapsed_s: float) -> str:
        """The mean of what runs took, for each that is left; nothing before one is finished."""
        left = self._total - self._done
        walls = [wall for some in self._walls.values() for wall in some]
        if not walls or left <= 0:
            return ""
        rest_s = max(0.0, left * sum(walls) / len(walls) - elapsed_s)
        return f", about {_whole(rest_s)} to go"


def _whole(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else format_seconds(seconds)


def short_label(text: str) -> str:
    """A label for a line of a terminal."""
    return shortened(visible(text), LONGEST_LABEL)


@dataclass
class Tally:
    """How many runs were made now, found finished, and failed."""

    made: int = 0
    found: int = 0
    failed: list[str] = field(default_factory=list)


def work_through(
    plan: Plan, runs: Iterable[Run], *, place: Path, total: int, tell: Callable[[str], None]
) -> Tally:
    """Makes all runs that are not there yet.

    Raises:
        KeyboardInterrupt: the user stopped it; what was finished stays.
        PerfscopeError: the directory cannot be written.
    """
    if not Path(plan.directory).is_dir():
        raise UsageError(
            "The directory in which the command runs is gone.",
            why=f"The sweep was begun in {plan.directory}.",
            action="Put it back, or start the sweep anew from where the command works now.",
        )
    store, tally = Store(place), Tally()
    progress = Progress(total, tell)
    for number, run in enumerate(runs, start=1):
        done = store.finished(run)
        if done is None:
            done = _make(plan, run, store=store, progress=progress, number=number)
            tally.made += 1
        else:
            tally.found += 1
        record = outcome.record(done)
        progress.finished(run, record)
        if record is None or record.end != outcome.End.FINISHED.value:
            tally.failed.append(f"{run.name}: {record.reason if record else 'no record'}")
            for line in outcome.last_words(done):
                tell(line)
    progress.close()
    return tally


def _make(plan: Plan, run: Run, *, store: Store, progress: Progress, number: int) -> Path:
    progress.start(run, number)
    with store.claim(run, limit_s=plan.time_limit_s, while_waiting=progress.tick) as claim:
        if claim is not None:
            try:
                found = one_run.make(plan, run, claim, while_running=progress.tick)
                return store.commit(claim, run, found)
            except OSError as error:
                raise unwritable(store.place, error) from error
            finally:
                progress.pause()
    done = store.finished(run)
    assert done is not None  # a run that nobody may make is finished
    return done
