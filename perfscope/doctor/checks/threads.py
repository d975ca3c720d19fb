"""CPUs that a job may use here, against the threads that each of its ranks would start."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from perfscope.doctor.check import Check, Outcome, State, Surroundings

_TITLE = "CPUs and threads"
VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
)
_CGROUP = Path("/sys/fs/cgroup")


def look(around: Surroundings) -> Sequence[Outcome]:
    """Affinity mask and cgroup quota of this shell, and the thread settings in it."""
    allowed = len(os.sched_getaffinity(0))
    return [judge(allowed, os.cpu_count() or allowed, quota_cpus(), around.environment)]


def judge(
    allowed: int, machine: int, quota: float | None, environment: Mapping[str, str]
) -> Outcome:
    """Whether ranks started here would have more threads than CPUs.

    Args:
        allowed: CPUs in the affinity mask.
        machine: CPUs of the machine.
        quota: CPUs that the cgroup grants over time, None without a limit.
        environment: the thread settings are read from it.
    """
    usable = allowed if quota is None else max(1, min(allowed, int(quota)))
    set_here = {
        name: int(text)
        for name in VARIABLES
        if (text := environment.get(name, "").split(",")[0].strip()).isdigit()
    }
    details = {"allowed": allowed, "machine": machine, "quota": quota, "variables": set_here}
    cpus = f"{allowed} of {machine} CPUs available"
    if quota is not None:
        cpus += f", limited by the cgroup to the time of {quota:g}"
    too_many = {name: count for name, count in set_here.items() if count > usable}
    if too_many:
        text = ", ".join(f"{name}={count}" for name, count in too_many.items())
        why = f"{cpus}; {text} exceeds that"
        fix = "; ".join(f"export {name}={usable}" for name in too_many)
        return Outcome(_TITLE, State.WARNING, why, fix, details)
    if "OMP_NUM_THREADS" not in set_here and allowed > 1:
        why = f"{cpus}; OMP_NUM_THREADS is not set: each unbound rank starts {allowed}"
        half = max(1, usable // 2)
        fix = f"export OMP_NUM_THREADS={half} (for 2 ranks here; CPUs divided by ranks)"
        return Outcome(_TITLE, State.WARNING, f"{why} threads", fix, details)
    text = ", ".join(f"{name}={count}" for name, count in set_here.items())
    return Outcome(_TITLE, State.OK, f"{cpus}; {text}" if text else cpus, details=details)


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


CHECK = Check("threads", look)
