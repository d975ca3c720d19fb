"""How runs are read for a study: what counts as one, what is kept, what is refused."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from perfscope.document.analysis import analysis
from perfscope.errors import PerfscopeError, UnreadableInputError, UsageError
from perfscope.metrics.results import Options
from perfscope.readers.registry import open_trace
from perfscope.schema.common import NO_REASON, Metric
from perfscope.schema.read import read_analysis, read_known
from perfscope.schema.write import document_text
from perfscope.studies.common import cache, runs
from perfscope.studies.common.runs import labels, load_run, load_runs
from tests.support.environments import REPOSITORY
from tests.support.study_runs import made_run

SAMPLE = REPOSITORY / "sample_traces" / "rank_zero_evaluation"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording that may be written to."""
    return Path(shutil.copytree(SAMPLE, tmp_path / "recording"))


@pytest.fixture
def analyzed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The paths that were analyzed rather than taken from what was kept."""
    seen: list[Path] = []
    real = runs._analyze

    def watched(path: Path, options: Options) -> dict[str, Any]:
        seen.append(path)
        return real(path, options)

    monkeypatch.setattr(runs, "_analyze", watched)
    return seen


def test_a_recording_is_read_as_analyze_reads_it(recording: Path) -> None:
    run = load_run(recording)
    wanted = json.loads(document_text(analysis(open_trace(recording), Options())))
    assert run.document == wanted
    assert run.label == "recording"
    assert run.ranks == 2
    assert run.rank_numbers == (0, 1)
    evaluation = run.phase("evaluate")
    assert evaluation is not None
    assert evaluation.ranks == (0,)
    assert run.result == read_analysis(wanted)
    assert run.metric("parallel_efficiency").value == pytest.approx(0.78, abs=0.01)
    assert run.ledger_s["evaluation"] == pytest.approx(evaluation.seconds_by_rank[0], rel=1e-6)
    assert run.ending == ""


def test_a_second_study_does_not_analyze_again(recording: Path, analyzed: list[Path]) -> None:
    first, second = load_run(recording), load_run(recording)
    assert analyzed == [recording]
    assert first.document == second.document
    # results written beside it are no part of the recording
    (recording / "analysis.json").write_text("{}", encoding="utf-8")
    load_run(recording)
    assert len(analyzed) == 1


def test_what_was_kept_counts_only_for_the_same_files_and_options(
    recording: Path, analyzed: list[Path]
) -> None:
    load_run(recording)
    load_run(recording, options=Options(focus="1:2"))
    assert len(analyzed) == 2
    run_file = recording / "run.json"
    run_file.write_text(run_file.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    load_run(recording)
    assert len(analyzed) == 3


@pytest.mark.parametrize(
    "kept",
    [
        "",
        "{",
        '{"key": 1}',
        "[]",
        '{"key": "K", "document": {"run": 1}}',
        '{"key": "K", "document": {"schema_version": "1", "run": {"ranks": 2}}}',
    ],
)
def test_what_is_no_kept_result_is_ignored(recording: Path, kept: str) -> None:
    wanted = load_run(recording).document
    key = cache.key_of(recording, repr((None, ())))
    (recording / cache.DIRECTORY_CACHE).write_text(kept.replace("K", key), encoding="utf-8")
    assert load_run(recording).document == wanted


def test_what_is_kept_is_no_trace_of_another_tool(recording: Path) -> None:
    before = load_run(recording).document
    assert json.loads(document_text(analysis(open_trace(recording), Options()))) == before


def test_a_folder_that_cannot_be_written_to_is_read(
    recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_text", refuse)
    assert load_run(recording).ranks == 2


def test_a_folder_made_read_only_stays_as_it_is(recording: Path) -> None:
    """Also for root, whom its mode does not keep from writing."""
    recording.chmod(0o555)
    load_run(recording)
    assert not (recording / cache.DIRECTORY_CACHE).exists()
    recording.chmod(0o755)


def test_a_stored_result_and_a_folder_with_nothing_else(recording: Path, tmp_path: Path) -> None:
    document = load_run(recording).document
    kept = tmp_path / "report" / "analysis.json"
    kept.parent.mkdir()
    kept.write_text(document_text(document), encoding="utf-8")
    assert load_run(kept).document == document
    assert load_run(kept.parent).document == document
    with pytest.raises(UsageError, match="cannot be narrowed"):
        load_run(kept, options=Options(focus="1:2"))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"schema_version": "2"}, "schema '2'"),
        ({"tool": {"name": "other"}}, "written by other"),
        ({"run": {}}, "names no ranks"),
        ({"run": {"ranks": "four"}}, "'four' is no int"),
        ({"run": {"ranks": 10**400}}, "names no ranks"),
    ],
)
def test_a_result_of_another_version_is_refused(
    tmp_path: Path, change: dict[str, Any], why: str
) -> None:
    document = {"schema_version": "1", "tool": {"name": "perfscope"}, "run": {"ranks": 1}}
    path = tmp_path / "analysis.json"
    path.write_text(json.dumps(document | change), encoding="utf-8")
    with pytest.raises(UnreadableInputError) as caught:
        load_run(path)
    assert why in caught.value.why


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"run": {"ranks": 1, "wall_s": "long"}}, ".run.wall_s: 'long' is no float"),
        ({"run": {"ranks": 1, "wall_s": 10**400}}, ".run.wall_s: 100"),
        ({"run": {"ranks": 1, "hosts": {"name": []}}}, ".run.hosts: no list"),
        ({"metrics": {"load_balance": 0.5}}, ".metrics.load_balance: no object"),
        ({"metrics": {"load_balance": {"value": True}}}, ".load_balance.value: True is no float"),
        ({"findings": [{"id": "x", "status": "bad"}]}, ".findings[0].status: 'bad' is no Status"),
        ({"ledger": [[1]]}, ".ledger[0]: no object"),
        ({"threads": {"ranks": [{"rank": 0.5}]}}, ".threads.ranks[0].rank: 0.5 is no int"),
        ({"devices": []}, ".devices: no object"),
    ],
)
def test_what_is_of_another_kind_than_declared_is_refused_with_its_place(
    tmp_path: Path, change: dict[str, Any], why: str
) -> None:
    document = {"schema_version": "1", "tool": {"name": "perfscope"}, "run": {"ranks": 1}}
    path = tmp_path / "analysis.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert load_run(path).ranks == 1
    path.write_text(json.dumps(document | change), encoding="utf-8")
    with pytest.raises(UnreadableInputError) as caught:
        load_run(path)
    assert why in caught.value.why
    assert caught.value.action.startswith("Make it again")


@pytest.mark.parametrize(
    "text", ['{"schema_version": "1",', '{"schema_version": "1"} x', "[" * 9999]
)
def test_a_damaged_result_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "analysis.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PerfscopeError):
        load_run(path)


def test_each_run_once(recording: Path) -> None:
    with pytest.raises(UsageError, match="given twice"):
        load_runs([recording, recording / ".." / recording.name])
    with pytest.raises(UnreadableInputError, match="nothing at"):
        load_runs([recording, recording / "missing"])


def test_progress_names_each_run(recording: Path) -> None:
    told: list[str] = []
    load_runs([recording], progress=told.append)
    assert told == [f"Reading run 1 of 1: {recording}"]


def test_labels_are_short_and_tell_apart() -> None:
    assert labels([Path("runs/a"), Path("runs/b")]) == ["a", "b"]
    assert labels([Path("x/1/trace"), Path("x/2/trace")]) == ["1/trace", "2/trace"]
    assert labels([Path("x/1/analysis.json"), Path("x/2/analysis.json")]) == ["1", "2"]
    assert labels([Path("x/1/analysis.json")]) == ["1"]
    assert labels([Path("x/1"), Path("x/1/analysis.json")]) == ["x/1", "x/1/analysis.json"]


def test_threads_that_a_trace_shows_are_counted_for_each_rank() -> None:
    hardware = {"useful_s_by_thread": [1.0] * 6}
    run = made_run("hybrid", focus_s=2.0, work_s=[1.0, 1.0], more={"hardware": hardware})
    assert run.threads_per_rank == 3


def test_what_an_older_release_did_not_write_is_nothing_and_no_number() -> None:
    found = read_known({"run": {"ranks": 2}, "ledger": [{"id": "training"}]})
    assert found.run.ranks == 2
    assert found.run.batch_size is None
    assert math.isnan(found.run.wall_s)
    assert math.isnan(found.ledger[0].seconds)
    assert found.metrics.load_balance == Metric(None, "", NO_REASON)
    assert found.findings == ()
