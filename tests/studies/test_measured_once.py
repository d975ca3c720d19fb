"""Kept studies: measured once, and told again from what was kept."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from perfscope.schema.read import known
from perfscope.schema.study import Study
from perfscope.schema.write import as_json
from scripts import measured, study_words
from tests.support.environments import REPOSITORY

KEPT = sorted(
    path
    for path in REPOSITORY.glob("reports/studies/*/study.json")
    if not (path.parent / measured.FILE).exists()
)
"""Those that hold all that is known of them."""


def scaled(place: Path) -> str:
    command = [sys.executable, "-m", "perfscope", "scaling", "runs/a", "runs/b", "-o", "study"]
    subprocess.run(command, cwd=place, check=True, capture_output=True, timeout=300)
    return (place / "study" / "study.json").read_text(encoding="utf-8")


def test_a_study_is_told_again_without_its_recordings(tmp_path: Path) -> None:
    made, kept, again = (tmp_path / name for name in ("made", "kept", "again"))
    kept.mkdir()
    for name in ("a", "b"):
        shutil.copytree(REPOSITORY / "sample_traces" / "ddp_slow_rank", made / "runs" / name)
    told = scaled(made)
    measured.keep(made, kept, lambda _: None)
    assert measured.bring_back(kept, again)
    assert not list(again.rglob("*.psr"))
    assert {path.name for path in again.rglob("*") if path.is_file()} == {measured.ANALYSIS}
    assert scaled(again) == told


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.parent.name)
def test_kept_studies_say_what_perfscope_says_of_them_today(path: Path) -> None:
    """`make study-pages` was run after the last change of the words or rules of a study."""
    document = json.loads(path.read_text(encoding="utf-8"))
    assert as_json(study_words.anew(known(document, Study))) == document
