"""Ranks on other hosts, whose environment is empty, are recorded like those at home."""

from pathlib import Path

import pytest

from perfscope.readers.registry import open_trace
from tests.support import environments
from tests.support.hosts import on_hosts, remote_shell
from tests.support.recording import Recorder

SHIFTS_S = {"nodeA": 7, "nodeB": 70}

RANK = """
import socket
from mpi4py import MPI
world = MPI.COMM_WORLD
for _ in range(20):
    world.Barrier()
print(world.rank, socket.gethostname(), flush=True)
"""


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_ranks_of_both_hosts_are_recorded(name: str, record: Recorder, tmp_path: Path) -> None:
    mpi = environments.mpi(name)
    shell = remote_shell(tmp_path, SHIFTS_S)
    command = on_hosts(mpi, shell, [*SHIFTS_S], ranks_per_host=1, program=("-c", RANK))
    recorded = record(command, variables=mpi.variables)
    assert recorded.exit_code == 0, recorded.stderr
    assert sorted(recorded.stdout.splitlines()) == ["0 nodeA", "1 nodeB"]
    assert "recorded 2 ranks in trace/" in recorded.stderr
    trace = open_trace(recorded.directory)
    assert [(rank.number, rank.host) for rank in trace.ranks] == [(0, "nodeA"), (1, "nodeB")]
    for rank in trace.ranks:
        assert sum(total[0] for code, total in rank.totals.items() if code == 50) == 20


def test_open_mpi_in_a_script_leaves_ranks_out_and_perfscope_says_what_to_forward(
    record: Recorder, tmp_path: Path
) -> None:
    mpi = environments.mpi("openmpi")
    shell = remote_shell(tmp_path, SHIFTS_S)
    # One rank at home, so that there is somebody who knows how many there are.
    hosts = ("localhost", "nodeB")
    words = on_hosts(mpi, shell, hosts, ranks_per_host=1, program=(tmp_path / "rank.py",))
    (tmp_path / "rank.py").write_text(RANK, encoding="utf-8")
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/bash\n" + " ".join(words) + "\n", encoding="utf-8")
    script.chmod(0o755)
    recorded = record([script], variables=mpi.variables)
    assert recorded.exit_code == 0, recorded.stderr
    assert "perfscope: 1 of 2 ranks left no recording" in recorded.stderr
    forwarding = "mpirun -x LD_PRELOAD -x PYTHONPATH -x PERFSCOPE_DIR -x PERFSCOPE_RECORDER"
    assert forwarding in recorded.stderr
    [export] = [
        line.split("export ", 1)[1]
        for line in recorded.stderr.splitlines()
        if "export OMPI_MCA_mca_base_env_list=" in line
    ]
    value = export.split("=", 1)[1].strip("'")
    cured = record(
        [script],
        variables={**mpi.variables, "OMPI_MCA_mca_base_env_list": value.replace(";;", ";")},
    )
    assert "recorded 2 ranks" in cured.stderr, cured.stderr
