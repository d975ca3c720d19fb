"""Recorded DDP training: exposed waiting, workers that are no ranks, untouched results."""

import json
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.support import environments, recording
from tests.support.environments import REPOSITORY

SCRIPT = REPOSITORY / "examples" / "train_ddp.py"
RESULT = re.compile(r"^result: loss \S+  parameters \S+", re.MULTILINE)
WORKER_WARNING = {"PYTHONWARNINGS": "ignore::UserWarning"}
STEPS, SLOW_S = 30, 0.1
AGREEMENT_S = 0.1 * SLOW_S
"""A process may lose its CPU between its own look at the clock and that of the recorder."""
"""Rank 1 sleeps for most of each step also where a busy machine makes the rest of it ten times as
long."""


@dataclass(frozen=True)
class Outcome:
    """What a run of the example said."""

    result: str  # its result line up to the digest of the parameters
    log: list[dict[str, Any]]  # the lines of its timings
    analysis: dict[str, Any]  # the result document, empty when it was not recorded
    directory: Path  # the recording

    def steps(self, rank: int) -> list[dict[str, Any]]:
        """The timings of one rank's steps."""
        return [line for line in self.log if line["rank"] == rank and "step" in line]

    @property
    def compiled(self) -> list[Any]:
        """The compiler's counters by rank."""
        lines = [line for line in self.log if "compiled" in line]
        return [line["compiled"] for line in sorted(lines, key=lambda line: int(line["rank"]))]

    def metadata(self, role: str) -> list[dict[str, Any]]:
        """What the agent noted about the processes of one role."""
        files = [json.loads(path.read_text()) for path in self.directory.glob("*/*.json")]
        return [values for values in files if values["role"] == role]


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def launcher(name: str) -> list[str]:
    """A command line up to the script, for two ranks."""
    torch = environments.environment("torch")
    if name == "torchrun":
        port = f"--master-port={free_port()}"
        return [str(torch.prefix / "bin" / "torchrun"), port, "--nproc-per-node", "2"]
    return environments.mpi("mpich").command(2, torch.python)


def run_ddp(
    directory: Path,
    *arguments: str,
    start: str = "torchrun",
    options: tuple[str, ...] = (),
    recorded: bool = True,
) -> Outcome:
    """Runs the example to its end, recorded and analyzed or as it is."""
    directory.mkdir(exist_ok=True)
    timings = directory / "timings.jsonl"
    command = [*launcher(start), str(SCRIPT), "--timings", str(timings), *arguments]
    variables: Mapping[str, str] = {
        "OMP_NUM_THREADS": "1",
        "MASTER_PORT": str(free_port()),
        **WORKER_WARNING,
    }
    analysis: dict[str, Any] = {}
    if recorded:
        done, analysis = recording.record_and_analyze(
            command, place=directory, options=options, variables=variables
        )
        output = done.stdout
    else:
        plain = recording.run_plain(command, cwd=directory, variables=variables)
        assert plain.returncode == 0, plain.stderr
        output = plain.stdout
    result = RESULT.search(output)
    assert result is not None, output
    lines = timings.read_text(encoding="utf-8").splitlines()
    return Outcome(result[0], [json.loads(line) for line in lines], analysis, directory / "trace")


def own_waits_s(outcome: Outcome, rank: int) -> list[float]:
    """What a rank waited in each step for the other's last gradient, by the program's own clock."""
    pairs = zip(outcome.steps(0), outcome.steps(1), strict=True)
    ready = [(first["ready_s"], second["ready_s"]) for first, second in pairs]
    return [max(moments) - moments[rank] for moments in ready]


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Rank 1 sleeps in every step; each has two loader workers, and PyTorch's profiler in three."""
    arguments = ("--steps", str(STEPS), "--workers", "2", "--slow-ms", str(SLOW_S * 1000))
    directory = tmp_path_factory.mktemp("slow")
    return run_ddp(directory, *arguments, options=("--torch-profiler", "3:6"))


@pytest.fixture(scope="module")
def accumulating(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Two micro-batches a step, started by mpirun."""
    arguments = ("--steps", "20", "--accumulate", "2", "--workers", "0", "--slow-ms", "20")
    return run_ddp(tmp_path_factory.mktemp("accumulating"), *arguments, start="mpirun")


def test_exposed_wait_is_that_of_the_program(slow: Outcome) -> None:
    found = slow.analysis["collectives"]["gradient_exchange"]
    assert found["exchanges"] == STEPS
    for rank in (0, 1):
        assert found["wait_s_by_rank"][rank] == pytest.approx(
            median(own_waits_s(slow, rank)), abs=AGREEMENT_S
        )
    # How much of the sleep remains depends on how late a busy machine makes rank 0 itself.
    assert found["wait_s_by_rank"][0] > found["wait_s_by_rank"][1]
    assert slow.analysis["collectives"]["unmatched"] == {}


def test_the_late_rank_and_its_function_are_named(slow: Outcome) -> None:
    late = slow.analysis["collectives"]["late_arrivals"][0]
    assert late["rank"] == 1
    assert (Path(late["file"]).name, late["function"]) == ("train_ddp.py", "train")
    (found,) = [
        one
        for one in slow.analysis["findings"]
        if one["status"] in {"fail", "warn"} and one["id"] == "lost_to_sleep"
    ]
    assert found["ranks"] == [1]  # what makes it late is known: it sleeps
    assert found["title"].endswith("in train() (train_ddp.py:151)")
    assert found["gain_s"] > 0.5 * STEPS * SLOW_S


def test_exposed_time_counts_as_communication(slow: Outcome) -> None:
    communication = slow.analysis["collectives"]
    assert communication["wait_s_by_rank"][0] >= 0.9 * sum(own_waits_s(slow, 0))
    assert slow.analysis["replay"]["relative_error"] < 1e-6
    phases = {phase["id"]: phase["count"] for phase in slow.analysis["phases"]}
    assert (phases["backward"], phases["optimizer"]) == (2 * STEPS, 2 * STEPS)
    assert phases["input"] >= 2 * STEPS


def test_torchrun_is_the_launcher_and_workers_are_no_ranks(slow: Outcome) -> None:
    run = slow.analysis["run"]
    assert (run["launcher"], run["ranks"], run["missing_ranks"]) == ("torchrun", 2, [])
    assert run["focus_kind"] == "communication_lifetime"
    assert run["throughput"]["steps"] == STEPS
    ranks, workers = slow.metadata("rank"), slow.metadata("worker")
    assert len(workers) == 4
    assert {worker["owner_pid"] for worker in workers} == {rank["pid"] for rank in ranks}
    assert [rank["agent_notes"] for rank in ranks] == [[], []]


def test_profiler_window_leaves_one_trace_a_rank(slow: Outcome) -> None:
    import gzip

    traces = sorted(slow.directory.glob("*/*.torch-trace.json.gz"))
    assert len(traces) == 2
    for path in traces:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        assert sum(str(e.get("name", "")).startswith("Optimizer.step") for e in events) == 3
    told = [rank["frameworks"]["torch"]["profiler"] for rank in slow.metadata("rank")]
    assert {(t["first_step"], t["steps"]) for t in told} == {(3, 3)}


@pytest.mark.long
def test_compiled_model_is_undisturbed(tmp_path: Path) -> None:
    """Started by mpirun: torchrun would load PyTorch once more for itself."""
    arguments = ("--steps", "12", "--slow-ms", "20", "--compile", "aot_eager", "--workers", "0")
    plain = run_ddp(tmp_path / "plain", *arguments, start="mpirun", recorded=False)
    recorded = run_ddp(tmp_path / "recorded", *arguments, start="mpirun")
    assert recorded.result == plain.result
    assert recorded.compiled == plain.compiled
    assert len(plain.compiled) == 2
    assert plain.compiled[0]["stats"]["unique_graphs"] > 0
    found = recorded.analysis["collectives"]["gradient_exchange"]
    assert found["exchanges"] == 12
    assert found["wait_s_by_rank"][0] == pytest.approx(
        median(own_waits_s(recorded, 0)), abs=AGREEMENT_S
    )


@pytest.mark.long  # tests/agent has accumulated steps and exchanges that wait for the last one
def test_gloo_under_mpirun_exchanges_once_per_accumulated_step(accumulating: Outcome) -> None:
    analysis = accumulating.analysis
    assert analysis["run"]["launcher"] == "mpirun (MPICH)"
    assert analysis["run"]["ranks"] == 2
    assert analysis["run"]["throughput"]["steps"] == 20
    found = analysis["collectives"]["gradient_exchange"]
    assert found["exchanges"] == 20
    phases = {phase["id"]: phase["count"] for phase in analysis["phases"]}
    assert phases["backward"] == 80
