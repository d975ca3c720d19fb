"""Horovod in real jobs: its own location, and the wait for a straggler without its timeline."""

import json
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import pytest

from tests.support.environments import REPOSITORY, environment
from tests.support.recording import Recorded, record_and_analyze, run_plain

TIMEOUT_S = 280.0
SLOW_MS = 50.0
STEPS = 30
AGREEMENT_S = 0.012
"""Both ranks compute after the moment that they note, and share two cores with all else."""


def command(script: str, *options: str | Path) -> list[str]:
    """Two ranks of an example in the environment with Horovod."""
    place = environment("horovod")
    start = [place.mpirun, "-n", 2, place.python, REPOSITORY / "examples" / script, *options]
    return [str(word) for word in start]


def record(
    directory: Path, script: str, *options: str | Path, **settings: Any
) -> tuple[Recorded, dict[str, Any]]:
    """A recorded example and its analysis."""
    return record_and_analyze(
        command(script, *options), place=directory, timeout_s=TIMEOUT_S, **settings
    )


@pytest.fixture(scope="module")
def straggler(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, dict[str, Any], list[float]]:
    """A recorded run in which rank 1 is late in each step, and by how much on the ranks' clock."""
    directory = tmp_path_factory.mktemp("straggler")
    log = directory / "log.jsonl"
    options = ("--slow-rank", "1", "--slow-ms", str(SLOW_MS), "--steps", str(STEPS // 2))
    done, analysis = record(directory, "horovod_mnist.py", *options, "--epochs", "2", "--log", log)
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    ready_s = [[line["ready_s"] for line in lines if line["rank"] == rank] for rank in (0, 1)]
    return done, analysis, [late - early for early, late in zip(*ready_s, strict=True)]


def test_the_wait_for_a_straggler_needs_no_timeline(
    straggler: tuple[Any, dict[str, Any], list[float]],
) -> None:
    _, analysis, late_s = straggler
    exposed = analysis["horovod"]["exposed"]
    assert exposed["reason"] is None
    waited, own = exposed["step_wait_s_median_by_rank"]
    assert len(exposed["steps"]) == len(late_s) == STEPS
    # Step by step: then it does not matter what else a busy machine did to the ranks.
    errors = [row[0] - late for row, late in zip(exposed["step_wait_s"], late_s, strict=True)]
    # what else a busy machine does to a rank comes in some steps, a wait told wrong in all
    assert quantiles(map(abs, errors), n=4)[0] < AGREEMENT_S
    assert waited == pytest.approx(median(late_s), abs=AGREEMENT_S)
    assert own < AGREEMENT_S
    late_arrival = analysis["collectives"]["late_arrivals"][0]
    assert late_arrival["rank"] == 1


def test_horovods_thread_is_a_location_of_its_own(
    straggler: tuple[Any, dict[str, Any], list[float]],
) -> None:
    _, analysis, _ = straggler
    start, end = analysis["run"]["focus_of_analysis_s"]
    for location in analysis["horovod"]["locations"]:
        whole = sum(location[key] for key in ("data_s", "control_s", "other_s", "idle_s"))
        assert whole == pytest.approx(end - start)
        assert location["control_cycles"] > STEPS
        # one allreduce of all gradients a step: 64x128 + 128x128 + 128x10 weights, and biases
        gradients = 4 * (64 * 128 + 128 + 128 * 128 + 128 + 128 * 10 + 10)
        assert location["fusion_bytes"]["most"] >= gradients
        assert location["data_calls"]["MPI_Allreduce"] >= STEPS
    # the ranks' own communication is what was exposed, not the life of the thread
    waits = analysis["collectives"]["wait_s_by_rank"]
    assert waits == pytest.approx(analysis["horovod"]["exposed"]["wait_s_by_rank"])
    assert analysis["replay"]["available"], analysis["replay"]["reason"]


def test_steps_epochs_and_versions(straggler: tuple[Any, dict[str, Any], list[float]]) -> None:
    done, analysis, _ = straggler
    assert analysis["run"]["throughput"]["steps"] == STEPS
    assert analysis["run"]["throughput"]["epoch_s_median"]["value"] > 0
    assert analysis["run"]["batch_size"] == 32
    assert analysis["run"]["versions"]["horovod"] == "0.28.1"
    metadata = [json.loads(file.read_text()) for file in done.directory.glob("*/*.json")]
    frameworks = [
        file["frameworks"] for file in metadata if file.get("frameworks", {}).get("keras")
    ]
    assert sorted(found["horovod"]["rank"] for found in frameworks) == [0, 1]
    for found in frameworks:
        assert found["horovod"]["size"] == 2
        assert found["horovod"]["optimizers"] == 1
        [rate] = found["horovod"]["learning_rates"]
        assert (rate["optimizer"], rate["default"]) == ("Adam", 0.001)
        assert rate["learning_rate"] == pytest.approx(0.002)  # of two ranks
        assert found["keras"]["version"].startswith("2.15.")
        assert found["tensorflow"]["build"]["is_cuda_build"] is False
        assert found["tensorflow"]["intra_op_threads"] == 1
        traced = {row["name"]: row["traces"] for row in found["tensorflow"]["tracing"]}
        assert traced["train_function"] >= 1


@pytest.mark.long
def test_recording_changes_no_result(
    straggler: tuple[Any, dict[str, Any], list[float]], tmp_path: Path
) -> None:
    done, _, _ = straggler
    options = ("--steps", str(STEPS // 2), "--epochs", "2")
    plain = run_plain(command("horovod_mnist.py", *options), cwd=tmp_path, timeout_s=TIMEOUT_S)
    assert plain.returncode == 0, plain.stderr
    assert plain.stdout == done.stdout


PROGRAM = REPOSITORY / "tests" / "programs" / "horovod_straggler.py"


def test_autograph_converts_below_a_recorded_call(tmp_path: Path) -> None:
    words: list[str | Path] = [environment("horovod").python, PROGRAM, "1", "0", tmp_path / "asked"]
    done, _ = record_and_analyze(words, place=tmp_path, timeout_s=TIMEOUT_S)
    assert done.stdout == "0 [2.0, 1.0]\n"


@pytest.mark.long
def test_the_wait_is_that_of_the_programs_own_clock(tmp_path: Path) -> None:
    words = command(str(PROGRAM), str(STEPS), str(SLOW_MS), tmp_path / "asked")
    done, analysis = record_and_analyze(words, place=tmp_path, timeout_s=TIMEOUT_S)
    assert sorted(done.stdout.splitlines()) == ["0 [2.0, 1.0]", "1 [2.0, 1.0]"]
    log = done.directory.with_name("asked")
    asked = [json.loads(log.with_suffix(f".{rank}").read_text()) for rank in (0, 1)]
    late_s = [late - early for early, late in zip(*asked, strict=True)]
    exposed = analysis["horovod"]["exposed"]
    waits_s = [row[0] for row in exposed["step_wait_s"]]
    assert len(waits_s) == STEPS
    errors = [abs(wait - late) for wait, late in zip(waits_s, late_s, strict=True)]
    assert median(late_s) >= SLOW_MS / 1000.0 - 0.003
    # Each rank sees its tensor in the cycle after the call: by default within a millisecond, where
    # the machine lets it. A wait told wrong is wrong in the steps without a disturbance, too.
    assert min(errors) < 0.003
    assert min(row[1] for row in exposed["step_wait_s"]) < 0.003


@pytest.mark.long
def test_without_readiness_bits_nothing_is_claimed(tmp_path: Path) -> None:
    cache = {"HOROVOD_CACHE_CAPACITY": "0"}
    _, analysis = record(tmp_path, "horovod_mnist.py", "--epochs", "1", variables=cache)
    assert "HOROVOD_CACHE_CAPACITY" in analysis["horovod"]["exposed"]["reason"]
    assert analysis["collectives"]["wait_s_by_rank"] == [0.0, 0.0]


@pytest.mark.long
def test_a_window_of_the_profiler_lies_beside_the_recording(tmp_path: Path) -> None:
    window = ("--tf-profiler", "5:7")
    done, analysis = record(tmp_path, "horovod_mnist.py", "--epochs", "1", options=window)
    profiles = sorted(done.directory.glob("*/*.tf-profile"))
    assert len(profiles) == 2
    for profile in profiles:
        assert list(profile.rglob("*.xplane.pb"))
    assert "user:TensorFlow profiler" in {phase["id"] for phase in analysis["phases"]}
    assert done.run_file["options"]["tf_profiler"] == [5, 6]
