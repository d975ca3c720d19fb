"""What truth.toml says of the unseen programs holds, and reports are judged by it as declared."""

from pathlib import Path

import pytest

from benchmarks.gallery.page_fault_cure import cure, said
from benchmarks.gallery.unseen_judging import Trial, judge, row, summary
from benchmarks.gallery.unseen_runs import PROGRAMS, Heard, Json, programs, run_program
from benchmarks.jobs import RunError

tomllib = pytest.importorskip("tomllib", reason="it came with Python 3.11")
TRUTH = tomllib.loads((PROGRAMS / "truth.toml").read_text(encoding="utf-8"))


def _source(name: str) -> str:
    return Path(PROGRAMS / f"{name}.py").read_text(encoding="utf-8")


def test_each_program_has_its_truth() -> None:
    """None is without, and none is of a program that is gone."""
    assert set(TRUTH) == {path.stem for path in PROGRAMS.glob("[a-z]*.py")}


@pytest.mark.parametrize("name", [name for name, truth in TRUTH.items() if "code" in truth])
def test_the_line_at_fault_stands_once_in_the_program(name: str) -> None:
    """So its number need not be written down, which every edit would make wrong."""
    source = _source(name)
    for code in (TRUTH[name]["code"], *TRUTH[name].get("also", ())):
        assert source.count(code) == 1
    assert all(f"def {function}(" in source for function in TRUTH[name]["functions"])
    assert '"--cured"' in source


PROGRAM = next(program for program in programs() if program.name == "courier")
LINE = PROGRAM.line


def _finding(*, line: int = 0, function: str = "", ranks: tuple[int, ...] = (1,)) -> Json:
    return {
        "id": "polling",
        "status": "warn",
        "title": "Rank 1 waits",
        "summary": "",
        "gain_s": 3.0,
        "gain_interval_s": [2.5, 3.5],
        "first_action": {"gain_s": 1.0},
        "ranks": list(ranks),
        "where": [{"file": "/somewhere/courier.py", "line": line, "function": function}],
    }


def _trial(*findings: Json, cured_s: float = 7.0) -> Trial:
    sick = Heard(list(findings), "A sentence", ["polling"], 10.0)
    return Trial(PROGRAM, [sick], [Heard([], "Nothing", [], cured_s)])


@pytest.mark.parametrize(
    "finding",
    [
        _finding(line=LINE),
        _finding(function="collect"),
        _finding(function="Some.collect"),
        {**_finding(), "title": f"Rank 1 sleeps (courier.py:{LINE})"},
    ],
)
def test_a_fault_is_named_by_its_function_or_its_line(finding: Json) -> None:
    """Also where only the words of the finding tell the line."""
    judged = judge(_trial(finding))
    assert (judged.named, judged.is_hit, judged.error) == ("verdict", True, 0.0)


@pytest.mark.parametrize(
    "finding",
    [
        _finding(line=1),
        _finding(function="simulate"),
        {**_finding(line=LINE), "status": "pass"},
        {**_finding(line=LINE), "where": [{"file": "other.py", "line": LINE, "function": "f"}]},
    ],
)
def test_another_function_or_a_silent_finding_does_not_count(finding: Json) -> None:
    """Nor does the right line of another file."""
    assert judge(_trial(finding)).named == "missed"


def test_only_the_first_place_counts() -> None:
    """The others are where the same time is spent, too: down to the line that starts all."""
    other, right = _finding(function="simulate"), _finding(line=LINE)
    assert judge(_trial({**other, "where": other["where"] + right["where"]})).named == "missed"


def test_the_rank_must_be_the_one_at_fault() -> None:
    """A finding about all ranks does not say which of them sleeps."""
    assert not judge(_trial(_finding(line=LINE, ranks=(0,)))).is_hit
    assert not judge(_trial(_finding(line=LINE, ranks=()))).is_hit


def test_the_gain_is_held_against_the_median_of_the_pairs() -> None:
    """The gain of the first action may be the right one, too."""
    assert judge(_trial(_finding(line=LINE), cured_s=9.0)).error == 0.0
    assert judge(_trial(_finding(line=LINE), cured_s=8.0)).error == pytest.approx(0.5)
    trial = _trial(_finding(line=LINE))
    more = Trial(PROGRAM, trial.sick * 3, [*trial.cured, *trial.cured, Heard([], "", [], 1.0)])
    assert more.gain_s == 3.0
    assert "within 10%" in row(more, judge(more))


def test_a_row_tells_how_much_of_the_time_the_report_shows_at_the_fault() -> None:
    """So a miss shows whether the time was not seen, or seen and not called a fault."""
    here = {**_finding(function="collect")["where"][0], "share": 0.4}
    there = {**_finding(function="simulate")["where"][0], "share": 0.5}
    sick = Heard([], "A sentence", [], 10.0, [here, there])
    trial = Trial(PROGRAM, [sick], [])
    assert "| 40% | missed |" in row(trial, judge(trial))


def test_no_gain_is_judged_on_a_machine_that_others_use() -> None:
    """What the runs took then says nothing about the program."""
    shared = Heard([_finding(line=LINE)], "A sentence", ["polling"], 10.0, others=0.3)
    judged = judge(Trial(PROGRAM, [shared], [Heard([], "Nothing", [], 7.0)]))
    assert (judged.named, judged.error) == ("verdict", None)


def test_no_recording_is_taken_for_another(tmp_path: Path) -> None:
    """perfscope would number the new one, and the old one would be analyzed."""
    with pytest.raises(RunError, match="there already"):
        run_program(PROGRAM, cured=False, place=tmp_path)


def test_the_sum_counts_each_kind() -> None:
    """Healthy programs are counted apart."""
    found = [judge(_trial(_finding(line=LINE))), judge(_trial())]
    well = next(program for program in programs() if not program.code)
    quiet = judge(Trial(well, [Heard([], "Nothing", [], 5.0)], []))
    assert summary([*found, quiet]).startswith("1 of 2 faults named, 1 by the verdict, 1 on the")
    assert summary([*found, quiet]).endswith("1 of 1 healthy programs without a finding.")


def test_what_is_said_of_page_faults_is_read_by_rank_and_with_its_cure() -> None:
    """Both ranks lose 3 s each, of which the finding claims 2 s."""
    entries = [{"kind": "page_faults", "own_ns": 6_000_000_000}, {"kind": "waiting", "own_ns": 1}]
    loud = [{"id": "page_faults", "status": "fail", "gain_s": 2.0}]
    assert said(Heard(loud, "", [], 10.0, losses=entries), ranks=2) == (3.0, 2.0)
    assert said(Heard([], "", [], 10.0), ranks=2) == (0.0, None)
    names = ["MMAP_THRESHOLD", "TRIM_THRESHOLD", "TOP_PAD"]
    assert list(cure()) == [f"MALLOC_{name}_" for name in names]
