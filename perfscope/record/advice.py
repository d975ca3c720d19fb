"""What keeps a recording from the ranks, said before the start with the words that help."""

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from perfscope.filesystem import file_system
from perfscope.record import elf
from perfscope.record.launch import FORWARDED, Injection, forwarding_note
from perfscope.record.launcher import Launcher, LauncherKind

_BIND_COMMANDS = {"singularity", "apptainer"}
_VOLUME_COMMANDS = {"docker", "podman", "nerdctl"}
_START_WORDS = {"exec", "run", "shell", "instance"}
_EMPTYING = {"--cleanenv", "-e", "--containall", "-C", "--contain", "-c"}
_BATCH_COMMANDS = {"sbatch", "qsub", "bsub"}
COPY_EVERY_S = 5


def before_start(
    command: Sequence[str],
    *,
    launcher: Launcher,
    injection: Injection,
    environment: Mapping[str, str],
    directory: Path,
) -> list[str]:
    """What the user should know before the job starts, one sentence each."""
    notes = []
    if launcher.program is not None and (found := shutil.which(launcher.program)) is not None:
        verdict = elf.loadable(Path(found))
        if verdict is not elf.Loadable.YES and _container_at(command, launcher) is None:
            notes.append(f"{launcher.program} runs unrecorded: {verdict.value}")
    if injection.recorder is not None and (forwarding := forwarding_note(launcher)):
        notes.append(forwarding)
    told = (
        _exported(launcher, environment),
        _container(command, launcher, injection, environment, directory=directory),
        _batch(command),
        _network(directory, environment),
    )
    return [*notes, *(note for note in told if note is not None)]


def names_to_forward(environment: Mapping[str, str]) -> list[str]:
    """The variables that carry a recording, as far as this job has them."""
    return [name for name in FORWARDED if name in environment]


def _exported(launcher: Launcher, environment: Mapping[str, str]) -> str | None:
    """What srun leaves out of the environment of its tasks."""
    if launcher.kind is not LauncherKind.SRUN:
        return None
    names = ",".join(names_to_forward(environment))
    chosen = _option(launcher.arguments, "--export")
    if chosen is not None:
        # NAME=VALUE pairs may stand beside ALL and names.
        words = chosen.split(",")
        if words[0] == "ALL" or set(names.split(",")) <= set(words):
            return None
        kept = "" if chosen in ("NONE", "NIL") else f"{chosen},"
        return (
            f"srun --export={chosen} keeps the recording from the ranks; "
            f"write srun --export={kept}{names}"
        )
    inherited = environment.get("SLURM_EXPORT_ENV")
    if inherited is None or inherited.split(",")[0] == "ALL":
        return None
    return (
        f"SLURM_EXPORT_ENV={inherited} (from sbatch --export) keeps the recording from the ranks; "
        "write srun --export=ALL, or export SLURM_EXPORT_ENV=ALL before perfscope run"
    )


def _option(arguments: Sequence[str], name: str) -> str | None:
    value = None
    for index, word in enumerate(arguments):
        if word == name:
            value = "".join(arguments[index + 1 : index + 2])
        elif word.startswith(f"{name}="):
            value = word[len(name) + 1 :]
    return value


def _container_at(command: Sequence[str], launcher: Launcher) -> int | None:
    """Where in the command the ranks' program is a container, None when it is none."""
    program = launcher.program
    if program is None or Path(program).name not in _BIND_COMMANDS | _VOLUME_COMMANDS:
        return None
    index = list(command).index(program)
    return index if _START_WORDS & set(command[index + 1 : index + 6]) else None


def _container(
    command: Sequence[str],
    launcher: Launcher,
    injection: Injection,
    environment: Mapping[str, str],
    *,
    directory: Path,
) -> str | None:
    """The words that bring recorder, agent and run directory into a container."""
    index = _container_at(command, launcher)
    loaded = [path for path in (injection.recorder, injection.agent) if path is not None]
    paths = [str(path) for path in (*loaded, directory)]
    if index is None:
        return None
    words, name = list(command[index:]), Path(command[index]).name
    missing = [path for path in paths if not any(path in word for word in words)]
    variables = names_to_forward(environment)
    verb = next(word for word in words[1:] if word in _START_WORDS)
    if name in _BIND_COMMANDS:
        is_emptied = bool(_EMPTYING & set(words[: words.index(verb) + 6]))
        needed = [f"--bind {shlex.quote(','.join(missing))}"] if missing else []
        if is_emptied:
            pairs = [f"{key}={environment[key]}" for key in variables]
            unset = [pair for pair in pairs if not any(pair.split("=")[0] in w for w in words)]
            needed += [f"--env {shlex.quote(pair)}" for pair in unset]
    else:
        needed = [f"-v {shlex.quote(f'{path}:{path}')}" for path in missing]
        needed += [f"-e {key}" for key in variables if not any(key in word for word in words)]
    if not needed:
        return None
    return (
        f"what runs in the container is recorded only with {' '.join(needed)} behind {name} {verb};"
        " name the run directory with perfscope run --output to bind it again in the next run"
    )


def _batch(command: Sequence[str]) -> str | None:
    name = Path(command[0]).name
    if name not in _BATCH_COMMANDS:
        return None
    return (
        f"{name} only queues the job and ends; put perfscope run -- in front of the mpirun or srun "
        "inside the batch script"
    )


def _network(directory: Path, environment: Mapping[str, str]) -> str | None:
    forced = environment.get("PERFSCOPE_LOCAL_DIR")
    found = file_system(directory)
    if not forced and not found.is_network:
        return None
    why = f"PERFSCOPE_LOCAL_DIR is {forced}" if forced else f"it is on {found.kind}"
    return (
        f"each process records on its node and copies to {directory.name}/ every {COPY_EVERY_S} s, "
        f"as {why}: of a rank that is killed, at most its last {COPY_EVERY_S} s are lost"
    )
