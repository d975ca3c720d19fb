"""Records mapped on the node and copied to the run directory, as on a network file system."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path

from perfscope.readers.registry import open_trace
from perfscope.schema.enums import EndKind, PhaseKind
from perfscope.trace.model import Trace
from tests.support.environments import Mpi
from tests.support.recording import (
    JOB_TIMEOUT_S,
    Recorded,
    Recorder,
    job_variables,
    perfscope_command,
)
from tests.support.requirements import require_root, require_tool

NO_MAPPINGS = Path(__file__).parents[1] / "programs" / "no_mappings.c"

BARRIERS = """
import os, sys, time
import perfscope
from mpi4py import MPI
world = MPI.COMM_WORLD
with perfscope.phase("train"):
    for _ in range(int(sys.argv[1])):
        world.Barrier()
"""
KILLED = (
    BARRIERS
    + """
time.sleep(2.5)
world.Barrier()
if world.rank == 1:
    while not os.path.exists('last'):  # the other rank is about to wait in its last call
        time.sleep(0.01)
    time.sleep(0.2)
    os.kill(os.getpid(), 9)
open('last', 'w').close()
world.Barrier()
"""
)
# Beyond one chunk of 4096 records, so that old ones are copied once and open ones again.
CALLS = 6_000


def recorded_locally(
    record: Recorder, mpi: Mpi, program: str, *, place: Path, calls: int = CALLS
) -> Recorded:
    place.mkdir()
    variables = {**mpi.variables, "PERFSCOPE_LOCAL_DIR": str(place), "PERFSCOPE_DRAIN_S": "1"}
    return record(mpi.python_command(2, "-c", program, str(calls)), variables=variables)


def barriers(trace: Trace) -> list[int]:
    return [int((rank.operations["op"] == 50).sum()) for rank in trace.ranks]


def test_everything_is_in_the_run_directory_in_the_end(
    record: Recorder, mpich: Mpi, tmp_path: Path
) -> None:
    place = tmp_path / "node"
    slow = BARRIERS.replace("world.Barrier()", "world.Barrier(); _ % 600 or time.sleep(0.2)")
    recorded = recorded_locally(record, mpich, slow, place=place)
    assert recorded.exit_code == 0, recorded.stderr
    assert list(place.iterdir()) == []
    trace = open_trace(recorded.directory)
    assert barriers(trace) == [CALLS, CALLS]
    for rank in trace.ranks:
        assert rank.ending.kind is EndKind.FINALIZED
        [phase] = rank.phases[rank.phases["kind"] == PhaseKind.TRAIN]
        assert phase["t1"] < rank.end_ns
        assert phase["t1"] - phase["t0"] > 1_500_000_000
    assert any("copied to the run directory every 1 s" in note for note in trace.notes)


def test_what_a_killed_rank_left_on_this_machine_is_brought_in(
    record: Recorder, mpich: Mpi, tmp_path: Path
) -> None:
    place = tmp_path / "node"
    recorded = recorded_locally(record, mpich, KILLED, place=place, calls=500)
    trace = open_trace(recorded.directory)
    assert [rank.ending.kind for rank in trace.ranks] == [EndKind.KILLED, EndKind.KILLED]
    assert barriers(trace) == [502, 501]
    assert list(place.iterdir()) == []


def test_what_lies_elsewhere_is_copied_every_few_seconds(
    record: Recorder, mpich: Mpi, tmp_path: Path
) -> None:
    """The leftovers are hidden from perfscope, as those of another node are."""
    moved = KILLED.replace("if world.rank == 1:", "if world.rank == 1:\n    time.sleep(1.5)")
    hidden = moved.replace(
        "    os.kill(",
        "    import glob\n"
        "    for path in glob.glob(os.environ['PERFSCOPE_LOCAL_DIR'] + '/perfscope-*'):\n"
        "        os.rename(path, path.replace('perfscope-', 'other-'))\n"
        "    os.kill(",
    )
    recorded = recorded_locally(record, mpich, hidden, place=tmp_path / "node", calls=500)
    trace = open_trace(recorded.directory)
    assert min(barriers(trace)) >= 500
    assert json.loads((recorded.directory / "run.json").read_text(encoding="utf-8"))["notes"]


def test_a_place_that_cannot_be_written_changes_nothing(record: Recorder, mpich: Mpi) -> None:
    variables = {**mpich.variables, "PERFSCOPE_LOCAL_DIR": "/proc/nowhere"}
    recorded = record(mpich.python_command(2, "-c", BARRIERS, "10"), variables=variables)
    assert recorded.exit_code == 0
    assert barriers(open_trace(recorded.directory)) == [10, 10]


def test_a_file_system_that_maps_no_files_is_recorded_to_all_the_same(
    record: Recorder, mpich: Mpi, tmp_path: Path
) -> None:
    place, library = tmp_path / "node", tmp_path / "no_mappings.so"
    place.mkdir()
    compiler = require_tool("cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, NO_MAPPINGS], check=True)
    refusing = {"LD_PRELOAD": str(library), "REFUSED_BELOW": str(tmp_path / "trace")}
    recorded = record(
        mpich.python_command(2, "-c", BARRIERS, "100"),
        variables={**mpich.variables, **refusing, "TMPDIR": str(place)},
    )
    assert recorded.exit_code == 0, recorded.stderr
    assert barriers(open_trace(recorded.directory)) == [100, 100]
    assert list(place.glob("perfscope-*")) == []


def test_records_without_room_stay_on_the_node_and_are_told(mpich: Mpi, tmp_path: Path) -> None:
    """Of a run directory whose quota is used up the records' beginning is there, and the end."""
    require_root("mount a small file system")
    unshare = require_tool("unshare")
    small, place, kept = tmp_path / "small", tmp_path / "node", tmp_path / "kept"
    for directory in (small, place):
        directory.mkdir()
    calls = 16_000
    job = mpich.python_command(2, "-c", BARRIERS, str(calls))
    command = perfscope_command("run", "--output", small / "trace", "--", *job)
    script = f"""
mount -t tmpfs -o size=1m none {shlex.quote(str(small))} || exit 99
{shlex.join(map(str, command))} || exit $?
cp -r {shlex.quote(str(small / "trace"))} {shlex.quote(str(kept))}
"""
    variables = {**mpich.variables, "PERFSCOPE_LOCAL_DIR": str(place), "PERFSCOPE_DRAIN_S": "1"}
    done = subprocess.run(
        [unshare, "--mount", "sh", "-c", script],
        env=job_variables(variables),
        capture_output=True,
        text=True,
        timeout=JOB_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "trace/ had no room for all records of" in done.stderr
    assert str(place) in done.stderr
    trace = open_trace(kept)
    assert [rank.ending.kind for rank in trace.ranks] == [EndKind.FINALIZED, EndKind.FINALIZED]
    assert sum(barriers(trace)) < 2 * calls
    for left in place.iterdir():
        name = left.name.removeprefix("perfscope-").rpartition("-")[0]
        (record,) = kept.glob(f"*/{name}.rec")
        for ending in (".rec", ".def"):
            shutil.copyfile(left / f"own{ending}", record.with_suffix(ending))
    assert barriers(open_trace(kept)) == [calls, calls]
