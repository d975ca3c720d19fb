"""The walk-throughs of CONTRIBUTING.md, followed on a copy: what they add is in the document."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from perfscope import _core
from perfscope.errors import ExitCode
from perfscope.schema.enums import PhaseKind
from tests.cli.test_analyze import write_recording
from tests.support.environments import REPOSITORY

SECTION = r"### A {}: `(perfscope/\S+)`\n(.*?)(?=\n### )"
BLOCK = re.compile(r"```(python|diff)\n(.*?)```", re.DOTALL)
HUNK = re.compile(r"^@@\n", re.MULTILINE)


def follow(what: str, place: Path) -> None:
    """Does what a walk-through says on a copy of the package."""
    shutil.copytree(REPOSITORY / "perfscope", place / "perfscope")
    shutil.copy(_core.__file__, place / "perfscope")
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = re.search(SECTION.format(what), text, re.DOTALL)
    assert found
    new = place / found[1]
    for kind, block in BLOCK.findall(found[2]):
        if kind == "diff":
            for change in block.split("--- ")[1:]:
                apply(change, place)
            continue
        if not new.parent.exists():
            new.parent.mkdir()
            (new.parent / "__init__.py").touch()
        assert not new.exists()
        new.write_text(block, encoding="utf-8")


def apply(change: str, place: Path) -> None:
    """Makes the changes of one file; the lines that are there must be there once."""
    name, *hunks = HUNK.split(change)
    path = place / name.strip()
    text = path.read_text(encoding="utf-8")
    for hunk in hunks:
        before, after = (
            "".join(line[1:] for line in hunk.splitlines(keepends=True) if line[0] in signs)
            for signs in (" -", " +")
        )
        assert text.count(before) == 1, f"{name.strip()}: {before}"
        text = text.replace(before, after)
    path.write_text(text, encoding="utf-8")


def analyze(run: Path, place: Path) -> subprocess.CompletedProcess[str]:
    """What the copy says of a run; `-S` leaves out where perfscope is installed."""
    paths = os.pathsep.join((str(place), sysconfig.get_path("purelib")))
    return subprocess.run(
        [sys.executable, "-S", "-m", "perfscope", "analyze", str(run), "--json", "-o", str(place)],
        cwd=place,
        env=os.environ | {"PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def analyzed(run: Path, place: Path) -> dict[str, Any]:
    """The document that the copy makes of a run."""
    done = analyze(run, place)
    assert done.returncode == ExitCode.OK, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_a_finding_is_judged(tmp_path: Path) -> None:
    """Rank 0 writes four checkpoints of a second each while rank 1 waits."""
    follow("finding", tmp_path)
    write_recording(tmp_path / "trace", kind=PhaseKind.CHECKPOINT)
    rows = {row["id"]: row for row in analyzed(tmp_path / "trace", tmp_path)["findings"]}
    told = rows["slow_checkpoint"]
    assert told["status"] == "info", "perfscope has a finding of the same seconds"
    assert "has a finding of its own" in told["summary"]
    run = REPOSITORY / "sample_traces" / "rank_zero_evaluation"
    rows = {row["id"]: row for row in analyzed(run, tmp_path)["findings"]}
    assert rows["slow_checkpoint"]["status"] == "not_applicable"


def test_a_metric_is_in_the_document(tmp_path: Path) -> None:
    follow("metric", tmp_path)
    document = analyzed(REPOSITORY / "sample_traces" / "rank_zero_evaluation", tmp_path)
    rates = document["call_rate"]["per_s_by_rank"]
    assert len(rates) == document["run"]["ranks"]
    assert min(rates) > 0


def test_a_reader_opens_its_files(tmp_path: Path) -> None:
    follow("reader", tmp_path)
    lines = ["0 train 0 8", "0 evaluate 8 10", "1 train 0 10"]
    file = tmp_path / "run.txt"
    file.write_text("\n".join(["# intervals 1", *lines, ""]), encoding="utf-8")
    document = analyzed(file, tmp_path)
    spent = {phase["id"]: phase["seconds_by_rank"] for phase in document["phases"]}
    assert spent["evaluate"] == pytest.approx([2.0, 0.0])
    assert spent["train"] == pytest.approx([8.0, 10.0])
    file.write_text("\n".join(["# intervals 1", *lines])[:-3], encoding="utf-8")
    refused = analyze(file, tmp_path)
    assert refused.returncode == ExitCode.UNREADABLE
    assert len(refused.stderr.splitlines()) == 3
    assert f"{file} is damaged." in refused.stderr
