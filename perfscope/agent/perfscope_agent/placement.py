"""Where the process has its memory, its main thread and its files; looked at rarely.

NUMA is looked at only where the machine has several nodes. The kernel walks all pages of a process
to tell on which node each lies, so a very large process is left alone.
"""

from __future__ import annotations

import os
import resource
import sys

from . import metadata, notes, topology
from .kinds import Any, Callable

_PROC = "/proc/self"
_MOST_RESIDENT_BYTES = 16 << 30  # 0.2 s with pages of 4 KiB, at 14 ms/GiB
_MOST_PLACES = 64
_PSEUDO = frozenset(
    """
    proc sysfs devtmpfs devpts cgroup cgroup2 mqueue debugfs tracefs securityfs pstore bpf hugetlbfs
    configfs fusectl autofs binfmt_misc nsfs ramfs rpc_pipefs
    """.split()
)
"""File systems that hold no data of a program."""


class _Moves:
    """How often the main thread was seen on another NUMA node than before."""

    def __init__(self) -> None:
        self.node_of: dict[int, str] = {}
        self.node = ""
        self.count = 0

    def look(self) -> None:
        """One look at the CPU on which the main thread ran last."""
        with open("%s/task/%d/stat" % (_PROC, os.getpid()), "rb") as stream:
            cpu = int(stream.read().rpartition(b")")[2].split()[36])
        node = self.node_of.get(cpu, "")
        if node and self.node and node != self.node:
            self.count += 1
        self.node = node or self.node


_moves = _Moves()


def begin(nodes: dict[str, str]) -> bool:
    """Gets ready on a machine with these NUMA nodes; whether the main thread is to be watched."""
    _moves.node_of = {cpu: node for node, text in nodes.items() for cpu in topology.cpu_list(text)}
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    return len({_moves.node_of.get(cpu) for cpu in allowed} - {None}) > 1


def watch() -> None:
    """Notes where the main thread runs now; called with each sample of the stacks."""
    _moves.look()


def note() -> None:
    """Puts all of it into the metadata; each part on its own, as any may be forbidden."""
    for name, part in (("numa", _numa), ("file systems", _file_systems), ("children", _children)):
        _try(name, part)


def _try(name: str, part: Callable[[], None]) -> None:
    try:
        part()
    except (OSError, ValueError, IndexError) as error:
        notes.failure(name + " not noted", error)


def _numa() -> None:
    if not _moves.node_of:
        return
    facts: dict[str, Any] = {"moves": _moves.count}
    if _resident_bytes() <= _MOST_RESIDENT_BYTES:
        facts["bytes_by_node"] = bytes_by_node()
    metadata.facts["numa"] = facts


def _resident_bytes() -> int:
    with open(_PROC + "/statm") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def bytes_by_node() -> dict[str, int]:
    """The process's own memory by NUMA node, from /proc/self/numa_maps.

    Files and shared segments lie where anybody first touched them, and what the program has asked
    to be interleaved lies where it is meant to.
    """
    found: dict[str, int] = {}
    with open(_PROC + "/numa_maps") as stream:
        for line in stream:
            _, policy, *words = line.split()
            if policy.startswith("interleave") or any(word.startswith("file=") for word in words):
                continue
            pages, size = {}, 4
            for word in words:
                name, _, value = word.partition("=")
                if name == "kernelpagesize_kB":
                    size = int(value)
                elif name[:1] == "N" and name[1:].isdigit():
                    pages[name[1:]] = int(value)
            for node, count in pages.items():
                found[node] = found.get(node, 0) + count * size * 1024
    return found


def _children() -> None:
    """CPU time of the processes that this one started and waited for: input workers, mostly."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    metadata.facts["children_cpu_s"] = used.ru_utime + used.ru_stime


def _file_systems() -> None:
    """The mounts on which the process has its directory, its arguments and its open files."""
    mounts = _mounts()
    found: dict[str, dict[str, Any]] = {}
    for path, number in _places().items():
        mount, kind = _mount_of(path, mounts)
        if mount and kind not in _PSEUDO:
            row = found.setdefault(mount, {"mount": mount, "type": kind, "files": 0})
            row["files"] += 1
            if kind == "lustre" and "stripes" not in row and number is not None:
                stripes = stripe_count(_layout(number))
                row.update({"stripes": stripes} if stripes else {})
    noted = metadata.facts.get("file_systems")
    for row in noted if isinstance(noted, list) else ():
        found.setdefault(row["mount"], row)
    metadata.facts["file_systems"] = list(found.values())


def _places() -> dict[str, int | None]:
    """Paths that the program works with, and the descriptors of those that it has open.

    None of them is looked up: on a file server that is gone, that would hold up the program's end.
    """
    paths: dict[str, int | None] = {os.getcwd(): None}
    for word in sys.argv[1:]:
        if "/" in word:
            paths[word.partition("=")[2] or word] = None
    for number in os.listdir(_PROC + "/fd")[: 4 * _MOST_PLACES]:
        paths[_open_file(number)] = int(number)
    records = os.environ.get("PERFSCOPE_DIR") or "/nowhere"
    kept = [
        path
        for path in paths
        if path.startswith("/") and not path.startswith((records, "/dev/", "/proc/", "/memfd:"))
    ]
    return {path: paths[path] for path in kept[:_MOST_PLACES]}


def _open_file(number: str) -> str:
    """The path of an open file; "" when it has been closed by now."""
    try:
        return os.readlink("%s/fd/%s" % (_PROC, number))
    except OSError:
        return ""


def _mounts() -> list[tuple[str, str]]:
    """Mount points with their file systems, the longest first."""
    found = []
    with open(_PROC + "/mountinfo", "rb") as stream:  # a stream of text may import its encoding
        for line in stream:
            fields, separator, rest = line.decode("utf-8", "replace").partition(" - ")
            words = fields.split()
            if separator and len(words) > 4:
                # Blanks in a mount point are written as \\040.
                found.append((words[4].replace("\\040", " "), rest.split()[0]))
    return sorted(found, key=lambda pair: -len(pair[0]))


def _mount_of(path: str, mounts: list[tuple[str, str]]) -> tuple[str, str]:
    for mount, kind in mounts:
        if path == mount or path.startswith(mount.rstrip("/") + "/"):
            return mount, kind
    return "", ""


def _layout(number: int) -> bytes:
    """Lustre's layout of an open file, empty where there is none to be had."""
    try:
        return os.getxattr(number, "lustre.lov") if hasattr(os, "getxattr") else b""
    except OSError:
        return b""


def stripe_count(layout: bytes) -> int:
    """Servers over which a file is striped, 0 unknown.

    `struct lov_user_md` of lustre_user.h: magic, pattern, object id of 16 bytes, size, count.
    """
    magic = int.from_bytes(layout[:4], "little")
    if magic not in (0x0BD10BD0, 0x0BD30BD0) or len(layout) < 32:
        return 0
    count = int.from_bytes(layout[28:30], "little")
    return count if count != 0xFFFF else 0
