"""Fixtures that tests of every part use; see tests/support for what they hand out."""

import fcntl
import gc
import signal
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from perfscope.document import build as result_document
from perfscope.document.invariants import broken
from tests.support import checks, environments, examples, recording, requirements, turns
from tests.support.environments import Environment, Mpi
from tests.support.recording import JOB_TIMEOUT_S, Recorded, Recorder

build_document = result_document.build


def _build_and_check(*arguments: Any, **options: Any) -> dict[str, Any]:
    """The result document of any test's analysis, of which the invariants hold."""
    document = build_document(*arguments, **options)
    found = broken(document)
    assert not found, found
    return document


# Before a module takes the function by its name: every analysis of every test goes through here.
result_document.build = _build_and_check

# Started in the background of a shell, this process ignores Ctrl-C, and so would the jobs of tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes decides nothing. In CI the examples of a property test are the same as
# long as its code is; elsewhere new ones are drawn.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("untimed"), derandomize=True, database=None)
settings.load_profile("ci" if requirements.in_ci() else "untimed")
if requirements.in_ci():
    examples.draw_no_local_constants()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """One process of `make test` before the others: what it compiles they only read."""
    gc.disable()  # what is collected stays; to look for cycles in it took a quarter of the time
    try:
        if not hasattr(session.config, "workerinput"):
            return (yield)
        with (environments.REPOSITORY / "pyproject.toml").open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                fcntl.flock(lock, fcntl.LOCK_SH)
            return (yield)
    finally:
        gc.freeze()  # nor does anybody look through it again, a thousand times while tests run
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Else files come in the order of their folders."""
    items.sort(key=lambda item: turns.turn(item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Who runs which file."""
    by_file = config.getoption("dist", None) == "loadfile"
    return turns.Scheduling(config, log) if by_file else None


def pytest_collection_finish(session: pytest.Session) -> None:
    """One more process than there are CPUs steps back."""
    if hasattr(session.config, "workerinput"):
        turns.step_back(session.config.workerinput["workerid"])


def pytest_sessionfinish(session: pytest.Session) -> None:
    """`make test` checks the code beside the tests: its last line, pytest's, comes after that."""
    build = environments.REPOSITORY / "build"
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal and session.config.getoption("numprocesses", None) and build.is_dir():
        checks.wait_for_checks(build, lambda text: terminal.write(f"\n{text}", flush=True))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI every test runs: a skip is a failure there."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and requirements.in_ci():
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    return report


@pytest.fixture
def environment() -> Callable[[str], Environment]:
    """Gives an environment by name: `environment("torch").python`."""
    return environments.environment


@pytest.fixture(params=environments.MPI_NAMES)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Each MPI library from PyPI in turn."""
    return environments.mpi(request.param)


@pytest.fixture(
    params=[
        pytest.param(name, marks=[pytest.mark.long] if name != "mpich" else [])
        for name in environments.MPI_NAMES
    ]
)
def any_mpi(request: pytest.FixtureRequest) -> Mpi:
    """The same, for what is the same code whichever of them it is: in CI MPICH alone."""
    return environments.mpi(request.param)


@pytest.fixture(
    params=[
        pytest.param(name, marks=[pytest.mark.long] if name == "intelmpi" else [])
        for name in environments.MPI_NAMES
    ]
)
def each_abi(request: pytest.FixtureRequest) -> Mpi:
    """The same, for what handles and constants alone may change: Intel MPI has those of MPICH."""
    return environments.mpi(request.param)


@pytest.fixture
def mpich() -> Mpi:
    """MPICH alone, the quickest to start, for tests in which the library does not matter."""
    return environments.mpi("mpich")


@pytest.fixture
def record(tmp_path: Path) -> Recorder:
    """Runs the real `perfscope run` in a directory of the test's own."""

    def run(
        command: Sequence[str | Path],
        *,
        options: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        output: Path | None = None,
        timeout_s: float = JOB_TIMEOUT_S,
    ) -> Recorded:
        return recording.record(
            command,
            cwd=cwd or tmp_path,
            output=output or tmp_path / "trace",
            options=options,
            variables=variables,
            timeout_s=timeout_s,
        )

    return run


@pytest.fixture
def chromium() -> Path:
    """A browser for tests of pages."""
    return requirements.require_browser()


@pytest.fixture
def reference() -> Callable[[str], Path]:
    """Gives a reference trace by its path below PERFSCOPE_REFERENCE."""
    return requirements.require_reference
