"""The environment that a job gets: the user's own, with the recorder and the agent in front."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perfscope.record.launcher import Flavor, Launcher
from perfscope.record.places import LIBRARY_NAME
from perfscope.record.stack_sampling import spy_program
from perfscope.structures import dataclass

DEFAULT_MAX_BYTES = 256 * 1024 * 1024
DEFAULT_HZ = 10
DEFAULT_STACK_HZ = 50
DEFAULT_STACKS_HZ = 100
DEFAULT_GPU_HZ = 2


def _range(steps: tuple[int, int | None]) -> str:
    first, end = steps
    return f"{first}:{'' if end is None else end}"


def _pair(values: tuple[object, object]) -> str:
    return "{}:{}".format(*values)


_VARIABLES: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "max_size_bytes": ("PERFSCOPE_MAX_BYTES", str),
    "sample_hz": ("PERFSCOPE_SAMPLE_HZ", str),
    "stack_hz": ("PERFSCOPE_STACK_HZ", str),
    "gpu_hz": ("PERFSCOPE_GPU_HZ", str),
    "steps": ("PERFSCOPE_STEPS", _range),
    "stop_after": ("PERFSCOPE_STOP_AFTER", str),
    "torch_profiler": ("PERFSCOPE_TORCH_PROFILER", _pair),
    "tf_profiler": ("PERFSCOPE_TF_PROFILER", _pair),
    "memory_detail": ("PERFSCOPE_MEMORY_DETAIL", _pair),
}
"""Option -> the variable in which processes of the job find it, and how it is written there."""

_OWN_VARIABLES = (
    *("PERFSCOPE_DIR", "PERFSCOPE_RECORDER", "PERFSCOPE_AGENT", "PERFSCOPE_KEY"),
    *(variable for variable, _ in _VARIABLES.values()),
    *("PERFSCOPE_STACKS_HZ", "PERFSCOPE_STACKS_RANKS", "PERFSCOPE_STACKS_SPY"),
    *("PERFSCOPE_SPY", "PERFSCOPE_OWNER"),
)
NCCL_PLUGIN = "NCCL_PROFILER_PLUGIN"
FLIGHT_RECORDER = "TORCH_FR_BUFFER_SIZE"
_FLIGHT_RECORDER_BEFORE = "TORCH_NCCL_TRACE_BUFFER_SIZE"
FLIGHT_RECORDER_ENTRIES = 2000
"""How many collectives PyTorch keeps; its default from 2.13 on, of some releases before it is 0."""
_OF_ONE_PROCESS = ("PERFSCOPE_SPY", "PERFSCOPE_OWNER")
FORWARDED = (
    "LD_PRELOAD",
    "PYTHONPATH",
    *(name for name in _OWN_VARIABLES if name not in _OF_ONE_PROCESS),
    "PERFSCOPE_LOCAL_DIR",
    "PERFSCOPE_NVML",
    NCCL_PLUGIN,
    FLIGHT_RECORDER,
)
"""What a rank on another host, or in a container, needs of the environment."""

OPENMPI_LIST = "OMPI_MCA_mca_base_env_list"
_OPENMPI_DELIMITER = "OMPI_MCA_mca_base_env_list_delimiter"


@dataclass(frozen=True)
class RecordingOptions:
    """What the user may ask of a recording."""

    # bound on the records of one process; behind it whole steps are left out, and totals go on
    max_size_bytes: int = DEFAULT_MAX_BYTES
    sample_hz: int = DEFAULT_HZ  # samples of memory, threads and CPU per second, 0 for none
    stack_hz: int = DEFAULT_STACK_HZ  # samples of the Python stack per second at most, 0 for none
    gpu_hz: int = DEFAULT_GPU_HZ  # samples of the GPUs per second, 0 for none
    # the steps [first, end) whose MPI calls are recorded one by one, None all of them
    steps: tuple[int, int | None] | None = None
    # the step after which the job is ended, None for the job's own end
    stop_after: int | None = None
    # first and last step that PyTorch's profiler records, None for none
    torch_profiler: tuple[int, int] | None = None
    # first and last step that TensorFlow's profiler records, None for none
    tf_profiler: tuple[int, int] | None = None
    stacks: bool = False  # whether py-spy samples all Python processes of the job
    stacks_hz: int = DEFAULT_STACKS_HZ  # how often it does, per second
    stacks_ranks: tuple[int, ...] | None = None  # the ranks that it samples, None all
    # the rank whose allocations are recorded and the engine ("" memray), None for none
    memory_detail: tuple[int, str] | None = None
    nccl_profiler: bool = False  # whether NCCL is given the recorder as its profiler plugin
    # without progress of any rank for so long a picture is kept, None for none
    on_hang_s: float | None = None

    def as_json(self) -> dict[str, Any]:
        """The options as they stand in run.json; those that are not used are not there."""
        asked = {n: list(v) if isinstance(v, tuple) else v for n, v in vars(self).items()}
        stacks = {"hz": asked.pop("stacks_hz"), "ranks": asked.pop("stacks_ranks")}
        asked["stacks"] = stacks if self.stacks else None
        return {
            name: value for name, value in asked.items() if value is not None and value is not False
        }

    def variables(self) -> dict[str, str]:
        """The options as the processes of the job find them."""
        variables = {
            variable: written(value)
            for name, (variable, written) in _VARIABLES.items()
            if (value := getattr(self, name)) is not None
        }
        if self.stacks:
            variables["PERFSCOPE_STACKS_HZ"] = str(self.stacks_hz)
            variables["PERFSCOPE_STACKS_SPY"] = str(spy_program(os.environ) or "")
        if self.stacks and self.stacks_ranks is not None:
            variables["PERFSCOPE_STACKS_RANKS"] = ",".join(map(str, self.stacks_ranks))
        return variables


@dataclass(frozen=True)
class Injection:
    """What is loaded into the processes of a job; None leaves a part out."""

    recorder: Path | None  # the library put first into LD_PRELOAD
    agent: Path | None  # the directory put first into PYTHONPATH


def job_environment(
    base: Mapping[str, str],
    *,
    directory: Path,
    injection: Injection,
    options: RecordingOptions,
    launcher: Launcher,
) -> dict[str, str]:
    """The environment of a recorded job; the user's own settings stay.

    A recording around this one is taken out: a job inside a job writes to its own directory.
    """
    environment = without_recording(base)
    environment["PERFSCOPE_DIR"] = str(directory)
    # of digests that none but the ranks make
    environment["PERFSCOPE_KEY"] = secrets.token_hex(16)
    environment.update(options.variables())
    if injection.recorder is not None:
        environment["PERFSCOPE_RECORDER"] = str(injection.recorder)
        _put_first(environment, "LD_PRELOAD", str(injection.recorder))
        if options.nccl_profiler:
            environment.setdefault(NCCL_PLUGIN, str(injection.recorder))
    if injection.agent is not None:
        _put_first(environment, "PYTHONPATH", str(injection.agent))
        environment["PERFSCOPE_AGENT"] = str(injection.agent)  # for the recorder to put it back
        if _FLIGHT_RECORDER_BEFORE not in environment:
            environment.setdefault(FLIGHT_RECORDER, str(FLIGHT_RECORDER_ENTRIES))
    if _open_mpi_may_forward(environment, launcher):
        _forward_to_other_hosts(environment)
    return environment


def without_recording(base: Mapping[str, str]) -> dict[str, str]:
    """An environment without the traces of a recording that this process itself runs under."""
    environment = {name: value for name, value in base.items() if name not in _OWN_VARIABLES}
    if "PERFSCOPE_DIR" in base and environment.get(FLIGHT_RECORDER) == str(FLIGHT_RECORDER_ENTRIES):
        del environment[FLIGHT_RECORDER]
    if Path(environment.get(NCCL_PLUGIN, "")).name == LIBRARY_NAME:
        del environment[NCCL_PLUGIN]
    _filter(environment, "LD_PRELOAD", lambda entry: Path(entry).name != LIBRARY_NAME)
    _filter(environment, "PYTHONPATH", lambda entry: not Path(entry, "perfscope_agent").is_dir())
    if "PERFSCOPE_DIR" in base and OPENMPI_LIST in environment:
        delimiter = environment.get(_OPENMPI_DELIMITER, ";")
        names = environment[OPENMPI_LIST].split(delimiter)
        kept = [name for name in names if name not in FORWARDED]
        environment[OPENMPI_LIST] = delimiter.join(kept)
        if not kept:
            del environment[OPENMPI_LIST]
    return environment


@contextmanager
def loadable_paths(injection: Injection) -> Iterator[Injection]:
    """The same parts under paths that LD_PRELOAD and PYTHONPATH can hold.

    The dynamic linker splits LD_PRELOAD at blanks and colons and knows no quoting; a link in a
    directory of its own stands in for a path that has any.
    """
    recorder, agent = injection.recorder, injection.agent
    awkward = recorder is not None and set(" \t\n:;") & set(str(recorder))
    if not awkward and not (agent is not None and ":" in str(agent)):
        yield injection
        return
    place = Path(tempfile.mkdtemp(prefix="perfscope-"))
    try:
        if recorder is not None:
            (place / LIBRARY_NAME).symlink_to(recorder)
        if agent is not None:
            (place / "agent").symlink_to(agent)
        yield Injection(
            recorder=place / LIBRARY_NAME if recorder is not None else None,
            agent=place / "agent" if agent is not None else None,
        )
    finally:
        shutil.rmtree(place, ignore_errors=True)


def forwarding_note(launcher: Launcher) -> str | None:
    """What to tell a user whose Open MPI cannot carry the recording to other hosts, else None."""
    if launcher.flavor is Flavor.OPEN_MPI and _passes_variables(launcher.arguments):
        names = " ".join(f"-x {name}" for name in FORWARDED)
        return f"ranks on other hosts are recorded only with {names} on the mpirun command line"
    return None


def _open_mpi_may_forward(environment: Mapping[str, str], launcher: Launcher) -> bool:
    """Whether the list may be set: Open MPI 4 ends a job that uses both the list and option -x."""
    if OPENMPI_LIST in environment:
        return True
    return launcher.flavor is Flavor.OPEN_MPI and not _passes_variables(launcher.arguments)


def _passes_variables(arguments: Sequence[str]) -> bool:
    return any(word in ("-x", "--x") or "mca_base_env_list" in word for word in arguments)


def _forward_to_other_hosts(environment: dict[str, str]) -> None:
    """Adds what a rank on another host needs to Open MPI's list of forwarded variables."""
    delimiter = environment.get(_OPENMPI_DELIMITER, ";")
    names = [name for name in environment.get(OPENMPI_LIST, "").split(delimiter) if name]
    # Open MPI 5 ends a job that names a variable which does not exist.
    names += [name for name in FORWARDED if name in environment and name not in names]
    environment[OPENMPI_LIST] = delimiter.join(names)


def _put_first(environment: dict[str, str], name: str, entry: str) -> None:
    kept = environment.get(name)
    environment[name] = f"{entry}{os.pathsep}{kept}" if kept else entry


def _filter(environment: dict[str, str], name: str, keep: Callable[[str], bool]) -> None:
    """Takes entries out of a path-like variable; without any it stays as it was written."""
    value = environment.get(name)
    if value is None:
        return
    entries = value.split(os.pathsep)
    kept = [entry for entry in entries if keep(entry)]
    if len(kept) == len(entries):
        return
    environment[name] = os.pathsep.join(kept)
    if not kept:
        del environment[name]
