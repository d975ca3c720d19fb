"""Which launcher a command starts: told by the binary that is really found, never by running it."""

import re
import shutil
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path

from perfscope.files import head_of, resolved
from perfscope.structures import dataclass

_READ_BYTES = 8 * 1024 * 1024


class LauncherKind(Enum):
    """How the ranks of a job come into being."""

    MPIRUN = "mpirun"
    SRUN = "srun"
    TORCHRUN = "torchrun"
    HOROVODRUN = "horovodrun"
    DIRECT = "direct"


class Flavor(Enum):
    """Whose mpirun it is; the value is the name shown."""

    OPEN_MPI = "Open MPI"
    MPICH = "MPICH"
    INTEL_MPI = "Intel MPI"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Launcher:
    """What is known of a command before it starts."""

    kind: LauncherKind  # how ranks are started
    flavor: Flavor | None = None  # whose mpirun it is, None for other launchers
    # ranks asked for on the command line or by the batch system, None when not stated
    ranks_requested: int | None = None
    # the launcher's own arguments, without the program and what follows
    arguments: tuple[str, ...] = ()
    # the program that runs as a rank, as written, None when it was not found
    program: str | None = None

    def as_json(self) -> dict[str, str | None]:
        """The launcher as it stands in run.json."""
        if self.kind is LauncherKind.DIRECT:
            return {"kind": self.kind.value}
        flavor = self.flavor.value if self.flavor else None
        return {"kind": self.kind.value, "flavour": flavor, "version": None}


_MPIRUN = re.compile(r"(mpirun|mpiexec|orterun|prterun)([.-].*)?")
_KINDS = {
    "srun": LauncherKind.SRUN,
    "torchrun": LauncherKind.TORCHRUN,
    "horovodrun": LauncherKind.HOROVODRUN,
}
_VALUE_ATTACHED = re.compile(r"-[A-Za-z][0-9]+$|--?[^=]+=")
_TORCH_MODULES = {"torch.distributed.run", "torch.distributed.launch"}
# Commands that run the command behind them; the options are those that take a value of their own.
_WRAPPERS = {
    "env": {"-u", "-C", "--unset", "--chdir"},
    "nice": {"-n", "--adjustment"},
    "nohup": set(),
    "numactl": {"-m", "-N", "-C", "-i", "-p"},
    "setsid": set(),
    "stdbuf": {"-i", "-o", "-e"},
    "taskset": set(),
    "time": {"-f", "-o"},
    "timeout": {"-k", "-s", "--kill-after", "--signal"},
}
_WRAPPERS_WITH_OPERAND = {"taskset", "timeout"}
_RANK_OPTIONS = {
    LauncherKind.MPIRUN: ("-n", "-np", "--np", "-c", "--n"),
    LauncherKind.SRUN: ("-n", "--ntasks"),
    LauncherKind.HOROVODRUN: ("-np", "--num-proc"),
    LauncherKind.TORCHRUN: ("--nproc_per_node", "--nproc-per-node"),
}
_NODE_OPTIONS = ("--nnodes",)
_FLAGS = set(
    """--allow-run-as-root --debug-daemons --display-map --display-allocation --no-python
    --oversubscribe --nooversubscribe --quiet --report-bindings --standalone --tag-output
    --use-hwthread-cpus --verbose -l -q -v -verbose -oversubscribe -prepend-rank""".split()
)
_TWO_VALUES = set(
    """-env -genv -gmca --gmca -mca --mca -pmixmca --pmixmca -prtemca --prtemca""".split()
)


def recognize(command: Sequence[str], environment: Mapping[str, str]) -> Launcher:
    """The launcher that a command starts, also behind `env`, `nice`, `timeout` and the like."""
    rest = _without_interpreter(_without_wrappers(list(command)))
    if not rest:
        return Launcher(LauncherKind.DIRECT)
    name = Path(rest[0]).name
    search_path = environment.get("PATH")
    kind = _KINDS.get(name)
    if _MPIRUN.fullmatch(name):
        kind = LauncherKind.MPIRUN
    elif name.startswith("python") and rest[1:2] == ["-m"] and {*rest[2:3]} & _TORCH_MODULES:
        kind, rest = LauncherKind.TORCHRUN, rest[2:]
    if kind is None:
        return Launcher(LauncherKind.DIRECT, program=rest[0])
    length = _own_arguments(rest[1:], search_path)
    arguments, program = tuple(rest[1 : 1 + length]), rest[1 + length : 2 + length]
    return Launcher(
        kind,
        flavor=mpi_flavor(rest[0], search_path) if kind is LauncherKind.MPIRUN else None,
        ranks_requested=_all_ranks(kind, rest[1:], environment),
        arguments=arguments,
        program=program[0] if program else None,
    )


def mpi_flavor(name: str, search_path: str | None = None) -> Flavor:
    """Whose mpirun a name stands for, read from the binary behind all links."""
    found = shutil.which(name, path=search_path)
    if found is None:
        return Flavor.UNKNOWN
    binary = resolved(Path(found))
    if binary.name in ("orterun", "prterun", "mpirun.openmpi"):
        return Flavor.OPEN_MPI
    try:
        content = head_of(binary, _READ_BYTES)
    except OSError:
        return Flavor.UNKNOWN
    marks = {
        Flavor.INTEL_MPI: (b"I_MPI_",),
        Flavor.OPEN_MPI: (b"OPAL_PREFIX", b"orterun", b"prterun", b"libopen-rte"),
        Flavor.MPICH: (b"MPICH", b"HYDRA", b"hydra"),
    }
    for flavor, texts in marks.items():
        if any(text in content for text in texts):
            return flavor
    return Flavor.UNKNOWN


def _without_wrappers(command: list[str]) -> list[str]:
    while command and (name := Path(command[0]).name) in _WRAPPERS:
        valued, rest = _WRAPPERS[name], command[1:]
        while rest and (rest[0].startswith("-") or (name == "env" and "=" in rest[0])):
            rest = rest[2:] if rest[0] in valued else rest[1:]
        command = rest[1:] if name in _WRAPPERS_WITH_OPERAND else rest
    return command


def _without_interpreter(command: list[str]) -> list[str]:
    """`python /place/bin/horovodrun ...` as `/place/bin/horovodrun ...`."""
    words = [Path(word).name for word in command[:2]]
    if len(words) == 2 and words[0].startswith("python") and words[1] in _KINDS:
        return command[1:]
    return command


def _own_arguments(arguments: list[str], search_path: str | None) -> int:
    """How many leading arguments are the launcher's own."""
    index = 0
    while index < len(arguments):
        word, following = arguments[index], arguments[index + 1 : index + 2]
        if not word.startswith("-"):
            break
        if word in _TWO_VALUES:
            index += 3
        elif (
            word in _FLAGS
            or _VALUE_ATTACHED.match(word)
            or not following
            or following[0].startswith("-")
        ):
            index += 1
        else:
            index += 2 if _is_value(word, following, search_path) else 1
    return min(index, len(arguments))


def _is_value(option: str, following: list[str], search_path: str | None) -> bool:
    """Whether what follows an option belongs to it, and is not the next option or the program."""
    if not following or following[0].startswith("-"):
        return False
    return option in ("-x", "-n", "-np") or not _is_program(following[0], search_path)


def _is_program(word: str, search_path: str | None) -> bool:
    return bool(re.match(r"python[0-9.]*$", word)) or (
        "/" in word and shutil.which(word, path=search_path) is not None
    )


def _option(arguments: Sequence[str], names: Sequence[str]) -> int | None:
    """The number behind the last of some options, in the forms `-n 4`, `--np=4` and `-n4`."""
    value = None
    for index, word in enumerate(arguments):
        for name in names:
            text = None
            if word == name:
                text = "".join(arguments[index + 1 : index + 2])
            elif word.startswith(f"{name}="):
                text = word[len(name) + 1 :]
            elif len(name) == 2 and word.startswith(name):
                text = word[2:]
            if text is not None and text.isdigit():
                value = int(text)
    return value


def _all_ranks(
    kind: LauncherKind, words: Sequence[str], environment: Mapping[str, str]
) -> int | None:
    """Ranks asked for over all parts of a command; mpirun separates programs by a colon."""
    total = 0
    while True:
        own = words[: _own_arguments(list(words), environment.get("PATH"))]
        ranks = _ranks(kind, own, environment)
        if ranks is None:
            return None
        total += ranks
        if kind is not LauncherKind.MPIRUN or ":" not in words:
            return total
        words = words[words.index(":") + 1 :]


def _ranks(
    kind: LauncherKind, arguments: Sequence[str], environment: Mapping[str, str]
) -> int | None:
    asked = _option(arguments, _RANK_OPTIONS[kind])
    if kind is LauncherKind.TORCHRUN and asked is not None:
        return asked * (_option(arguments, _NODE_OPTIONS) or 1)
    if (
        asked is None
        and kind is LauncherKind.SRUN
        and environment.get("SLURM_NTASKS", "").isdigit()
    ):
        return int(environment["SLURM_NTASKS"])
    return asked
