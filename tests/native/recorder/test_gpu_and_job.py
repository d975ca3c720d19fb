"""Sampling GPUs leaves a job as it is: exit code, forks and end, whatever the driver does."""

import sys
from pathlib import Path

import pytest

from tests.native.recorder import running
from tests.native.recorder.decode import Recording
from tests.native.recorder.test_gpu import DEVICE_PROCESS, devices, samples
from tests.support.nvml_mock import compile_mock, compile_runtime

EXIT_CODE = 7


@pytest.fixture(scope="module")
def mock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_mock(tmp_path_factory.mktemp("nvml"))


def recorded(
    library: Path, place: Path, mock: Path, job: str, *arguments: object, **variables: object
) -> running.Job:
    """A recorded job whose GPUs are sampled as often as can be."""
    values = {"PERFSCOPE_NVML": str(mock), "PERFSCOPE_GPU_HZ": "20"}
    values |= {name: str(value) for name, value in variables.items()}
    command: list[str | Path] = [sys.executable, running.JOBS / job, *map(str, arguments)]
    return running.run(command, library, place / "run", variables=values)


def of_sleeper(
    library: Path, place: Path, mock: Path, until: object, **variables: object
) -> Recording:
    done = recorded(library, place, mock, "gpu.py", 0, until, 1, **variables)
    [recording] = done.succeeded().recordings
    return recording


@pytest.mark.parametrize("lasts_ms", [1000, 20_000])
def test_an_end_while_the_driver_starts_keeps_the_exit_code(
    lasts_ms: int, library: Path, mock: Path, tmp_path: Path
) -> None:
    """The library's destructor would take away what the call works on."""
    done = recorded(
        library, tmp_path, mock, "gpu.py", 0, "alive", 1, EXIT_CODE, NVML_MOCK_INIT_MS=lasts_ms
    )
    assert (done.exit_code, done.stderr) == (EXIT_CODE, "")
    [recording] = done.recordings
    assert recording.header["exit_code"] == EXIT_CODE
    assert recording.header["exit_ns"] != 0
    assert [r for r in recording.records if r.op == 1]


def test_a_child_of_fork_can_use_the_driver_and_holds_no_claim(
    library: Path, mock: Path, tmp_path: Path
) -> None:
    """Without a pause around fork, two of three children would find the lock held."""
    variables = {"NVML_MOCK_READ_MS": 2, "NVML_MOCK_DEVICES": 16}
    done = recorded(library, tmp_path, mock, "gpu_forks.py", **variables).succeeded()
    assert int(done.stdout) <= 2
    [recording] = done.recordings
    assert samples(recording)


def test_many_processes_are_read_at_the_right_distance(
    library: Path, mock: Path, tmp_path: Path
) -> None:
    users = tmp_path / "users"
    pids = set(range(1001, 1101))
    users.write_text("".join(f"{pid} 0\n" for pid in sorted(pids)))
    recording = of_sleeper(library, tmp_path, mock, "users", NVML_MOCK_USERS=users)
    told = {record.seq for record in samples(recording, DEVICE_PROCESS)}
    assert told == pids | {recording.header["pid"]}


def test_a_process_that_loads_no_cuda_does_not_ask_the_driver(
    library: Path, mock: Path, tmp_path: Path
) -> None:
    runtime = compile_runtime(tmp_path)
    unused = of_sleeper(library, tmp_path / "cpu", mock, "1.2", PERFSCOPE_GPU_RUNTIME=runtime.name)
    assert devices(unused) == [{"reason": "no process of this rank has loaded CUDA"}]
    assert not samples(unused)
    used = of_sleeper(
        library,
        tmp_path / "gpu",
        mock,
        "sampled",
        PERFSCOPE_GPU_RUNTIME=runtime.name,
        JOB_LOADS=runtime,
    )
    assert samples(used)


def test_without_samples_of_the_process_the_reason_is_told(
    library: Path, mock: Path, tmp_path: Path
) -> None:
    recording = of_sleeper(library, tmp_path, mock, "0.8", PERFSCOPE_SAMPLE_HZ=0)
    [told] = devices(recording)
    assert "--sample-hz 0" in told["reason"]
