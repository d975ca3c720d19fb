"""CPUs that control groups grant: no more than these work for a job at once."""

from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def quota_cpus(root: Path = _CGROUP, own: Path = Path("/proc/self/cgroup")) -> float | None:
    """CPUs that the cgroups of this process grant over time, the least of all levels."""
    limits = []
    for place in _own_groups(root, own):
        for directory in (place, *place.parents):
            if not directory.is_relative_to(root):
                break
            limit = _limit(directory)
            if limit is not None:
                limits.append(limit)
    return min(limits, default=None)


def _own_groups(root: Path, own: Path) -> list[Path]:
    try:
        lines = own.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return [root]
    places = [root]
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers in ("", "cpu", "cpu,cpuacct", "cpuacct,cpu"):
            places.append(root / controllers / path.lstrip("/"))
    return places


def _limit(directory: Path) -> float | None:
    try:
        words = (directory / "cpu.max").read_text(encoding="ascii").split()
    except OSError:
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        try:
            words = [(directory / name).read_text(encoding="ascii").strip() for name in names]
        except OSError:
            return None
    if len(words) != 2 or not all(word.isdigit() for word in words) or int(words[1]) == 0:
        return None
    return int(words[0]) / int(words[1])
