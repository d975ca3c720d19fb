"""CPUs that a job may use here, against the threads that each of its ranks would start."""

import os
from collections.abc import Mapping, Sequence

from perfscope.doctor.check import Check, Outcome, State, Surroundings
from perfscope.record.cpus import quota_cpus

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


CHECK = Check("threads", look)
