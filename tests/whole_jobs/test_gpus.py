"""From the driver to the document: two MPI ranks on two GPUs of a stand-in for NVIDIA's library."""

from pathlib import Path

from tests.support.environments import Mpi
from tests.support.nvml_mock import GIB, compile_mock, gpu_uuid
from tests.support.recording import record_and_analyze

PROGRAM = """
import os, time
from mpi4py import MPI
world = MPI.COMM_WORLD
with open(os.environ["NVML_MOCK_USERS"], "a") as users:
    users.write(f"{os.getpid()} {1 - world.rank}\\n")
world.Barrier()
time.sleep(1.5)
world.Barrier()
print("result of rank", world.rank)
"""


def test_ranks_meet_their_gpus(mpich: Mpi, tmp_path: Path) -> None:
    """Rank 0 uses GPU 1 and rank 1 GPU 0, as the driver's process lists show."""
    (tmp_path / "job.py").write_text(PROGRAM)
    variables = {
        **mpich.variables,
        "PERFSCOPE_NVML": str(compile_mock(tmp_path)),
        "NVML_MOCK_DEVICES": "2",
        "NVML_MOCK_USERS": str(tmp_path / "users"),
    }
    command = mpich.python_command(2, tmp_path / "job.py")
    done, document = record_and_analyze(
        command, place=tmp_path, options=("--gpu-hz", "10"), variables=variables
    )
    assert sorted(done.stdout.splitlines()) == ["result of rank 0", "result of rank 1"]
    sampled = document["devices"]["sampled"]
    assert [(gpu["uuid"], gpu["ranks"]) for gpu in sampled["gpus"]] == [
        (gpu_uuid(0), [1]),
        (gpu_uuid(1), [0]),
    ]
    for index, gpu in enumerate(sampled["gpus"]):
        assert gpu["known_by"] == "the driver's process list"
        assert abs(gpu["busy"] - (0.40 + index / 100)) < 1e-6
        assert gpu["memory_peak_bytes"] == (index + 1) * GIB
        assert gpu["memory_total_bytes"] == 80 * GIB
        assert gpu["samples"] >= 3
    assert sampled["gpus"][1]["throttled"] == {"hardware_thermal": 1.0}
    status = {finding["id"]: finding["status"] for finding in document["findings"]}
    assert status["gpu_utilization"] == "not_measured"  # too short to judge
    assert status["shared_gpus"] == "pass"
    assert status["gpu_memory"] == "pass"
    assert status["idle_devices"] == "not_measured"
