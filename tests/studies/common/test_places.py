"""Where runs are looked for below a directory."""

from pathlib import Path

import pytest

from perfscope.errors import UsageError
from perfscope.studies.common import places
from perfscope.studies.common.places import find_runs, natural


def make_run(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "run.json").write_text("{}", encoding="utf-8")
    return path


def test_a_run_is_itself_and_a_directory_is_searched(tmp_path: Path) -> None:
    ten, two = make_run(tmp_path / "trace-10"), make_run(tmp_path / "trace-2")
    deep = make_run(tmp_path / "x" / "y" / "trace")
    make_run(tmp_path / "x" / "y" / "z" / "trace")  # too deep
    make_run(tmp_path / ".hidden")
    make_run(two / "inside")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "analysis.json").write_text("{}", encoding="utf-8")
    assert find_runs(two) == [two]
    assert find_runs(tmp_path) == [two, ten, tmp_path / "w", deep]


def test_what_holds_no_run_is_left_to_the_readers(tmp_path: Path) -> None:
    assert find_runs(tmp_path) == [tmp_path]
    assert find_runs(tmp_path / "missing") == [tmp_path / "missing"]


def test_too_many_runs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "MOST_RUNS", 1)
    for name in ("a", "b"):
        make_run(tmp_path / name)
    with pytest.raises(UsageError, match="more than 1 runs"):
        find_runs(tmp_path)


def test_names_are_ordered_as_people_count() -> None:
    names = ["r10", "r9", "r1", "r", "r1b", "٣"]
    assert sorted(names, key=natural) == ["r", "r1", "r1b", "r9", "r10", "٣"]
