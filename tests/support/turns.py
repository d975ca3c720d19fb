"""In which order, and by which process, `make test` runs files of tests."""

import functools
import os
import re
from pathlib import Path

from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]
from xdist.workermanage import WorkerController  # type: ignore[import-untyped]

TESTS = Path(__file__).resolve().parents[1]

# Most tests in them start jobs, and wait for them.
_FOLDERS_OF_JOBS = frozenset(
    "agent benchmarks dask doctor examples integrations record sweep watch whole_jobs".split()
)
_STARTS_JOBS = re.compile(
    r"\b(subprocess|Recorder|record_and_analyze|Mpi|Browser|perfscope_command)\b"
    r"|\b(environment|mpi)\("
)
_SHARES_PAGES = re.compile(
    r"^from tests\.report\.test_consistency import .*\bshown\b", re.MULTILINE
)
_PAGES = "tests/report/test_consistency.py"
_COMPUTES = 3
_LOWER_PRIORITY = 15
"""Below that of the checks of the code, which are to end before the tests do."""


@functools.cache
def turn(path: Path) -> int:
    """When a file's turn comes.

    First what waits for jobs: the checks of the code, and a process that only computes, use the
    CPUs in these pauses. Meanwhile Horovod is built, and the recorder with sanitizers.
    """
    folder = path.relative_to(TESTS).parts[0]
    text = path.read_text(encoding="utf-8")
    if folder == path.name:
        return 4  # short ones, so that no core is idle at the end
    if '"horovod"' in text and "environment(" in text:
        return 2
    if folder in _FOLDERS_OF_JOBS:
        return 0
    if folder == "native":
        return 1
    return 0 if _STARTS_JOBS.search(text) else _COMPUTES


@functools.cache
def unit(file: str) -> str:
    """What a file is run with: with those that look at the same pages, made once for all."""
    text = (TESTS.parent / file).read_text(encoding="utf-8")
    return _PAGES if _SHARES_PAGES.search(text) else file


def fills_pauses(worker: str) -> bool:
    """Whether a process of pytest-xdist is one more than there are CPUs."""
    return int(worker.removeprefix("gw")) >= len(os.sched_getaffinity(0))


def step_back(worker: str) -> None:
    """Leaves the CPUs to others where the process, which this is, fills their pauses."""
    if fills_pauses(worker):
        os.nice(_LOWER_PRIORITY)


class Scheduling(LoadFileScheduling):  # type: ignore[misc]
    """File by file in their order; who fills pauses takes what only computes.

    It has less of the CPUs than its share, so that no job goes short of them, and what it runs may
    take as long as it likes. It ends when no job is left to start: then there are no pauses.
    """

    def _reschedule(self, node: WorkerController) -> None:
        if self._may_take(node) or node.shutting_down:
            super()._reschedule(node)
        else:
            node.shutdown()  # after what it has

    def _assign_work_unit(self, node: WorkerController) -> None:
        if fills_pauses(node.gateway.id) and (scope := self._computing()):
            self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)

    def _split_scope(self, nodeid: str) -> str:
        return unit(super()._split_scope(nodeid))

    def _may_take(self, node: WorkerController) -> bool:
        return not fills_pauses(node.gateway.id) or self._computing() is not None

    def _computing(self) -> str | None:
        """The next file that only computes, while there are others before it."""
        turns = ((one, turn(TESTS.parent / one)) for one in self.workqueue)
        first = next(turns, ("", _COMPUTES))
        if first[1] >= _COMPUTES:
            return None
        return next((one for one, its_turn in turns if its_turn == _COMPUTES), None)
