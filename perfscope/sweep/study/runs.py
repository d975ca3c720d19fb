"""The runs of a sweep, analyzed: what each measured, or why it did not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from perfscope.errors import PerfscopeError
from perfscope.studies.common.runs import StudyRun, load_run
from perfscope.sweep.study.objective import Objective, check_search, of_search, speed
from perfscope.sweep.study.quality import final_value, printed_throughput
from perfscope.sweep.study.run import SweepRun
from perfscope.sweep.study.stored import (
    FINISHED,
    KILLED,
    OUT_OF_MEMORY,
    TIME_LIMIT,
    StoredPlan,
    StoredRun,
    read_plan,
    read_run,
    read_runs,
)

Json = dict[str, Any]


def load(plan: StoredPlan, *, progress: Callable[[str], None] = lambda _: None) -> list[SweepRun]:
    """All finished runs of a plan, analyzed one after the other."""
    stored = read_runs(plan)
    found = []
    for position, run in enumerate(stored, start=1):
        progress(f"reading run {position} of {len(stored)}: {run.name}")
        found.append(load_one(plan, run))
    return found


def load_one(plan: StoredPlan, stored: StoredRun) -> SweepRun:
    """One run, analyzed; one that cannot be read is a failed one, with the reason."""
    analyzed, trouble = _analyzed(stored)
    if analyzed is not None and analyzed.ending and stored.end == FINISHED:
        # the launcher said that all went well, the recording that a rank died on the way
        failure = f"it did not end by itself: {analyzed.ending}"
        stored = _with_memory(replace(stored, end=KILLED, reason=failure), analyzed)
    else:
        stored = _with_memory(stored, analyzed)
        failure = "" if stored.end == FINISHED else _told(stored, analyzed)
    if not failure and analyzed is None:
        failure = trouble or "it was not recorded, see its stderr.txt"
    return SweepRun(
        stored,
        analyzed,
        failure,
        final_value(plan, stored, analyzed),
        printed_throughput(plan, stored),
    )


def _analyzed(stored: StoredRun) -> tuple[StudyRun | None, str]:
    if stored.recording is None:
        return None, ""
    try:
        return load_run(stored.recording, label=stored.name), ""
    except PerfscopeError as error:
        return None, f"its recording cannot be read: {error.why}"


def _with_memory(stored: StoredRun, run: StudyRun | None) -> StoredRun:
    """The same run, known to have run out of memory where the kernel or a rank says so."""
    if run is None or stored.end in (FINISHED, TIME_LIMIT, OUT_OF_MEMORY):
        return stored
    for row in run.result.run.endings:
        raised = row.exception.type if row.exception else ""
        if row.is_out_of_memory or "MemoryError" in raised:
            return replace(stored, end=OUT_OF_MEMORY, reason="out of memory")
    return stored


def _told(stored: StoredRun, run: StudyRun | None) -> str:
    """How a run failed: the command's end, and the rank that ended first."""
    endings = run.result.run.endings if run is not None else ()
    first = next((row for row in endings if row.is_first), None)
    if first is None or stored.end == TIME_LIMIT:
        return stored.reason
    return f"{stored.reason}: rank {first.rank} {first.text}"


class Measurer:
    """Values of configurations while a search is under way.

    What is measured is settled by the first run that gives a value, so that all are alike.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._first: tuple[SweepRun, Objective] | None = None

    def value_of(self, configuration: Any) -> float | None:
        """The median speed of a configuration whose runs are made; None when none is measured.

        Raises:
            UsageError: its speed cannot be compared with that of others.
        """
        plan = read_plan(self._place)
        mine = next(c for c in plan.configurations if c.number == configuration.number)
        speeds = []
        # repeats that were added later would make the search choose otherwise than before
        for repeat in range(1, (plan.search_repeat or plan.repeat) + 1):
            stored = read_run(plan, mine, repeat)
            run = None if stored is None else load_one(plan, stored)
            if run is not None and run.is_measured:
                speeds.append(self._speed(plan, run))
        known = [value for value in speeds if value is not None]
        return median(known) if known else None

    def _speed(self, plan: StoredPlan, run: SweepRun) -> float | None:
        if self._first is None:
            self._first = (run, of_search(plan, run))
        first, objective = self._first
        check_search(first, run, objective)
        return speed(run, objective)
