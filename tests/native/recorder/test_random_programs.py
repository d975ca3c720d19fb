"""Random programs: recording changes no result, and records every call once and rightly."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.native.recorder import running
from tests.native.recorder.decode import Record, Recording
from tests.native.recorder.random_programs import text
from tests.native.recorder.random_programs.calls import Comm, Truth
from tests.native.recorder.random_programs.program import Program, generate
from tests.native.recorder.test_direct import VARIANTS
from tests.support import environments
from tests.support.environments import Mpi
from tests.support.recording import run_plain
from tests.support.requirements import require_tool

RANKS = 3
POLLING = {"MPI_Test", "MPI_Iprobe"}
OUTSIDE = {"MPI_Init_thread", "MPI_Finalize"}
STARTING = {"MPI_Start_send", "MPI_Start_recv", "MPI_Irecv", "MPI_Isend", "MPI_Issend"}
SEEDS = range(2)
MANY_SEEDS = range(100, 116)


def build(program: Program, variant: str, directory: Path) -> tuple[Mpi, list[str | Path]]:
    """The library and the command of a program in C."""
    require_tool("cc")
    builder, wrapper, runner, _ = VARIANTS[variant]
    source, binary = directory / "program.c", directory / "program"
    source.write_text(text.c_source(program))
    compiler = environments.environment(builder).prefix / "bin" / wrapper
    flags = ["-pthread", "-w", "-O1"]
    subprocess.run([compiler, *flags, "-o", binary, source], check=True)
    return environments.mpi(runner), [binary]


def write(program: Program, name: str, directory: Path) -> tuple[Mpi, list[str | Path]]:
    """The library and the command of a program with mpi4py."""
    source = directory / "program.py"
    source.write_text(text.python_source(program))
    mpi = environments.mpi(name)
    return mpi, [mpi.python, source]


def check(
    program: Program, mpi: Mpi, command: list[str | Path], library: Path, directory: Path
) -> None:
    """Runs the program with and without the recorder and compares."""
    variables = {**mpi.variables, "LD_LIBRARY_PATH": str(mpi.environment.prefix / "lib")}
    started = mpi.command(RANKS, *command)
    plain = run_plain(started, cwd=directory, variables=variables)
    assert plain.returncode == 0, plain.stderr
    job = running.run(started, library, directory / "run", variables=variables)
    assert job.exit_code == 0, job.stderr
    assert sorted(job.stdout.split("\n")) == sorted(plain.stdout.split("\n"))
    assert len(job.recordings) == RANKS
    assert plain.stdout.count("\n") == RANKS
    for recording in job.recordings:
        check_rank(program, recording)
    check_identities(program, job.recordings)


def single(recording: Recording) -> list[Record]:
    """Records of calls, without those that stand for tests that found nothing."""
    return [
        record
        for record in recording.operations()
        if record.name not in OUTSIDE and not (record.name in POLLING and record.request)
    ]


def described(recording: Recording, record: Record) -> tuple[object, ...]:
    """A record in the terms of a truth."""
    known = recording.communicators.get(record.comm)
    members = known.members if known else None
    source = record.seq - (record.seq >> 31 << 32) if record.name == "MPI_Sendrecv" else None
    return (record.name, members, record.peer, record.tag, record.sent, record.received, source)


def expected(truth: Truth) -> tuple[object, ...]:
    """A truth in the terms of a record."""
    members = truth.comm.members if truth.comm else None
    peer, tag, source = truth.peer, truth.tag, truth.source
    return (truth.name, members, peer, tag, truth.sent, truth.received, source)


def by_thread(recording: Recording) -> dict[int, list[Record]]:
    """Calls of each thread in order."""
    threads: dict[int, list[Record]] = {}
    for record in single(recording):
        threads.setdefault(record.tid, []).append(record)
    return threads


def check_rank(program: Program, recording: Recording) -> None:
    """Every call of every thread is there once, with what it said."""
    threads = by_thread(recording)
    main = threads.pop(int(recording.header["main_tid"]))
    right = [expected(truth) for truth in program.truths(recording.rank)]
    assert [described(recording, record) for record in main] == right
    # thread ids are given again, so that one id may hold several threads, one after the other
    found = Counter(described(recording, r) for records in threads.values() for r in records)
    further = program.thread_truths(recording.rank)
    assert found == Counter(expected(truth) for truths in further for truth in truths)
    check_requests(recording)
    names = Counter(record.name for record in single(recording) if record.name not in POLLING)
    assert names == {n: recording.totals[n].count for n in names}
    assert recording.header["dropped"] == 0


def check_requests(recording: Recording) -> None:
    """Every request completes once, as what it was."""
    created = {
        record.request: described(recording, record)
        for record in single(recording)
        if record.name in STARTING or record.name[:5] == "MPI_I"
        if record.name not in POLLING
    }
    completed = [(r.request, described(recording, r)) for r in recording.completions()]
    assert sorted(completed) == sorted(created.items())


def check_identities(program: Program, recordings: list[Recording]) -> None:
    """One identity for each communicator, the same on all its members."""
    pairs: set[tuple[Comm, int]] = set()
    for recording in recordings:
        threads = by_thread(recording)
        main = threads[int(recording.header["main_tid"])]
        for truth, record in zip(program.truths(recording.rank), main, strict=True):
            if truth.comm:
                pairs.add((truth.comm, recording.communicators[record.comm].identity))
    assert len(pairs) == len({comm for comm, _ in pairs}) == len({number for _, number in pairs})


@pytest.mark.parametrize(
    "variant", ["mpich", "openmpi", pytest.param("intelmpi", marks=pytest.mark.long)]
)
def test_in_c(variant: str, library: Path, tmp_path: Path) -> None:
    program = generate(SEEDS[0], size=RANKS)
    check(program, *build(program, variant, tmp_path), library, tmp_path)


def test_with_mpi4py(each_abi: Mpi, library: Path, tmp_path: Path) -> None:
    program = generate(SEEDS[1], size=RANKS)
    check(program, *write(program, each_abi.name, tmp_path), library, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", MANY_SEEDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_many_in_c(seed: int, variant: str, library: Path, tmp_path: Path) -> None:
    program = generate(seed, size=RANKS, steps=150)
    check(program, *build(program, variant, tmp_path), library, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", MANY_SEEDS)
def test_many_with_mpi4py(seed: int, mpi: Mpi, library: Path, tmp_path: Path) -> None:
    program = generate(seed, size=RANKS, steps=150)
    check(program, *write(program, mpi.name, tmp_path), library, tmp_path)
