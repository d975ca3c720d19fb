"""One recorded run from start to end: whatever goes wrong with the recording, the job runs."""

import contextlib
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from perfscope import units
from perfscope.output import tell
from perfscope.record import (
    advice,
    elf,
    hang_watch,
    launch,
    leftovers,
    process,
    rundir,
    stack_sampling,
    summary,
)
from perfscope.record.launch import OPENMPI_LIST, Injection, RecordingOptions
from perfscope.record.launcher import recognize
from perfscope.record.places import (
    LIBRARY_NAME,
    agent_directory,
    is_outdated,
    load_problem,
    recorder_library,
)
from perfscope.record.process import Ending
from perfscope.record.run_file import RunFile
from perfscope.record.stop import StopRequest

_INSTALL_AGAIN = "build and install perfscope on this machine again, with pip, from its sources"
_OUTDATED = (
    "the recorder was made from other sources than these; pip install -e on them compiles it again"
)
_FULL_DISK = (
    "the disk or its quota was full: not all records found room",
    "a smaller --max-size keeps steps of the whole run; on Btrfs, let all fill half of the quota",
    "PERFSCOPE_LOCAL_DIR=DIRECTORY, on another disk of the node, has room for all of them",
)
_NAME_A_PLACE = "name a writable place: perfscope run --output DIRECTORY -- ..."


def record(command: Sequence[str], *, output: Path, options: RecordingOptions, quiet: bool) -> int:
    """Runs a command and records it.

    The run directory is numbered when it is taken; `quiet` says nothing but what went wrong.

    Returns:
        The exit code of the command, 128 + n after signal n, 126 or 127 when it cannot be started.
    """
    teller = _Teller(quiet=quiet)
    try:
        program = process.find_program(command[0], os.environ)
    except OSError as error:
        return _not_started(teller, command, error)
    library = recorder_library()
    if library is None:
        why = f"{LIBRARY_NAME} is not part of this installation of perfscope"
        return _run_unrecorded(teller, command, why=why, action=_INSTALL_AGAIN)
    injection = _injection(library, program)
    with launch.loadable_paths(injection) as paths:
        problem = load_problem(paths.recorder) if paths.recorder is not None else None
    if problem is not None:
        why = f"the recorder cannot be loaded here: {problem}"
        return _run_unrecorded(teller, command, why=why, action=_INSTALL_AGAIN)
    try:
        directory = rundir.create_run_directory(output)
    except OSError as error:
        why = f"the run directory {output} cannot be written: {error.strerror}"
        return _run_unrecorded(teller, command, why=why, action=_NAME_A_PLACE)
    if is_outdated(library):
        teller.tell(_OUTDATED)
    run = RunFile(directory, command, recognize(command, os.environ), options)
    return _record_into(run, injection=injection, teller=teller)


class _Teller:
    """What perfscope says to the user, on stderr, never in the way of the job."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def tell(self, text: str) -> None:
        if not self._quiet:
            self.insist(text)

    def insist(self, *lines: str) -> None:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            for line in lines:
                tell(f"perfscope: {line}")


def _record_into(run: RunFile, *, injection: Injection, teller: _Teller) -> int:
    notes = advice.before_start(
        run.command,
        launcher=run.launcher,
        injection=injection,
        environment=_environment(run, injection),
        directory=run.directory,
    )
    if run.options.stacks:
        notes += stack_sampling.before_start(os.environ)
    for note in notes:
        run.notes.append(note)
        teller.tell(note)
    if run.options.stop_after is not None:
        run.stop = StopRequest(run.directory, run.options.stop_after, teller.insist)
    try:
        run.write_start()
    except OSError as error:
        teller.insist(
            f"{run.directory / rundir.RUN_FILE} cannot be written: {error.strerror}",
            "the job runs and is recorded as far as there is room",
        )
    shown = _shown(run.directory)
    teller.tell(f"recording to {shown}/")
    try:
        ending = _run(run, injection)
    except OSError as error:
        _remove_unused(run.directory)
        return _not_started(teller, run.command, error)
    for name in hang_watch.pictures(run.directory):
        after = f"{run.options.on_hang_s or 0:g}"
        run.notes.append(
            f"for {after} s no rank began or finished a call, phase or step; {name} tells where "
            "they were"
        )
    try:
        run.write_end(ending)
    except OSError as error:
        teller.insist(f"the end of the run is not in run.json: {error.strerror}")
    _tell_end(teller, run, shown)
    return run.exit_code(ending)


def _remove_unused(directory: Path) -> None:
    """Takes back the directory of a job that never started."""
    with contextlib.suppress(OSError):
        (directory / rundir.RUN_FILE).unlink()
        directory.rmdir()


def _run(run: RunFile, injection: Injection) -> Ending:
    watching = hang_watch.watching(run.directory, run.options.on_hang_s)
    with launch.loadable_paths(injection) as loadable, watching:
        return process.run_job(run.command, _environment(run, loadable), run.stop)


def _environment(run: RunFile, injection: Injection) -> dict[str, str]:
    return launch.job_environment(
        os.environ,
        directory=run.directory,
        injection=injection,
        options=run.options,
        launcher=run.launcher,
    )


def _injection(library: Path, program: Path) -> Injection:
    """What can be loaded into the command; ld.so prints an error for another word size."""
    fits = elf.loadable(program) is not elf.Loadable.WRONG_WORD_SIZE
    return Injection(recorder=library if fits else None, agent=agent_directory())


def _tell_end(teller: _Teller, run: RunFile, shown: str) -> None:
    left = leftovers.bring_in(run.directory)
    if run.options.stacks:
        stack_sampling.wait_for_end(run.directory, teller.tell)
    leftovers.remove_scratch(run.directory)
    found = summary.summarize(run.directory)
    if found.processes == 0 and (reason := summary.unreadable(run.directory)):
        teller.insist(*_no_answer(shown, reason))
        return
    if found.processes == 0:
        teller.insist(f"nothing was recorded in {shown}/", *_why_nothing(run.directory))
        return
    if left:
        teller.insist(*_left_on_the_node(left, shown))
    elif found.is_disk_full:  # which may be why ranks left nothing
        teller.insist(*_FULL_DISK)
    elif found.missing_ranks:
        teller.insist(*_missing_ranks(found, run))
    what = (
        units.counted(found.ranks, "rank")
        if found.ranks
        else units.counted(found.processes, "process", "processes")
    )
    size = units.format_bytes(found.size_bytes)
    teller.tell(
        f"recorded {what} in {shown}/ ({size}{_lost(found)}); "
        f"next: perfscope analyze {shlex.quote(f'{shown}/')}"
    )


def _lost(found: summary.Summary) -> str:
    """What is not in the recording for want of room, and why."""
    if found.is_disk_full:
        return "; not all records found room"
    if found.dropped:
        return f"; {units.counted(found.dropped, 'record')} found no room, raise --max-size"
    return ""


def _why_nothing(directory: Path) -> list[str]:
    """Why no process was recorded, and what to do."""
    if summary.files_of(directory, "*/*.def"):
        return [
            "the recorder was loaded, and could not make its record files there or on the node",
            "see that there is room; PERFSCOPE_LOCAL_DIR names a directory of the node to write to",
        ]
    unreached = (
        "no process used MPI or Python, or the recorder was not loaded into it: statically"
        " linked, setuid, in a container without this path, with an emptied environment, or a"
        " Python that was started with -E, -I or -S"
    )
    look = "see whether LD_PRELOAD and PYTHONPATH reach the ranks: put `env` in the program's place"
    return summary.told_by_agents(directory) or [unreached, look]


def _no_answer(shown: str, reason: str) -> list[str]:
    """What is known of records on a file system that failed while the job ran."""
    return [
        f"the records in {shown}/ cannot be read: {reason}",
        "what their file system has kept of them can be analyzed as soon as it answers again",
    ]


def _left_on_the_node(left: Sequence[tuple[Path, Path]], shown: str) -> list[str]:
    """Where the records are that the run directory had no room for, and how to complete it."""
    (place, record), *others = left
    more = f", and {len(others)} more like it" if others else ""
    whose = units.counted(len(left), "process", "processes")
    return [
        f"{shown}/ had no room for all records of {whose}",
        f"they are on this node, in {place}{more}",
        f"make room, and copy own.rec there to {record}, own.def to {record.stem}.def beside it",
    ]


def _missing_ranks(found: summary.Summary, run: RunFile) -> list[str]:
    """Why ranks of an MPI world left nothing, and what carries the recording to them."""
    lines = [f"{found.missing_ranks} of {found.world_size} ranks left no recording"]
    carried = {"LD_PRELOAD", "PYTHONPATH", "PERFSCOPE_DIR", "PERFSCOPE_RECORDER", "PERFSCOPE_KEY"}
    wanted = carried | run.options.variables().keys()
    names = [name for name in launch.FORWARDED if name in wanted]
    if found.is_open_mpi:
        options = " ".join(f"-x {name}" for name in names)
        lines.append(
            "Open MPI takes no variables to other hosts by itself; where mpirun stands in a"
            f" script, add: mpirun {options}"
        )
        lines.append(f"or, for an mpirun without -x: export {OPENMPI_LIST}='{';'.join(names)}'")
    else:
        lines.append(
            f"they were started without these variables: {' '.join(names)}; or they cannot see"
            f" {run.directory} or perfscope's own files"
        )
    return lines


def _run_unrecorded(teller: _Teller, command: Sequence[str], *, why: str, action: str) -> int:
    teller.insist("THIS RUN IS NOT RECORDED; the command starts all the same", why, action)
    try:
        process.replace_by(command, launch.without_recording(os.environ))
    except OSError as error:
        return _not_started(teller, command, error)
    raise AssertionError("unreachable: this process has become the command")


def _not_started(teller: _Teller, command: Sequence[str], error: OSError) -> int:
    teller.insist(f"cannot start {command[0]}: {error.strerror}")
    return process.start_failure_code(error)


def _shown(directory: Path) -> str:
    """A path as the user would type it."""
    with contextlib.suppress(OSError, ValueError):
        return str(directory.relative_to(Path.cwd()))
    return str(directory)
