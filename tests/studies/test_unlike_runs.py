"""Runs that are not of one series: other programs and other thread counts are said first."""

from collections.abc import Sequence

import pytest

from perfscope.errors import UsageError
from perfscope.schema.history import History
from perfscope.studies.common.run import StudyRun
from perfscope.studies.compare import labels as compare_labels
from perfscope.studies.compare.compare import FACTOR
from perfscope.studies.compare.compare import body as compare_body
from perfscope.studies.compare.sides import make_side
from perfscope.studies.history import labels as history_labels
from perfscope.studies.history.history import body, groups
from perfscope.studies.scaling.document import verdict
from perfscope.studies.scaling.scaling import scaling
from perfscope.studies.scaling.series import Axis
from tests.support.study_runs import made_run


def run(
    label: str,
    seconds: float,
    *,
    ranks: int = 1,
    program: str = "train.py",
    pools: int | None = None,
    environment: dict[str, str] | None = None,
) -> StudyRun:
    """A run of some ranks, each with a pool of so many threads on 8 CPUs."""
    rows = [
        {"rank": n, "host": "node00", "cpus_allowed": "0-7", "pool_threads": pools}
        for n in range(ranks)
    ]
    made = made_run(
        label,
        focus_s=seconds,
        work_s=[0.9 * seconds] * ranks,
        step_s=seconds / 100,
        steps=100,
        more={"threads": {"ranks": rows}},
    )
    told = {"program": "python", "command": ["python", program], "start_unix_s": 1.8e9 + seconds}
    made.document["run"] |= told | {"environment": environment or {}}
    return made


@pytest.mark.parametrize("told", ["pools", "variables"])
def test_threads_of_the_same_ranks_are_no_repeats(told: str) -> None:
    def one(label: str, seconds: float, threads: int, ranks: int) -> StudyRun:
        if told == "pools":
            return run(label, seconds, ranks=ranks, pools=threads)
        variables = {"OMP_NUM_THREADS": str(threads)}
        return run(label, seconds, ranks=ranks, environment=variables)

    runs = [one("a", 8.0, 1, 1), one("b", 4.0, 1, 2), one("c", 2.5, 4, 2)]
    with pytest.raises(UsageError) as caught:
        scaling(runs)
    assert "b and c are both of 2 ranks, but no repeats" in caught.value.what
    assert "threads of a rank differ: 1 and 4" in caught.value.why
    study = scaling(runs, axis=Axis.THREADS)
    assert study.sizes == (1, 2, 8)
    assert study.whole.values[2].speedup == pytest.approx(3.2)


def test_runs_that_differ_in_threads_alone_scale_over_threads() -> None:
    runs = [run(str(n), seconds, pools=n) for n, seconds in ((1, 8.0), (2, 4.5), (4, 2.5))]
    study = scaling(runs)
    assert (study.axis, study.sizes) == (Axis.THREADS, (1, 2, 4))
    assert study.whole.values[1].speedup == pytest.approx(8 / 4.5)
    assert "from 1 thread to 4 threads" in verdict(study, ())[1]


def test_other_threads_at_each_size_are_said_first() -> None:
    """Four threads in all at each size: more ranks are not more of anything."""
    runs = [run(str(n), 8.0, ranks=n, pools=4 // n) for n in (1, 2, 4)]
    status, sentence = verdict(scaling(runs), ())
    assert status in {"warn", "fail"}
    assert sentence.startswith(
        "The ranks compute with different numbers of threads: 4 with 1 rank, 2 with 2 ranks, "
        "1 with 4 ranks."
    )
    alike = [run(str(n), 8.0 / n, ranks=n, pools=2) for n in (1, 2, 4)]
    assert "threads" not in verdict(scaling(alike), ())[1]


def history(
    runs: Sequence[StudyRun], *, ignore_command: bool = False
) -> tuple[History, tuple[str, str]]:
    found = body(groups(runs, ignore_command=ignore_command), runs)
    return found, history_labels.verdict(found)


@pytest.mark.parametrize("ignore_command", [False, True])
def test_a_history_of_other_programs_says_so_first(ignore_command: bool) -> None:
    runs = [run(f"a{n}", 10.0 + n / 100) for n in range(6)]
    runs += [run(f"b{n}", 20.0 + n / 100, program="serve.py") for n in range(6)]
    found, (status, sentence) = history(runs, ignore_command=ignore_command)
    who = "The runs of this trend" if ignore_command else "The runs"
    assert sentence.startswith(f"{who} are of different programs (serve.py, train.py). ")
    assert found.programs == ("serve.py", "train.py")
    if ignore_command:
        assert status in {"warn", "fail"}
    _, (_, alone) = history(runs[:6])
    assert "program" not in alone


def test_a_scaling_series_of_other_programs_says_so_first() -> None:
    runs = [run("a", 8.0, ranks=1), run("b", 4.0, ranks=2, program="serve.py")]
    status, sentence = verdict(scaling(runs), ())
    assert status == "warn"
    assert sentence.startswith("The runs are of different programs (serve.py, train.py). ")


@pytest.mark.parametrize("programs", [("train.py", "serve.py"), ("train.py", "train.py")])
def test_sides_that_mix_programs_say_so_first(programs: tuple[str, str]) -> None:
    sides = [
        make_side(
            label, [run(f"{label}{n}", 10.0 + n / 10, program=programs[n % 2]) for n in range(4)]
        )
        for label in ("before", "after")
    ]
    _, sentence = compare_labels.verdict(compare_body(sides, measure=None, factor=FACTOR))
    told = "Not like with like: The runs of each side are of different programs"
    assert sentence.startswith(told) is (programs[0] != programs[1])


def test_a_run_of_unknown_threads_is_a_repeat_of_one_where_they_are_known() -> None:
    runs = [run("a", 8.0, pools=None), run("b", 8.2, pools=2), run("c", 4.0, ranks=2, pools=2)]
    assert [len(point.runs) for point in scaling(runs, axis=Axis.RANKS).points] == [2, 1]
