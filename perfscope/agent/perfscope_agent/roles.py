"""What this process is to the job: a rank, a rank's worker, or a program without ranks."""

from __future__ import annotations

import os

SIGNATURE = (
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "MV2_COMM_WORLD_RANK",
    "SLURM_PROCID",
    "RANK",
    "LOCAL_RANK",
    "GROUP_RANK",
    "HOROVOD_RANK",
)
RANK_VARIABLES = (
    *SIGNATURE,
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "PMIX_NAMESPACE",
    "PMI_SIZE",
    "PMI_JOBID",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "MV2_COMM_WORLD_SIZE",
    "SLURM_LOCALID",
    "SLURM_NTASKS",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "TORCHELASTIC_RUN_ID",
    "HOROVOD_SIZE",
    "HOROVOD_LOCAL_RANK",
)
_RANK_AND_SIZE = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("PMIX_RANK", ""),
    ("HOROVOD_RANK", "HOROVOD_SIZE"),
    ("RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
_LAUNCHERS = frozenset(
    "mpirun mpiexec mpiexec.hydra orterun prterun prun srun jsrun aprun torchrun horovodrun "
    "accelerate deepspeed pip pip3 conda mamba uv perfscope".split()
)
_LAUNCHER_MODULES = (
    "pip",
    "venv",
    "ensurepip",
    "torch.distributed.run",
    "torch.distributed.launch",
    "torch.distributed.launcher",
    "horovod.runner",
    "accelerate.commands",
    "deepspeed.launcher",
    "perfscope",
)
_OPTIONS_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


class Role:
    """What a process can be, as written in its metadata."""

    RANK = "rank"
    WORKER = "worker"
    UNRANKED = "unranked"


def command_line() -> list[str]:
    """The arguments this process was started with, the interpreter first."""
    with open("/proc/self/cmdline", "rb") as stream:
        parts = stream.read().split(b"\0")
    return [part.decode("utf-8", "replace") for part in parts[:-1]]


def program(arguments: list[str]) -> tuple[str, str]:
    """What Python was asked to run: ("module" | "code" | "script" | "", its name or text)."""
    position = 1
    while position < len(arguments):
        argument = arguments[position]
        following = arguments[position + 1] if position + 1 < len(arguments) else ""
        if argument in _OPTIONS_WITH_VALUE:
            position += 2
            continue
        if not argument.startswith("-") or argument == "-":
            return "script", argument
        if not argument.startswith("--"):
            # Short options may be joined: -um module, -ccode.
            for index, letter in enumerate(argument[1:], start=2):
                if letter in "mc":
                    return ("module" if letter == "m" else "code"), argument[index:] or following
                if letter in "WX":
                    break
        position += 1
    return "", ""


def is_launcher(arguments: list[str]) -> bool:
    """Whether this process starts ranks or installs software rather than trains."""
    kind, name = program(arguments)
    if kind == "script":
        return os.path.basename(name) in _LAUNCHERS
    if kind == "module":
        return any(name == m or name.startswith(m + ".") for m in _LAUNCHER_MODULES)
    return False


def is_multiprocessing_helper(arguments: list[str]) -> bool:
    """Whether multiprocessing started this process: spawned worker, fork server, tracker."""
    kind, text = program(arguments)
    return "--multiprocessing-fork" in arguments or (
        kind == "code"
        and text.startswith(
            ("from multiprocessing.", "from joblib.externals.loky", "from torch.multiprocessing")
        )
    )


def only_serves(arguments: list[str]) -> bool:
    """Whether the process starts others or looks after what they share, and does no work."""
    kind, text = program(arguments)
    served = ("forkserver", "resource_tracker", "semaphore_tracker")
    starts = tuple("from multiprocessing." + name for name in served)
    return kind == "code" and (
        text.startswith(starts) or "joblib.externals.loky.backend.resource_tracker" in text
    )


def signature() -> str:
    """The rank environment as one text, equal in all processes of a rank; "" without ranks."""
    environ = os.environ
    return ",".join("%s=%s" % (name, environ[name]) for name in SIGNATURE if name in environ)


def rank_and_size() -> tuple[int, int]:
    """World rank and size as the launcher told, -1 where unknown."""
    pairs = list(_RANK_AND_SIZE)
    if "TORCHELASTIC_RUN_ID" in os.environ:
        # torchrun may run below mpirun, once a node; then the MPI variables number the nodes.
        pairs.insert(0, ("RANK", "WORLD_SIZE"))
    for rank_name, size_name in pairs:
        rank = os.environ.get(rank_name, "")
        if rank.isdigit():
            size = os.environ.get(size_name, "")
            return int(rank), int(size) if size.isdigit() else -1
    return -1, -1


def owner() -> tuple[int, str] | None:
    """Process id and rank signature of the Python process that this one descends from, if any."""
    pid, separator, text = os.environ.get("PERFSCOPE_OWNER", "").partition("|")
    return (int(pid), text) if separator and pid.isdigit() else None


def decide(arguments: list[str]) -> tuple[str, int | None]:
    """The role of this process and a worker's owner; marks the environment for its children."""
    mine = signature()
    above = owner()
    descends = above is not None and above[0] != os.getpid() and above[1] == mine
    if above is not None and descends and (mine or is_multiprocessing_helper(arguments)):
        return Role.WORKER, above[0]
    if is_launcher(arguments):
        return Role.UNRANKED, None
    os.environ["PERFSCOPE_OWNER"] = "%d|%s" % (os.getpid(), mine)
    return (Role.RANK if mine else Role.UNRANKED), None
