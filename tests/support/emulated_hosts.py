"""Two hosts on one machine: host names and clocks of their own, and an empty environment."""

from pathlib import Path

from tests.support.environments import Mpi
from tests.support.requirements import require_root, require_tool

HOSTS = ("nodeA", "nodeB")
CLOCK_OFFSETS_S = {"nodeA": 7, "nodeB": 70}
_AGENT = """#!/bin/bash
# Called as `rsh OPTIONS HOST COMMAND...` by a launcher that starts something on another host.
while [[ "$1" == -* ]]; do case "$1" in -o|-p|-l) shift 2;; *) shift;; esac; done
host=$1; shift
case "$host" in {cases} *) shift_s=0;; esac
exec env -i PATH=/usr/bin:/bin HOME="$HOME" \\
    unshare --uts --time --monotonic "$shift_s" bash -c "hostname $host; $*"
"""


def start_agent(place: Path) -> Path:
    """The program that launchers start instead of ssh; needs root."""
    require_root("give a process a host name and a clock of its own")
    require_tool("unshare")
    cases = " ".join(f"{host}) shift_s={offset};;" for host, offset in CLOCK_OFFSETS_S.items())
    path = place / "rsh"
    path.write_text(_AGENT.format(cases=cases), encoding="utf-8")
    path.chmod(0o755)
    return path


def launcher_words(mpi: Mpi, agent: Path) -> list[str]:
    """What makes an mpirun start one rank on each of the hosts."""
    if mpi.name == "openmpi":
        hosts = ",".join(f"{host}:1" for host in HOSTS)
        return ["--prtemca", "plm_ssh_agent", str(agent), "-H", hosts, "-n", "2"]
    words = ["-hosts", ",".join(HOSTS), "-ppn", "1", "-n", "2"]
    if mpi.name == "mpich":
        return ["-launcher", "rsh", "-launcher-exec", str(agent), *words]
    return ["-bootstrap", "rsh", "-bootstrap-exec", str(agent), *words]


def command(mpi: Mpi, agent: Path, *program: str | Path) -> list[str]:
    """A command line that starts a program on both hosts."""
    return [str(mpi.environment.mpirun), *launcher_words(mpi, agent), *map(str, program)]
