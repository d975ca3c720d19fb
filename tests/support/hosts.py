"""Several hosts on one machine: a remote shell that starts commands in namespaces of their own."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.environments import Mpi
from tests.support.requirements import missing, require_root, require_tool

_SHELL = """#!/bin/bash
# usage as ssh: [options] host command...
while [[ "$1" == -* ]]; do case "$1" in -o|-p|-l) shift 2;; *) shift;; esac; done
host=$1; shift
case "$host" in
{shifts}
*) echo "no such host: $host" >&2; exit 255;;
esac
exec env -i PATH=/usr/bin:/bin HOME="$HOME" unshare --uts --time --monotonic "$shift_s" \\
 --boottime "$shift_s" bash -c 'hostname "$1"; eval "$2"' bash "$host" "$*"
"""


def remote_shell(directory: Path, shifts_s: Mapping[str, int]) -> Path:
    """A program like ssh to hosts that exist only as namespaces.

    They have a name, an almost empty environment, and a monotonic clock that is ahead by so many
    seconds; the wall clock is that of this machine.
    """
    require_root("make namespaces")
    require_tool("unshare")
    if not Path("/proc/self/ns/time").exists():
        missing("time namespaces (Linux 5.6)")
    cases = "\n".join(f"{host}) shift_s={seconds};;" for host, seconds in shifts_s.items())
    shell = directory / "remote_shell"
    shell.write_text(_SHELL.format(shifts=cases))
    shell.chmod(0o755)
    return shell


def on_hosts(
    mpi: Mpi,
    shell: Path,
    hosts: Sequence[str],
    *,
    ranks_per_host: int,
    program: Sequence[str | Path],
) -> list[str]:
    """A command line that starts a Python program on some hosts, host after host."""
    each = ranks_per_host
    if mpi.name == "openmpi":
        names = ",".join(f"{host}:{each}" for host in hosts)
        by_node = ["--map-by", f"ppr:{each}:node"]
        placed = [*mpi.arguments, "--host", names, *by_node, "--mca", "plm_rsh_agent", shell]
    else:
        launcher = "-bootstrap-exec" if mpi.name == "intelmpi" else "-launcher-exec"
        placed = ["-hosts", ",".join(hosts), "-ppn", each, launcher, shell]
    start = [mpi.environment.mpirun, *placed, "-n", each * len(hosts), mpi.python, *program]
    return [str(word) for word in start]
