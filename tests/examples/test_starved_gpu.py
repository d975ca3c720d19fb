"""A job on a GPU that its DataLoader starves, and the cure: needs a GPU and a PyTorch for it."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.environments import REPOSITORY
from tests.support.recording import record_and_analyze

SCRIPT = REPOSITORY / "examples" / "faults" / "starved_gpu.py"
PYTHON = os.environ.get("PERFSCOPE_GPU_PYTHON", sys.executable)
"""A Python whose PyTorch can use the GPU of this machine."""
_ASK = "import torch; raise SystemExit(not torch.cuda.is_available())"


def has_gpu() -> bool:
    """Whether that Python can compute on a GPU."""
    if not Path("/dev/nvidiactl").exists():
        return False
    return subprocess.run([PYTHON, "-c", _ASK], capture_output=True, check=False).returncode == 0


def analyzed(place: Path, *arguments: str) -> tuple[dict[str, Any], float]:
    """The result document of a recorded run, and the seconds of its loop."""
    place.mkdir()
    done, document = record_and_analyze(
        [PYTHON, str(SCRIPT), "--steps", "400", *arguments],
        place=place,
        options=("--torch-profiler", "20:40"),
    )
    seconds = re.search(r"seconds ([0-9.]+)", done.stdout)
    assert seconds is not None
    return document, float(seconds[1])


def finding(document: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in document["findings"] if one["id"] == name]
    return dict(found)


@pytest.mark.long  # CI has no GPU and runs no long test: there is no skip that it would count
@pytest.mark.skipif(not has_gpu(), reason="needs an NVIDIA GPU and a PyTorch that can use it")
def test_a_starved_gpu_is_recognized_and_cured(tmp_path: Path) -> None:
    starved, slow_s = analyzed(tmp_path / "starved", "--workers", "0")
    idle = finding(starved, "idle_devices")
    assert idle["status"] == "fail"
    assert "while the host waits for input" in idle["title"]
    assert finding(starved, "data_stall")["status"] == "fail"
    (gpu,) = [one for one in starved["devices"]["sampled"]["gpus"] if one["ranks"] == [0]]
    assert gpu["uuid"].startswith(("GPU-", "MIG-"))
    cured, fast_s = analyzed(tmp_path / "cured", "--workers", str(min(16, os.cpu_count() or 1)))
    assert fast_s < slow_s
    assert "while the host waits for input" not in finding(cured, "idle_devices")["title"]
    predicted = finding(starved, "data_stall")["gain_s"]
    assert predicted == pytest.approx(slow_s - fast_s, rel=0.25)
