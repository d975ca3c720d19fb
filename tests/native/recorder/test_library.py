"""The library as a file: what it needs, how it compiles, the numbers of its format."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.native.recorder import decode, running
from tests.native.recorder.conftest import Start
from tests.support import environments
from tests.support.environments import REPOSITORY, Mpi
from tests.support.requirements import require_tool

SOURCES = REPOSITORY / "native" / "recorder"
NEWEST_GLIBC = (2, 17)


def output(*command: str | Path) -> str:
    """What a command prints."""
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=True
    ).stdout


def test_nothing_newer_than_glibc_2_17_is_needed(library: Path) -> None:
    symbols = output(require_tool("objdump"), "-T", library)
    needed = re.findall(r"\*UND\*.*\(?GLIBC_([0-9.]+)\)?\s+(\S+)", symbols)
    assert len(needed) > 20
    newer = [
        (version, name)
        for version, name in needed
        if tuple(int(part) for part in version.split(".")) > NEWEST_GLIBC
    ]
    assert newer == []


def test_what_is_exported(library: Path) -> None:
    table = output(require_tool("nm"), "-D", "--defined-only", library)
    names = {line.split()[-1] for line in table.splitlines()}
    watched = {
        "wait",
        "wait3",
        "wait4",
        "waitid",
        "waitpid",
        "_exit",
        "_Exit",
        "sigaction",
        "signal",
        "sigprocmask",
        "pthread_sigmask",
        "fopen64",
        "ncclProfiler_v4",
        "ncclProfiler_v5",
        "__asan_default_options",
    }
    foreign = {n for n in names if not n.startswith(("MPI_", "ps_"))} - watched
    assert foreign == set()
    # mpi4py asks for this one to find out which library it has.
    assert "MPI_Get_version" not in names
    assert not {n for n in names if n.startswith("PMPI_")}
    starts = {"MPI_Start_send", "MPI_Start_recv"}  # forms of MPI_Start
    functions = {name for name in decode.OPERATION_NAMES.values() if name.startswith("MPI_")}
    assert functions - starts <= names
    header = (SOURCES / "perfscope_recorder.h").read_text()
    declared = set(re.findall(r"\b(ps_\w+)\(", header))
    assert declared == {n for n in names if n.startswith("ps_")}


def test_it_loads_where_every_symbol_is_bound_at_once(library: Path) -> None:
    done = subprocess.run(
        [require_tool("true")],
        env={"LD_PRELOAD": str(library), "LD_BIND_NOW": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_source_is_built() -> None:
    listed = re.findall(r"^  ([\w/]+\.c)$", (SOURCES / "CMakeLists.txt").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(str(one.relative_to(SOURCES)) for one in SOURCES.rglob("*.c"))


LAYOUT = """
#include <stddef.h>
#include <stdio.h>
#include "format.h"
int main(void) {
    printf("%zu %zu %zu %zu\\n", sizeof(ps_record), sizeof(ps_total), sizeof(ps_thread),
           sizeof(ps_header));
#define AT(field) printf(#field " %zu\\n", offsetof(ps_header, field));
FIELDS
}
"""


def test_the_layout_is_the_one_that_is_documented(tmp_path: Path) -> None:
    source = tmp_path / "layout.c"
    fields = [*decode.HEADER_FIELDS, "totals", "threads", "thinning"]
    source.write_text(LAYOUT.replace("FIELDS", "".join(f"AT({name})" for name in fields)))
    program = tmp_path / "layout"
    subprocess.run([require_tool("cc"), "-I", SOURCES, "-o", program, source], check=True)
    sizes, *lines = output(program).splitlines()
    offsets = {name: int(at) for name, at in (line.split() for line in lines)}
    assert sizes.split()[:3] == ["64", "32", "48"]
    assert decode.RECORD.size == 64
    assert offsets["totals"] == decode.HEADER.size
    assert offsets["threads"] == decode.HEADER.size + 256 * decode.TOTAL.size
    assert offsets["thinning"] == offsets["threads"] + 256 * decode.THREAD.size
    assert int(sizes.split()[3]) <= 65536
    assert (offsets["boot_id"], offsets["rank"], offsets["capacity"]) == (64, 168, 192)


SECOND = """
#include <stdio.h>
int PMPI_Barrier(void *);
int MPI_Barrier(void *comm) {
    fprintf(stdout, "second\\n");
    return PMPI_Barrier(comm);
}
"""


def test_another_preloaded_tool_still_sees_its_calls(
    mpich: Mpi, library: Path, tmp_path: Path
) -> None:
    second, program = tmp_path / "libsecond.so", tmp_path / "direct"
    source = tmp_path / "second.c"
    source.write_text(SECOND)
    compiler = mpich.environment.prefix / "bin" / "mpicc"
    require_tool("cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-w", "-o", second, source], check=True)
    subprocess.run([compiler, "-w", "-o", program, running.JOBS / "direct.c"], check=True)
    variables = {**mpich.variables, "LD_PRELOAD": f"{library}:{second}"}
    command = mpich.command(2, program, "0")
    job = running.run(command, library, tmp_path / "run", variables=variables).succeeded()
    assert job.stdout.count("second") == 2
    assert all(len(r.operations("MPI_Barrier")) == 1 for r in job.recordings)


@pytest.fixture(scope="module")
def sanitized() -> Path:
    """The library with the sanitizers; `make test` builds it as well, perhaps at this moment."""
    build = REPOSITORY / "build" / "sanitize"
    build.mkdir(parents=True, exist_ok=True)
    tools = Path(sys.executable).parent
    path = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    options = ("-G", "Ninja", "-DPERFSCOPE_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=Debug")
    for command in (
        (tools / "cmake", "-S", REPOSITORY, "-B", build, *options),
        (tools / "cmake", "--build", build, "--target", "perfscope_recorder"),
    ):
        alone = ("flock", build, *command)
        subprocess.run(alone, env=path, check=True, stdout=subprocess.DEVNULL)
    return build / "libperfscope_recorder.so"


SANITIZED = [
    pytest.param(name, program, marks=[pytest.mark.long] if name == "intelmpi" else [])
    for name in environments.MPI_NAMES
    for program in ("families.py", "threads.py 20", "forking.py")
    if (name, program) != ("mpich", "families.py")  # scripts/sanitize.sh runs it
]


@pytest.mark.parametrize(("name", "program"), SANITIZED)
def test_sanitizers_find_nothing(name: str, sanitized: Path, program: str, tmp_path: Path) -> None:
    mpi = environments.mpi(name)
    compiler = require_tool("cc")
    runtime = Path(output(compiler, "-print-file-name=libasan.so").strip())
    # Leaks are those of Python and of the MPI library; the checks of this test are ours.
    variables = {
        **mpi.variables,
        "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",  # three ranks on two cores: who waits has to sleep
        "LD_PRELOAD": f"{runtime}:{sanitized}",
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=66",
    }
    command = mpi.python_command(
        3, running.JOBS / program.split(maxsplit=1)[0], *program.split()[1:]
    )
    job = running.run(command, sanitized, tmp_path / "run", variables=variables)
    assert (job.exit_code, "runtime error" in job.stderr) == (0, False), job.stderr
    assert len(job.recordings) == 3


def test_a_call_that_the_library_lacks_is_an_error_and_not_a_crash(
    library: Path, tmp_path: Path
) -> None:
    program = f"import ctypes; print(ctypes.CDLL({str(library)!r}).MPI_Comm_idup(0, 0, 0))"
    job = running.run([sys.executable, "-c", program], library, tmp_path / "run").succeeded()
    assert int(job.stdout) > 0


def test_counts_that_an_old_library_cannot_take_are_refused(start: Start, openmpi: Mpi) -> None:
    start(openmpi, 1, "large_counts.py").succeeded()


@pytest.fixture
def openmpi() -> Mpi:
    """The library without large-count functions."""
    return environments.mpi("openmpi")


def test_the_shell_between_launcher_and_rank_is_harmless(
    mpich: Mpi, library: Path, tmp_path: Path
) -> None:
    inner = shlex.join([str(mpich.python), str(running.JOBS / "calls.py"), "3", "0"])
    command = mpich.command(2, "sh", "-c", f"false; {inner}; exit 4")
    job = running.run(command, library, tmp_path / "run", variables=mpich.variables)
    assert len(job.recordings) == 2
    assert all(r.header["exit_code"] == 0 for r in job.recordings)
