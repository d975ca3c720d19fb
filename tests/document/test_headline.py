"""The efficiency that leads: of the devices where they were measured."""

import json
from pathlib import Path
from typing import Any

import pytest

from perfscope.cli.main import main
from perfscope.errors import ExitCode
from perfscope.schema.check import problems
from tests.support.write_kineto import KinetoWriter

END = 100_000_000


def profile(*, busy: float) -> KinetoWriter:
    """A host that waits for its device all the time, and a device that is busy for a share."""
    writer = KinetoWriter()
    writer.step(1, 0, END)
    if busy:
        writer.kernel("gemm", 1_000_000, 1_000_000 + round(busy * END), launch=500_000)
    writer.host_event("cudaDeviceSynchronize", 600_000, END, category="cuda_runtime")
    return writer


def judged(writer: KinetoWriter, place: Path, *options: str) -> tuple[int, dict[str, Any]]:
    path = writer.write(place / "rank0.json")
    code = main(["analyze", str(path), "-o", str(place / "out"), "--no-report", *options])
    document = json.loads((place / "out" / "analysis.json").read_text(encoding="utf-8"))
    assert list(problems(document)) == []
    return code, document


def test_a_busy_device_is_no_low_efficiency(tmp_path: Path) -> None:
    code, document = judged(profile(busy=0.97), tmp_path, "--fail-under", "0.9")
    assert code == ExitCode.OK
    leading = document["verdict"]["efficiency"]
    assert leading["id"] == "device_efficiency"
    assert leading["value"] == pytest.approx(0.97, abs=0.01)
    assert document["metrics"]["parallel_efficiency"]["value"] is None
    sentence = document["verdict"]["sentence"]
    assert "low efficiency" not in sentence
    assert "communication took" not in sentence
    assert "()" not in sentence


def test_an_idle_device_fails_and_says_what_was_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document = judged(profile(busy=0.2), tmp_path, "--fail-under", "0.9")
    assert code == ExitCode.GATE_FAILED
    assert "Gate failed: device efficiency 0.2" in capsys.readouterr().err
    assert "()" not in document["verdict"]["sentence"]


def test_a_profile_without_devices_says_so(tmp_path: Path) -> None:
    _, document = judged(profile(busy=0.0), tmp_path)
    assert document["verdict"]["efficiency"]["id"] == "parallel_efficiency"
    assert "No accelerator activity was recorded" in document["verdict"]["sentence"]
