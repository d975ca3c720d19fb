"""Which process of `make test` runs which file: a third one on two CPUs starts no jobs."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import turns

JOBS = [
    "tests/record/test_endings.py",
    "tests/readers/otf2/test_reader.py",
    "tests/agent/test_turns.py",
]
COMPUTES = ["tests/losses/test_turns.py", "tests/matching/test_waits.py"]
COLLECTED = [f"{file}::test[{number}]" for file in (*JOBS, *COMPUTES) for number in range(3)]


class Process:
    """What the scheduler knows of a process of pytest-xdist, and what it tells it."""

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.given: list[str] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        self.given.append(COLLECTED[indices[0]].split("::")[0])

    def shutdown(self) -> None:
        self.shutting_down = True


def test_one_process_more_than_cpus_runs_only_what_computes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {4, 7})
    first, second, third = processes = [Process(number) for number in range(3)]
    config: Any = SimpleNamespace(
        option=SimpleNamespace(loadscopereorder=False), getvalue=lambda _: ["3*popen"]
    )
    scheduling: Any = turns.Scheduling(config)
    for process in processes:
        scheduling.add_node(process)
        scheduling.add_node_collection(process, COLLECTED)
    scheduling.schedule()
    for file in COMPUTES:
        for index in [at for at, test in enumerate(COLLECTED) if test.startswith(file)]:
            scheduling.mark_test_complete(third, index)
    assert [process.given for process in processes] == [JOBS[:1], JOBS[1:2], COMPUTES]
    assert [process.shutting_down for process in processes] == [False, False, True]
    scheduling.mark_test_complete(first, 0)
    assert (first.given, second.given) == ([JOBS[0], JOBS[2]], [JOBS[1]])


def test_what_waits_comes_first_and_short_files_last() -> None:
    jobs = ["agent/test_turns.py", "findings/operands/test_recorded.py"]
    jobs += ["native/recorder/test_limits.py", "examples/test_sgan.py"]
    others = ["losses/test_turns.py", "test_units.py"]
    found = [turns.turn(turns.TESTS / name) for name in jobs + others]
    assert found == [0, 0, 1, 2, 3, 4]


def test_who_looks_at_the_same_pages_shares_a_process() -> None:
    """Each recording is analyzed and shown once for all of them."""
    sharing = ["report/test_one_story.py", "report/test_consistency.py", "losses/test_by_bin.py"]
    assert {turns.unit(f"tests/{name}") for name in sharing} == {"tests/report/test_consistency.py"}
    assert turns.unit("tests/test_turns.py") == "tests/test_turns.py"
