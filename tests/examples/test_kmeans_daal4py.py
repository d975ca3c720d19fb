"""daal4py over MPI: the example computes the same however it is run; its phases are recorded."""

from collections.abc import Callable
from pathlib import Path

import pytest

from perfscope.readers.registry import open_trace
from perfscope.schema.enums import PhaseKind
from tests.support.environments import REPOSITORY, Environment
from tests.support.recording import Recorder, analysis_of, run_plain
from tests.support.requirements import missing

SCRIPT = REPOSITORY / "examples" / "kmeans_daal4py.py"
SMALL = ("--points", "20000", "--threads", "1", "--rounds", "3", "--iterations", "10")
ALGORITHMS = {
    "kmeans": PhaseKind.TRAIN,
    "linear_regression_training": PhaseKind.TRAIN,
    "linear_regression_prediction": PhaseKind.PREDICT,
}
CUSTOM = """
import pickle, daal4py
from daal4py import kmeans
from daal4py import _daal4py
assert kmeans is daal4py.kmeans is _daal4py.kmeans
assert kmeans.__name__ == "kmeans" and kmeans.__module__ == "daal4py._daal4py"
assert isinstance(kmeans(2, 1), kmeans)
try:
    kmeans(2, 1).compute("no table", None)
except Exception as error:
    print(type(error).__name__)
"""


@pytest.fixture
def daal(environment: Callable[[str], Environment]) -> Environment:
    found = environment("daal4py")
    if not any(found.prefix.glob("lib/python3*/site-packages/daal4py")):
        missing("daal4py, which has no release for Python 3.13 and newer")
    return found


def command(daal: Environment, ranks: int, *options: str) -> list[str]:
    start = [daal.mpirun, "-n", str(ranks), daal.python, SCRIPT, *SMALL, *options]
    return [str(word) for word in start]


def test_two_recorded_ranks_compute_what_one_does(
    daal: Environment, record: Recorder, tmp_path: Path
) -> None:
    recorded = record(command(daal, 2))
    alone = run_plain(command(daal, 1), cwd=tmp_path)
    assert recorded.exit_code == 0, recorded.stderr
    assert recorded.stdout.replace("ranks 2", "ranks 1") == alone.stdout
    trace = open_trace(recorded.directory)
    assert [rank.number for rank in trace.ranks] == [0, 1]
    for rank in trace.ranks:
        names = [trace.names[number] for number in rank.phases["name"]]
        kinds = dict(zip(names, map(PhaseKind, rank.phases["kind"]), strict=True))
        assert {name: names.count(name) for name in ALGORITHMS} == dict.fromkeys(ALGORITHMS, 3)
        assert {name: kinds[name] for name in ALGORITHMS} == ALGORITHMS
        facts = rank.metadata["frameworks"]["daal4py"]
        assert (facts["threads"], facts["pool"], facts["version"]) == (1, "TBB", "2024.7.0")


@pytest.mark.long
def test_the_rank_with_more_rows_works_longer(daal: Environment, record: Recorder) -> None:
    recorded = record(command(daal, 2, "--skew", "0.6", "--points", "300000", "--rounds", "8"))
    document = analysis_of(recorded.directory)
    [predict] = [phase for phase in document["phases"] if phase["id"] == "predict"]
    first, second = predict["seconds_by_rank"]
    assert first > second > 0
    first, second = document["metrics"]["useful_s_by_rank"]
    assert first > second


def test_algorithms_stay_what_they_are(daal: Environment, record: Recorder, tmp_path: Path) -> None:
    words = [str(daal.python), "-c", CUSTOM]
    recorded = record(words)
    plain = run_plain(words, cwd=tmp_path)
    assert (recorded.exit_code, recorded.stdout) == (plain.returncode, plain.stdout)
    assert plain.returncode == 0, plain.stderr
