"""Connects to Dask workers, or starts some, and has them read files."""

import importlib
import logging
import os
import re
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

import perfscope
from perfscope.errors import PerfscopeError, UsageError
from perfscope.output import tell
from perfscope.readers.common.spread import spread_by
from perfscope.registry import optional
from perfscope.units import counted

EXTRA = "cluster"
SLURM = "slurm"
RETRIES = 3
"""So often a file is read again whose worker was lost."""
CONNECT_S = 20.0
FIRST_WORKER_S = 600.0
"""A batch system may let its first job wait for long."""
LOOK_S = 2.0
JOBQUEUE_ACTION = (
    "Say what a job may have in ~/.config/dask/jobqueue.yaml (cores, memory, account, queue); "
    "see jobqueue.dask.org."
)
SLURM_JOBS = "PERFSCOPE_SLURM_JOBS"
DEFAULT_SLURM_JOBS = 4
_SUBMITS = "sbatch"
_LOCAL = re.compile(r"local:([1-9]\d{0,3})")
_ADDRESS = re.compile(r"(tcp|tls|ucx|ws|wss)://\S+|[\w.\-\[\]]+:\d{1,5}")


@contextmanager
def reading_on(scheduler: str) -> Iterator[None]:
    """Has files read by the workers of a scheduler during the block.

    Args:
        scheduler: its address, `slurm` for workers in jobs of Slurm, or `local:N` for N processes
            of this machine.

    Raises:
        UsageError: the text is none of these, or a package is missing.
        PerfscopeError: nobody answers, or no worker comes.
    """
    local = _LOCAL.fullmatch(scheduler)
    is_address = _ADDRESS.fullmatch(scheduler) and not scheduler.startswith("local:")
    if not (local or is_address or scheduler == SLURM):
        raise UsageError(
            f"--scheduler {scheduler!r} is not understood.",
            why="It takes an address of a Dask scheduler, `slurm`, or `local:N` with N processes.",
            action="Write it as --scheduler tcp://host:8786, --scheduler slurm or "
            "--scheduler local:4.",
        )
    distributed = _package("distributed", "distributed")
    _quiet(distributed)
    if local:
        with (
            _processes(distributed, int(local[1])) as cluster,
            _connected(distributed, cluster, scheduler) as client,
            _spread(client),
        ):
            yield
    elif scheduler == SLURM:
        refused: list[str] = []
        with (
            _slurm(refused) as cluster,
            _connected(distributed, cluster, scheduler, refused) as client,
            _spread(client),
        ):
            yield
    else:
        with _connected(distributed, scheduler, scheduler) as client, _spread(client):
            yield


@contextmanager
def _spread(client: Any) -> Iterator[None]:
    """Has files read by the workers of a client; that they had none to read is told."""
    workers = _Workers(client)
    with spread_by(workers):
        yield
    if not workers.were_asked:
        tell("The workers had nothing to do: files of this format are read here.")


@contextmanager
def _processes(distributed: ModuleType, number: int) -> Iterator[Any]:
    """Processes of this machine as workers, which nothing outside can reach."""
    # Dask gives up a worker that is not there a quarter of a minute after it was lost, even where
    # its next process is just being started; without any worker the analysis would wait for ever.
    importlib.import_module("dask.config").set({"distributed.deploy.lost-worker-timeout": "1 day"})
    try:
        cluster = distributed.LocalCluster(
            n_workers=number, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
        )
    except (OSError, RuntimeError, TimeoutError) as error:
        raise PerfscopeError(
            f"{number} workers could not be started here.",
            why=f"{str(error).splitlines()[0] if str(error) else type(error).__name__}.",
            action="Ask for fewer, or analyze without --scheduler.",
        ) from error
    with cluster:
        yield cluster


class _Workers:
    """Calls functions on the workers, which keep what they return for others until it is let go.

    A call whose worker is lost is made again by another one, with all that led to it.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self.were_asked = False

    def start(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """Futures of what the function returns for each of the arguments, futures among them."""
        self.were_asked = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of arguments that are large
            found: list[Any] = self._client.map(function, *columns, pure=False, retries=RETRIES)
        return found

    def take(self, handles: Sequence[Any], *, forget: bool = True) -> list[Any]:
        """The results of futures; they are let go, if they shall be, also where one fails."""
        try:
            # one by one: what is here is unpacked while workers go on, and they need not keep it
            return [self._taken(future, forget=forget) for future in handles]
        except OSError as error:
            raise _lost(str(error)) from error
        except Exception as error:
            if type(error).__name__ in ("KilledWorker", "CancelledError", "FutureCancelledError"):
                raise _lost(type(error).__name__) from error
            raise
        finally:
            if forget:
                with suppress(Exception):
                    self._client.cancel(list(handles), force=True)

    def _taken(self, future: Any, *, forget: bool) -> Any:
        """A result from the worker that has it, or by way of the scheduler."""
        found = self._client.gather(future, direct=True)
        if forget:
            future.release()
        return found


@contextmanager
def _connected(
    distributed: ModuleType, to: Any, told: str, refused: Sequence[str] = ()
) -> Iterator[Any]:
    """A client of the scheduler, when its first worker is there and none was refused."""
    try:
        client = distributed.Client(to, timeout=CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise PerfscopeError(
            f"No Dask scheduler answers at {told}.",
            why=f"{str(error).splitlines()[0] if str(error) else type(error).__name__}.",
            action="Start one (dask scheduler), or let perfscope do it: --scheduler local:4.",
        ) from error
    with client:
        _check_workers(client, told, refused)
        yield client


def _wait_for_a_worker(client: Any, refused: Sequence[str]) -> None:
    """Returns when a worker is there; a job that the batch system refuses is not waited for."""
    end = time.monotonic() + FIRST_WORKER_S
    while not _comes(client):
        if refused:
            raise PerfscopeError(
                "No jobs could be started under Slurm.",
                why=f"{refused[0]}.",
                action=JOBQUEUE_ACTION,
            )
        if time.monotonic() > end:
            raise TimeoutError


def _comes(client: Any) -> bool:
    """Whether a worker is there, or comes within LOOK_S."""
    # before Python 3.11 it is another one than Python's
    timeout_error = importlib.import_module("distributed").TimeoutError
    try:
        client.wait_for_workers(1, timeout=LOOK_S)
    except timeout_error:
        return False
    return True


def _check_workers(client: Any, told: str, refused: Sequence[str]) -> None:
    """Waits for the first worker and asks all for their version of perfscope."""
    try:
        _wait_for_a_worker(client, refused)
        versions = client.run(_version)
    except ModuleNotFoundError as error:
        raise PerfscopeError(
            f"The workers of {told} have no perfscope.",
            why=f"{error}.",
            action="Install it in the environment that the workers run in.",
        ) from error
    except (OSError, TimeoutError) as error:
        raise PerfscopeError(
            f"No worker of {told} is there.",
            why=f"None came within {FIRST_WORKER_S:.0f} s.",
            action="See whether its jobs or workers start, then try again.",
        ) from error
    if others := {version for version in versions.values() if version != perfscope.__version__}:
        raise PerfscopeError(
            f"The workers of {told} have another perfscope.",
            why=f"Theirs is {', '.join(sorted(others))}, this one {perfscope.__version__}.",
            action="Install the same version in the environment that the workers run in.",
        )
    tell(f"Reading on {counted(len(versions), 'worker')} of {told}")


def _version() -> str:
    return perfscope.__version__


def _told_by(job: type[Any], refused: list[str]) -> type[Any]:
    """A kind of jobs that notes what the batch system says when it refuses one.

    dask-jobqueue starts jobs in the background, where nobody hears of their errors but the log;
    one that is refused counts as started, and brings no worker.
    """
    core = importlib.import_module("distributed.core")

    class Job(job):  # type: ignore[misc]
        """A job that counts as started when it is refused."""

        async def start(self) -> None:
            """Submits it, and notes why it was refused."""
            try:
                await super().start()
            except (OSError, RuntimeError, ValueError) as error:
                refused.append(_reason(str(error)) or type(error).__name__)
                self.status = core.Status.running

    return Job


def _reason(text: str) -> str:
    """What a command printed before it failed, out of what dask-jobqueue says of it; one line."""
    _, _, printed = text.partition("stderr:")
    lines = [line.strip() for line in (printed or text).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else ""


@contextmanager
def _slurm(refused: list[str]) -> Iterator[Any]:
    """Workers in jobs of Slurm; what a job asks for stands in dask-jobqueue's configuration."""
    jobqueue = _package("dask_jobqueue", "dask-jobqueue")
    if shutil.which(_SUBMITS) is None:
        raise UsageError(
            "--scheduler slurm finds no Slurm here.",
            why=f"There is no {_SUBMITS} on PATH.",
            action="Run it on a node that submits jobs, or use --scheduler local:4.",
        )
    told = os.environ.get(SLURM_JOBS, "")
    jobs = int(told) if told.isdecimal() else DEFAULT_SLURM_JOBS
    try:
        kind = _told_by(jobqueue.SLURMCluster.job_cls, refused)
        cluster = jobqueue.SLURMCluster(job_cls=kind)
        cluster.scale(jobs=max(1, jobs))
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        raise PerfscopeError(
            "No jobs could be started under Slurm.",
            why=f"{str(error).splitlines()[0] if str(error) else type(error).__name__}.",
            action=JOBQUEUE_ACTION,
        ) from error
    with cluster:
        yield cluster


def _package(name: str, distribution: str) -> ModuleType:
    return optional(
        name, option="--scheduler", distribution=distribution, install=f"'perfscope-hpc[{EXTRA}]'"
    )


def _quiet(distributed: ModuleType) -> None:
    """What Dask would log on stderr is told by errors, or is none of the user's business."""
    settings = importlib.import_module("dask.config")
    settings.set({"logging.distributed": "critical"})
    for name in ("", ".worker", ".nanny", ".scheduler", ".core", ".comm", ".client"):
        logging.getLogger(distributed.__name__ + name).setLevel(logging.CRITICAL)


def _lost(why: str) -> PerfscopeError:
    return PerfscopeError(
        "The workers were lost again and again.",
        why=f"A file was tried {RETRIES + 1} times ({why}).",
        action="Give the workers more memory, or analyze without --scheduler.",
    )
