"""Wheels as they are handed out: for old distributions, and for machines without a network."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.environments import REPOSITORY
from tests.support.requirements import missing, require_tool

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]
SCRIPT = REPOSITORY / "scripts" / "make_wheels.py"
JOB = "import perfscope\nfor n in range(5):\n    perfscope.step(samples=2)\n"


def run(*command: str | Path) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_wheelhouse_installs_and_records_without_a_network(tmp_path: Path) -> None:
    run(sys.executable, SCRIPT, "--wheelhouse", "--output", tmp_path)
    [wheel] = tmp_path.glob("*.whl")
    assert re.search(r"-manylinux2014_\w+\.manylinux_2_17_\w+\.whl$", wheel.name)
    if os.geteuid() != 0:
        missing("root, for a namespace without a network")
    offline: list[str | Path] = [require_tool("unshare"), "--net"]
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    programs = tmp_path / "venv" / "bin"
    from_house: list[str | Path] = ["--no-index", "--find-links", tmp_path / "wheelhouse"]
    run(*offline, programs / "pip", "install", "-q", *from_house, "perfscope-hpc")
    (tmp_path / "job.py").write_text(JOB, encoding="utf-8")
    job = [programs / "python", tmp_path / "job.py"]
    run(*offline, programs / "perfscope", "run", "-o", tmp_path / "trace", "--", *job)
    told = run(*offline, programs / "perfscope", "analyze", tmp_path / "trace", "--json")
    assert json.loads(told)["steps"]["count"] == 5


def test_the_bill_of_materials_names_every_pinned_package(tmp_path: Path) -> None:
    run(sys.executable, SCRIPT, "--sbom", "--output", tmp_path)
    document = json.loads((tmp_path / "sbom.cdx.json").read_text(encoding="utf-8"))
    pinned = (REPOSITORY / "requirements" / "runtime.hashed.txt").read_text(encoding="utf-8")
    expected = set(re.findall(r"^([a-z0-9-]+)==([\w.]+)", pinned, re.MULTILINE))
    found = {(one["name"], one["version"]) for one in document["components"]}
    assert len(expected) >= 9
    assert expected == found
    assert all(one["externalReferences"][0]["hashes"] for one in document["components"])
    assert document["metadata"]["component"]["name"] == "perfscope-hpc"
