"""What the recorder costs, each as numbers of repeated runs with and without it."""

import statistics
import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchmarks.jobs import prefix
from benchmarks.recorder import bounded
from perfscope.record.places import agent_directory

HERE = Path(__file__).parent
BURSTS, BURST_CALLS, BURST_PAUSE_US = 20, 500, 120_000
FLOOD_CALLS = 100_000
SAMPLED_S = 2.0
REDUCTIONS = 20_000
RECORDED_BYTES = 1 << 20  # fewer than the calls of any shape take
SAMPLER_CPU_AT = 280  # ps_header.sampler_cpu_ns


@dataclass(frozen=True)
class Setting:
    """Where and how often to measure."""

    directory: Path  # for files that are made
    repeats: int  # of every measurement
    prefix: Path  # of the environment whose mpirun and Python run the jobs
    library: Path  # the recorder


@dataclass(frozen=True)
class Cost:
    """A cost and its spread over repeats."""

    name: str  # what was measured
    unit: str  # of the values
    values: tuple[float, ...]  # one for each repeat
    goal: float | None = None  # at most this, None without a goal

    @property
    def median(self) -> float:
        """The middle of the repeats."""
        return statistics.median(self.values)

    def as_json(self) -> dict[str, object]:
        """As written to the results file."""
        return {
            "name": self.name,
            "unit": self.unit,
            "median": self.median,
            "least": min(self.values),
            "most": max(self.values),
            "repeats": len(self.values),
            "goal": self.goal,
        }


Command = list[str | Path]
T = TypeVar("T")


def _run(command: Command, variables: Mapping[str, str]) -> str:
    return bounded.run(command, variables).output


def _fresh(setting: Setting, name: str) -> Path:
    directory = setting.directory / f"{name}-{time.monotonic_ns()}"
    directory.mkdir(parents=True)
    return directory


def _recorded(setting: Setting, name: str) -> dict[str, str]:
    """The environment of a recorded process, with a run directory of its own."""
    return {
        "LD_PRELOAD": str(setting.library),
        "PERFSCOPE_RECORDER": str(setting.library),
        "PERFSCOPE_DIR": str(_fresh(setting, name)),
    }


def _columns(text: str) -> dict[str, float]:
    return {name: float(value) for name, value in (line.split() for line in text.splitlines())}


def _build_stub(setting: Setting) -> Path:
    library, program = setting.directory / "libmpi_stub.so", setting.directory / "call_cost"
    compiler: Command = ["cc", "-O2", "-Wall", "-Wextra"]
    shared: Command = ["-shared", "-fPIC", "-Wl,-soname,libmpi_stub.so", "-o", library]
    _run([*compiler, HERE / "stub_mpi.c", *shared], {})
    linked: Command = ["-L", setting.directory, "-lmpi_stub", f"-Wl,-rpath,{setting.directory}"]
    _run([*compiler, HERE / "call_cost.c", "-o", program, *linked], {})
    return program


def _recorded_calls(setting: Setting, command: Command) -> dict[str, float]:
    variables = _recorded(setting, "calls")
    columns = _columns(_run(command, variables))
    [path] = Path(variables["PERFSCOPE_DIR"]).glob("*/*.rec")
    if path.stat().st_size < RECORDED_BYTES:
        raise bounded.MeasurementError("the calls that were to be measured were not recorded")
    return columns


def calls(setting: Setting) -> list[Cost]:
    """ns of CPU time that recording adds to a call of an MPI library that does nothing."""
    program = _build_stub(setting)
    kinds = {"": (BURSTS, BURST_CALLS, BURST_PAUSE_US), ", flood": (1, FLOOD_CALLS, 0)}
    costs = []
    for suffix, shape in kinds.items():
        command: Command = [program, *map(str, shape)]
        bare = [_columns(_run(command, {})) for _ in range(setting.repeats)]
        with_it = [_recorded_calls(setting, command) for _ in range(setting.repeats)]
        for name in with_it[0]:
            without = 0.0 if name == "clock_gettime" else statistics.median(b[name] for b in bare)
            values = tuple(w[name] - without for w in with_it)
            is_call = name != "clock_gettime"
            costs.append(Cost(f"{name}{suffix}", "ns", values, 100.0 if is_call else None))
    return costs


def events(setting: Setting) -> list[Cost]:
    """ns of CPU time of what the agent writes through ctypes."""
    command: Command = [setting.prefix / "bin" / "python", HERE / "event_cost.py"]
    runs = [_columns(_run(command, _recorded(setting, "events"))) for _ in range(setting.repeats)]
    goals = {"phases": 2000.0}
    return [
        Cost(f"ctypes: {name}", "ns", tuple(run[name] for run in runs), goals.get(name))
        for name in runs[0]
    ]


def torch_steps(setting: Setting) -> list[Cost]:
    """us of CPU time that the agent's functions take in a step of PyTorch, where that is there."""
    python = prefix("torch") / "bin" / "python"
    if not python.exists():
        return []
    agent = {"PYTHONPATH": str(agent_directory())}
    command: Command = [python, HERE / "step_cost.py"]
    runs = [
        _columns(_run(command, _recorded(setting, "steps") | agent)) for _ in range(setting.repeats)
    ]
    kinds = {
        "own_update_first": "its first 256 steps, with an update of its own",
        "own_update": "a later one",
        "with_optimizer": "an optimizer's",
        "with_loader": "an optimizer's, and a loader's batch",
    }
    return [
        Cost(f"PyTorch step: {told}", "us", tuple(run[name] for run in runs))
        for name, told in kinds.items()
    ]


def samples(setting: Setting) -> list[Cost]:
    """Share of one core that the sampler takes at its 10 Hz."""
    costs = []
    for threads in (1, 16, 64):
        script = HERE / "sample_cost.py"
        words: Command = [setting.prefix / "bin" / "python", script, str(threads), str(SAMPLED_S)]
        shares = []
        for _ in range(setting.repeats):
            variables = _recorded(setting, "samples")
            _run(words, variables)
            [path] = Path(variables["PERFSCOPE_DIR"]).glob("*/*.rec")
            (cpu_ns,) = struct.unpack_from("<Q", path.read_bytes(), SAMPLER_CPU_AT)
            shares.append(cpu_ns / (SAMPLED_S * 1e9) * 100)
        costs.append(Cost(f"sampler, {threads} threads", "% of a core", tuple(shares)))
    return costs


def _wall_s(command: Command, variables: Mapping[str, str]) -> float:
    return bounded.run(command, variables).wall_s


def _paired(repeats: int, without: Callable[[], T], with_it: Callable[[], T]) -> list[tuple[T, T]]:
    """Runs both in turn, so that a busy moment of the machine meets both."""
    without(), with_it()
    return [(without(), with_it()) for _ in range(repeats)]


def _start_up(setting: Setting, name: str, extra: dict[str, str]) -> Cost:
    command: Command = [setting.prefix / "bin" / "python", "-c", ""]
    pairs = _paired(
        4 * setting.repeats,
        lambda: _wall_s(command, {}),
        lambda: _wall_s(command, _recorded(setting, "start") | extra),
    )
    return Cost(f"start-up: {name}", "ms", tuple((b - a) * 1e3 for a, b in pairs), 10.0)


def start_up(setting: Setting) -> list[Cost]:
    """ms that a Python process takes longer to start."""
    agent = {"PYTHONPATH": str(agent_directory())}
    return [_start_up(setting, "recorder", {}), _start_up(setting, "recorder and agent", agent)]


def _reduction(setting: Setting, name: str, job: Command) -> list[Cost]:
    command: Command = [setting.prefix / "bin" / "mpirun", "-n", "2", *job, str(REDUCTIONS)]
    pairs = _paired(
        setting.repeats,
        lambda: float(_run(command, {})),
        lambda: float(_run(command, _recorded(setting, "reductions"))),
    )
    return [
        Cost(f"allreduce, {name}, bare", "us", tuple(a for a, _ in pairs)),
        Cost(f"allreduce, {name}, recorded", "us", tuple(b for _, b in pairs)),
    ]


def reductions(setting: Setting) -> list[Cost]:
    """us of an 8-byte reduction of two ranks, with and without recording."""
    program = setting.directory / "allreduce_cost"
    compiler, python = setting.prefix / "bin" / "mpicc", setting.prefix / "bin" / "python"
    _run([compiler, "-O2", "-o", program, HERE / "allreduce_cost.c"], {})
    through_python: Command = [python, HERE / "allreduce_cost.py"]
    return _reduction(setting, "C", [program]) + _reduction(setting, "mpi4py", through_python)


MEASURES = (calls, events, torch_steps, samples, start_up, reductions)
