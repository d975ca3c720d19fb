"""The walk-through of CONTRIBUTING.md makes a finding: one file, and it is in the document."""

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from perfscope import registry
from perfscope.schema.enums import Status
from tests.findings.analyzed import analyze, analyze_trace
from tests.findings.input_output.test_checkpoint_stall import saving
from tests.findings.training_runs import Plan
from tests.support.environments import REPOSITORY

HEADING = re.compile(r"### A finding: `(perfscope/\S+)`\s+```python\n(.*?)```", re.DOTALL)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The file of the walk-through as a module of the package that it names; gives its name."""
    found = HEADING.search((REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert found
    path = Path(found[1])
    (tmp_path / path.name).write_text(found[2], encoding="utf-8")
    package = importlib.import_module(".".join(path.parent.parts))
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    monkeypatch.setattr(package, path.stem, None, raising=False)
    monkeypatch.delitem(sys.modules, f"{package.__name__}.{path.stem}", raising=False)
    importlib.invalidate_caches()
    registry._loaded.cache_clear()
    yield path.stem
    registry._loaded.cache_clear()


def test_the_finding_is_in_the_document(written: str) -> None:
    """Every rank writes ten times for half a second; the last time nothing waits for it."""
    case = analyze_trace(saving((0, 1), save_s=0.5))
    finding = case.findings[written]
    assert (finding.status, finding.ranks) == (Status.FAIL, (0, 1))
    assert finding.gain_s == pytest.approx(5.0, abs=0.51)
    rows = case.document()["findings"]
    assert isinstance(rows, list)
    assert [row["gain_s"] for row in rows if row["id"] == written] == [finding.gain_s]


def test_it_is_quiet_where_there_is_nothing_to_tell(written: str) -> None:
    assert analyze(Plan(steps=10)).findings[written].status is Status.NOT_APPLICABLE
    little = analyze_trace(saving((0, 1), save_s=0.001)).findings[written]
    assert (little.status, little.title) == (Status.PASS, "Checkpoints cost little")
