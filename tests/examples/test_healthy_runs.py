"""Programs without a fault, ten recordings of each under three MPIs: no diagnosis fires."""

from pathlib import Path

import pytest

from benchmarks.gallery.cases import NEVER, POINTS
from benchmarks.gallery.healthy import COMPUTED
from tests.support import environments
from tests.support.environments import MPI_NAMES, REPOSITORY
from tests.support.recording import record_and_analyze

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

EXAMPLES = REPOSITORY / "examples"
REPEATS = 10
PROGRAMS: dict[str, tuple[str, ...]] = {
    "sleeping": ("train_numpy.py", *NEVER),
    "computing": ("train_numpy.py", *COMPUTED),
    "printing": ("faults/progress_output.py", "--epochs", "150", "--print-every", "30"),
}


def alarms(words: list[str], place: Path, variables: dict[str, str]) -> list[str]:
    """What one recording of a healthy program is accused of."""
    _, document = record_and_analyze(words, place=place, variables=variables)
    bad = {"fail", "warn", "error"}
    return [f"{f['id']}: {f['title']}" for f in document["findings"] if f["status"] in bad]


def none_in_ten(words: list[str], place: Path, variables: dict[str, str]) -> None:
    """No recording of several says a fault."""
    found = []
    for number in range(REPEATS):
        here = place / str(number)
        here.mkdir()
        found += alarms(words, here, variables)
    assert found == []


@pytest.mark.parametrize("name", MPI_NAMES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_no_false_alarm(name: str, program: str, tmp_path: Path) -> None:
    mpi = environments.mpi(name)
    script, *options = PROGRAMS[program]
    words = mpi.python_command(2, EXAMPLES / script, *options)
    none_in_ten(words, tmp_path, dict(mpi.variables))


@pytest.mark.parametrize("name", ["mpich", "intelmpi"])
def test_no_false_alarm_over_k_means(name: str, tmp_path: Path) -> None:
    """daal4py is built for MPICH's binary interface, which Intel MPI has, too, and Open MPI not."""
    daal = environments.environment("daal4py")
    program = [str(daal.python), str(EXAMPLES / "kmeans_daal4py.py"), *POINTS]
    if name == "mpich":
        none_in_ten([str(daal.mpirun), "-n", "2", *program], tmp_path, {})
        return
    intel = environments.mpi(name)
    library = intel.environment.prefix / "lib" / "libmpi.so.12"  # daal4py would load its own
    variables = {**intel.variables, "LD_PRELOAD": str(library)}
    none_in_ten(intel.command(2, *program), tmp_path, variables)
