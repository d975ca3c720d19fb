"""How many processes the kernel ended for want of memory while the job ran, on this host.

A process that is killed counts nothing any more, so that who started it has to look.
"""

from pathlib import Path, PurePosixPath

from perfscope.structures import dataclass

_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")
_NAME = "oom_kill"


@dataclass(frozen=True)
class KillCounter:
    """One counter of the kernel's."""

    file: Path  # where it stands
    # whose kills it counts: "group", of the widest control group in sight (a container sees its
    # own), or "host"
    scope: str

    def read(self) -> int | None:
        """What it stands at, None where it cannot be read."""
        try:
            lines = self.file.read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            return None
        for line in lines:
            name, _, text = line.partition(" ")
            if name == _NAME and text.isascii() and text.isdigit() and len(text) < 19:
                return int(text)
        return None


def kill_counter(*, proc: Path = _PROC, groups: Path = _GROUPS) -> KillCounter | None:
    """The counter to read before and after a job; None where the kernel has none.

    The widest group is taken, as batch systems put the ranks beside the launcher's group, and the
    count of a group includes those inside it.
    """
    for directory in _from_widest(proc, groups):
        found = KillCounter(directory / "memory.events", "group")
        if found.read() is not None:
            return found
    found = KillCounter(proc / "vmstat", "host")
    return found if found.read() is not None else None


def _from_widest(proc: Path, groups: Path) -> list[Path]:
    """The control group of this process (version 2) and all above it, the widest first."""
    try:
        lines = (proc / "self" / "cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    for line in lines.splitlines():
        if line.startswith("0::/"):
            path = PurePosixPath(line[4:])
            if ".." in path.parts:  # above what is mounted here
                return [groups]
            return [groups / parent for parent in reversed([path, *path.parents])]
    return []
