"""srun of a one-node Slurm, started for the test in a directory of its own."""

import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from perfscope.readers.registry import open_trace
from tests.support import environments
from tests.support.recording import Recorder
from tests.support.requirements import require_root, require_tool
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
CredType=cred/munge
SlurmctldPort={port}
SlurmdPort={node_port}
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
"""
RANK = """
from mpi4py import MPI
world = MPI.COMM_WORLD
for _ in range(20):
    total = world.allreduce(world.rank)
if world.rank == 0:
    print("total", total, world.size)
"""
PLUGINS = {"mpich": "pmi2", "openmpi": "pmix", "intelmpi": "pmi2"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, str], None, None]:
    """The variables with which srun finds a Slurm that is up."""
    require_root("run the daemons of Slurm")
    daemons = [require_tool(name) for name in ("munged", "slurmctld", "slurmd")]
    require_tool("srun")
    place = tmp_path_factory.mktemp("slurm")
    for name in ("state", "spool"):
        (place / name).mkdir()
    configuration = place / "slurm.conf"
    configuration.write_text(
        CONFIGURATION.format(
            host=socket.gethostname(),
            place=place,
            port=free_port(),
            node_port=free_port(),
            cpus=os.cpu_count(),
        ),
        encoding="utf-8",
    )
    variables = {**os.environ, "SLURM_CONF": str(configuration)}
    try:
        start(daemons, place, variables)
        yield {"SLURM_CONF": str(configuration)}
    finally:
        for name in ("slurmd.pid", "slurmctld.pid", "munged.pid"):
            end(place / name)


def start(daemons: list[Path], place: Path, variables: dict[str, str]) -> None:
    munged, controller, node = daemons
    key = place / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)
    files = {"key-file": "key", "socket": "socket", "log-file": "log", "seed-file": "seed"}
    options = [f"--{name}={place}/munge.{ending}" for name, ending in files.items()]
    commands = [
        [munged, "--force", f"--pid-file={place}/munged.pid", *options],
        [controller, "-f", place / "slurm.conf"],
        [node, "-f", place / "slurm.conf", "-N", socket.gethostname()],
    ]
    for command in commands:
        subprocess.run([str(word) for word in command], env=variables, check=True, timeout=60)

    def is_up() -> bool:
        told = subprocess.run(
            ["sinfo", "--noheader", "--format=%T"],
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        return told.stdout.strip() == "idle"

    wait_for("an idle node", is_up)


def end(pid_file: Path) -> None:
    """Ends a daemon that this test started."""
    if not pid_file.exists():
        return
    pid = int(pid_file.read_text(encoding="ascii"))
    try:
        os.kill(pid, signal.SIGTERM)
        for _ in range(100):
            os.kill(pid, 0)
            time.sleep(0.1)
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


@pytest.mark.parametrize("name", environments.MPI_NAMES)
def test_srun_starts_ranks_that_are_recorded(
    slurm: dict[str, str], name: str, record: Recorder
) -> None:
    mpi = environments.mpi(name)
    command = ["srun", "-n", "2", f"--mpi={PLUGINS[name]}", str(mpi.python), "-c", RANK]
    recorded = record(command, variables={**mpi.variables, **slurm})
    assert (recorded.exit_code, recorded.stdout) == (0, "total 1 2\n"), recorded.stderr
    trace = open_trace(recorded.directory)
    assert [rank.number for rank in trace.ranks] == [0, 1]
    assert trace.launcher == "srun"
    assert trace.environment["ranks_requested"] == 2


def test_exit_code_of_srun_is_kept(slurm: dict[str, str], record: Recorder) -> None:
    mpi = environments.mpi("mpich")
    command = ["srun", "-n", "2", "--mpi=pmi2", str(mpi.python), "-c", "raise SystemExit(7)"]
    assert record(command, variables=slurm).exit_code == 7


def test_export_none_is_said_before_the_start_with_the_words_that_help(
    slurm: dict[str, str], record: Recorder
) -> None:
    mpi = environments.mpi("mpich")
    program = ["-n", "2", "--mpi=pmi2", str(mpi.python), "-c", RANK]
    alone = record(["srun", "--export=NONE", *program], variables=slurm)
    assert alone.exit_code == 0
    assert "nothing was recorded" in alone.stderr
    [line] = [line for line in alone.stderr.splitlines() if "write srun --export=" in line]
    option = line.split("write srun ", 1)[1]
    helped = record(["srun", option, *program], variables=slurm)
    assert helped.exit_code == 0
    assert "recorded 2 ranks" in helped.stderr
