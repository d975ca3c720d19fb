"""What a directory lies on: a disk of this machine, memory, or a file server."""

import re
from pathlib import Path

from perfscope.structures import dataclass

_MOUNTS = Path("/proc/self/mountinfo")
# native/recorder/records/drain.c decides by the numbers that statfs gives for these.
_NETWORK = re.compile(
    r"nfs|cifs|smb|lustre|gpfs|mmfs|beegfs|ceph|k?afs|pvfs|orangefs|panfs|gfs2|ocfs2|9p|fuse"
    r"|wekafs|glusterfs"
)
_LOCAL_FUSE = ("fusectl", "fuse.overlayfs", "fuse-overlayfs", "fuse.lxcfs")


@dataclass(frozen=True)
class FileSystem:
    """Where files of a directory really are."""

    kind: str  # name of the file system, "unknown" when the system does not tell
    mounted_at: str  # the mount point

    @property
    def is_network(self) -> bool:
        """Whether a write may be a message to a server; FUSE counts, as nobody knows what it is."""
        return _NETWORK.match(self.kind) is not None and self.kind not in _LOCAL_FUSE


def file_system(path: Path) -> FileSystem:
    """The file system that a path, or its nearest existing parent, lies on."""
    place = path.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    return mounted_at(place.resolve())


def mounted_at(place: Path) -> FileSystem:
    """The file system that an absolute path without links lies on, without a look at the path."""
    best = FileSystem("unknown", "")
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return best
    for line in lines:
        before, separator, after = line.partition(" - ")
        fields = before.split()
        if not separator or len(fields) < 5:
            continue
        point = re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), fields[4])
        # Of mounts on the same point the last one is seen.
        if place.is_relative_to(point) and len(point) >= len(best.mounted_at):
            best = FileSystem(after.split()[0], point)
    return best
