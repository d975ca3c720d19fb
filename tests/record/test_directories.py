"""Where recordings go: never over another one, and never at the cost of the job."""

import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from perfscope.record.places import recorder_library
from perfscope.record.rundir import create_run_directory
from perfscope.record.summary import summarize
from tests.support.environments import Mpi
from tests.support.processes import perfscope_started
from tests.support.recording import Recorder, job_variables, perfscope_command, record_with
from tests.support.requirements import require_root, require_tool
from tests.support.waiting import wait_for_text

RANK = (
    "from mpi4py import MPI\n"
    "import time\n"
    "MPI.COMM_WORLD.Barrier()\n"
    "time.sleep(0.3)\n"
    "MPI.COMM_WORLD.Barrier()\n"
)


def in_private_mounts(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A shell script whose mounts nobody else sees."""
    require_root("mount a file system")
    unshare = require_tool("unshare")
    return subprocess.run(
        [unshare, "--mount", "--propagation", "private", "sh", "-euc", script],
        cwd=cwd,
        env=job_variables(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_directories_are_numbered(tmp_path: Path) -> None:
    made = [create_run_directory(tmp_path / "trace") for _ in range(3)]
    assert [path.name for path in made] == ["trace", "trace-2", "trace-3"]


def test_an_empty_directory_is_used_and_a_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    assert create_run_directory(tmp_path / "empty").name == "empty"
    assert create_run_directory(tmp_path / "file").name == "file-2"
    assert (tmp_path / "file").read_text(encoding="utf-8") == "kept"


def test_directories_claimed_at_once_are_all_different(tmp_path: Path) -> None:
    (tmp_path / "trace").mkdir()
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: create_run_directory(tmp_path / "trace"), range(40)))
    assert len(set(made)) == 40


def test_missing_parents_are_made(record: Recorder, tmp_path: Path) -> None:
    recorded = record(["true"], output=tmp_path / "runs" / "today" / "first")
    assert recorded.directory == tmp_path / "runs" / "today" / "first"
    assert recorded.run_file["exit_code"] == 0


def test_path_with_blanks_and_letters_beyond_ascii(
    any_mpi: Mpi, record: Recorder, tmp_path: Path
) -> None:
    place = tmp_path / "Läufe; no: 1 (größte)"
    place.mkdir()
    script = place / "trainiere überall.py"
    script.write_text(RANK, encoding="utf-8")
    words, variables = any_mpi.python_command(2, script), any_mpi.variables
    recorded = record(words, cwd=place, output=place / "spur ☂", variables=variables)
    assert recorded.exit_code == 0
    assert recorded.directory == place / "spur ☂"
    assert str(script) in recorded.run_file["command"]
    assert summarize(recorded.directory).ranks == 2


def test_an_installation_whose_path_has_blanks_is_still_loaded(tmp_path: Path) -> None:
    """The dynamic linker splits LD_PRELOAD at blanks: it must get another name of the library."""
    place = tmp_path / "my python: tools"
    place.mkdir()
    library = recorder_library()
    assert library is not None
    (place / library.name).symlink_to(library)
    job = [sys.executable, "-c", "import os; print(os.environ['LD_PRELOAD'])"]
    done = record_with(place / library.name, job, cwd=tmp_path)
    assert done.returncode == 0
    assert " " not in done.stdout.strip()
    assert done.stderr == ""
    assert summarize(tmp_path / "trace").processes >= 1


def test_two_jobs_at_once(mpich: Mpi, tmp_path: Path) -> None:
    command = mpich.python_command(2, "-c", RANK)
    with (
        perfscope_started(command, cwd=tmp_path) as first,
        perfscope_started(command, cwd=tmp_path) as second,
    ):
        assert first.wait(timeout=60) == second.wait(timeout=60) == 0
    for name in ("trace", "trace-2"):
        assert summarize(tmp_path / name).ranks == 2


def test_perfscope_inside_perfscope_records_its_own(mpich: Mpi, tmp_path: Path) -> None:
    inner = perfscope_command(
        "run", "--output", "inner", "--", *mpich.python_command(2, "-c", RANK)
    )
    outer = perfscope_command("run", "--output", "outer", "--", "sh", "-c", shlex.join(inner))
    done = subprocess.run(
        outer, cwd=tmp_path, env=job_variables(), capture_output=True, text=True, check=True
    )
    assert "perfscope: recorded 2 ranks in inner/" in done.stderr
    assert summarize(tmp_path / "inner").ranks == 2
    assert summarize(tmp_path / "outer").ranks == 0


def test_a_job_inside_a_job(mpich: Mpi, record: Recorder) -> None:
    inner = mpich.python_command(2, "-c", RANK)
    outer = f"import subprocess, sys; sys.exit(subprocess.call({inner!r}) + 5)"
    recorded = record([mpich.python, "-c", outer], variables=mpich.variables)
    assert recorded.exit_code == 5
    assert summarize(recorded.directory).ranks == 2


def test_directory_that_cannot_be_made_costs_the_recording_not_the_job(
    record: Recorder, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    recorded = record(["sh", "-c", "echo ran; exit 6"], output=tmp_path / "file" / "trace")
    assert (recorded.exit_code, recorded.stdout) == (6, "ran\n")
    told = recorded.stderr.splitlines()
    assert len(told) == 3
    assert told[0] == "perfscope: THIS RUN IS NOT RECORDED; the command starts all the same"


def test_read_only_directory(tmp_path: Path) -> None:
    perfscope = shlex.join(perfscope_command("run", "--", "sh", "-c", "echo ran; exit 6"))
    (tmp_path / "place").mkdir()
    done = in_private_mounts(
        f"mount -t tmpfs -o ro none place; cd place; exec {perfscope}", tmp_path
    )
    assert (done.returncode, done.stdout) == (6, "ran\n")
    assert "NOT RECORDED" in done.stderr
    assert "Read-only file system" in done.stderr


def test_full_disk(mpich: Mpi, tmp_path: Path) -> None:
    """Full before the start or while ranks run: the job never notices."""
    (tmp_path / "place").mkdir()
    command = mpich.python_command(2, "-c", RANK + "print('ran', flush=True)")
    perfscope = shlex.join(perfscope_command("run", "--", *command))
    for free_kib in (0, 4, 64, 512):
        script = (
            "mount -t tmpfs -o size=2m none place; cd place;"
            f"head -c {(2048 - free_kib) * 1024} /dev/zero > filler || true; exec {perfscope}"
        )
        done = in_private_mounts(script, tmp_path)
        assert (done.returncode, done.stdout) == (0, "ran\nran\n"), (free_kib, done.stderr)
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("count", "size"), [(8_000, "1m"), (8, "740k")], ids=["later", "first"])
def test_what_helps_where_records_find_no_room_is_told(
    mpich: Mpi, tmp_path: Path, count: int, size: str
) -> None:
    """Those that come later, or all of a rank, which then has no file to say so."""
    (tmp_path / "place").mkdir()
    calls = f"[MPI.COMM_WORLD.Barrier() for _ in range({count})]"
    command = mpich.python_command(2, "-c", f"from mpi4py import MPI\n{calls}")
    perfscope = shlex.join(perfscope_command("run", "--", *command))
    script = f"mount -t tmpfs -o size={size} none place; cd place; exec {perfscope}"
    done = in_private_mounts(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "the disk or its quota was full: not all records found room" in done.stderr
    assert "--max-size" in done.stderr
    assert "PERFSCOPE_LOCAL_DIR" in done.stderr
    assert done.stderr.splitlines()[-1].endswith("next: perfscope analyze trace/")


def test_a_run_directory_that_vanishes_costs_the_recording_not_the_job(
    mpich: Mpi, tmp_path: Path
) -> None:
    job = "import os, time\n" + RANK + "open('begun', 'w').write('yes')\n"
    job += "while not MPI.COMM_WORLD.bcast(os.path.exists('go on')):\n    time.sleep(0.01)\n"
    job += "MPI.COMM_WORLD.Abort(7) if MPI.COMM_WORLD.rank else time.sleep(60)\n"
    with perfscope_started(mpich.python_command(2, "-c", job), cwd=tmp_path) as process:
        wait_for_text(tmp_path / "begun")
        shutil.rmtree(tmp_path / "trace")
        (tmp_path / "go on").touch()
        _, told = process.communicate(timeout=60)
    assert process.returncode == 7
    assert "Traceback" not in told


def test_deleted_working_directory(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    run = shlex.join(perfscope_command("run", "--output", tmp_path / "trace", "--", "true"))
    done = subprocess.run(
        ["sh", "-c", f"cd {gone} && rmdir {gone} && exec {run}"],
        cwd=tmp_path,
        env=job_variables(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "trace" / "run.json").exists()
