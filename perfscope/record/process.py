"""Runs the job as if started without perfscope: its terminal, its signals, its exit code."""

import errno
import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from perfscope.record.group_watch import GroupWatch
from perfscope.record.stop import LOOK_EVERY_S, StopRequest
from perfscope.structures import dataclass

NOT_EXECUTABLE = 126
NOT_FOUND = 127
SIGNAL_BASE = 128

_SI_KERNEL = 0x80
_ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT})
_PASSED_ON = frozenset(
    {
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
        signal.SIGQUIT,
        signal.SIGUSR1,
        signal.SIGUSR2,
        signal.SIGALRM,
        signal.SIGTSTP,
        signal.SIGCONT,
    }
)
# The terminal stops a whole group with these; perfscope must stop too, or the shell would wait.
_TERMINAL_STOPS = frozenset({signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU})
# Python ignores these for itself; the job shall find them as a shell would leave them.
_RESET = (signal.SIGPIPE, signal.SIGXFSZ)


@dataclass(frozen=True)
class Ending:
    """How the command ended."""

    exit_code: int  # what perfscope exits with: the command's own code, or 128 + n after signal n
    signal: int | None = None  # the signal that killed it, None when it exited
    received: tuple[int, ...] = ()  # signals that asked perfscope, and so the job, to end, in order


def run_job(
    command: Sequence[str], environment: Mapping[str, str], stop: StopRequest | None = None
) -> Ending:
    """Runs a command to its end in this process's group and terminal.

    The program is looked up in the PATH of `environment`, the whole environment of the job.

    Raises:
        FileNotFoundError: no such program.
        OSError: the program exists and cannot be executed.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # an inherited "ignore" would lose the exit code
    waited_for = _PASSED_ON | {signal.SIGCHLD}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, waited_for)
    try:
        with GroupWatch(_PASSED_ON) as watch:
            job = _spawn(command, environment, mask)
            ending = _attend(job.pid, frozenset(waited_for), watch, stop)
            job.returncode = ending.exit_code  # reaped here, Popen need not look for it
            return ending
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def replace_by(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Becomes the command; for a job that is not recorded there is nothing to stay for.

    Raises:
        OSError: as `run_job`.
    """
    for number in _RESET:
        signal.signal(number, signal.SIG_DFL)
    os.execvpe(command[0], list(command), dict(environment))


def start_failure_code(error: OSError) -> int:
    """The exit code that `env` and the shells use for a command that cannot be started."""
    return (
        NOT_FOUND if isinstance(error, FileNotFoundError | NotADirectoryError) else NOT_EXECUTABLE
    )


def find_program(name: str, environment: Mapping[str, str]) -> Path:
    """The file that execvp would start for a name.

    Raises:
        FileNotFoundError: there is none.
        PermissionError: there is one, and it is a directory or not executable.
    """
    candidates = [Path(name)]
    if "/" not in name:
        search_path = environment.get("PATH", os.defpath).split(os.pathsep)
        candidates = [Path(directory or ".", name) for directory in search_path]
    existing = [path for path in candidates if path.exists() and ("/" in name or path.is_file())]
    for path in existing:
        if path.is_file() and os.access(path, os.X_OK):
            return path
    number = errno.EACCES if existing else errno.ENOENT
    raise OSError(number, os.strerror(number), name)


def _spawn(
    command: Sequence[str], environment: Mapping[str, str], mask: Iterable[int]
) -> subprocess.Popen[bytes]:
    """Starts the command with the signal mask that perfscope itself was started with.

    Not by posix_spawn: the C library leaves two of its internal signals ignored in the new program.
    """
    program = find_program(command[0], environment)
    try:
        return _start(program, list(command), environment, mask)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    # A script without an interpreter line: execvp hands it to the shell.
    shell = Path("/bin/sh")
    return _start(shell, [str(shell), str(program), *command[1:]], environment, mask)


def _start(
    program: Path, arguments: list[str], environment: Mapping[str, str], mask: Iterable[int]
) -> subprocess.Popen[bytes]:
    # a Path drops the "./" of a name, without which the file would be looked for in PATH
    return subprocess.Popen(
        arguments,
        executable=program if program.is_absolute() else f"./{program}",
        env=environment,
        close_fds=False,
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, mask),  # noqa: PLW1509
    )


def _attend(
    pid: int, waited_for: frozenset[signal.Signals], watch: GroupWatch, stop: StopRequest | None
) -> Ending:
    """Waits for the job's end, passes signals on, and stops and continues with it."""
    received: dict[int, None] = {}
    while True:
        if stop is None:
            info: signal.struct_siginfo | None = signal.sigwaitinfo(waited_for)
        else:
            info = signal.sigtimedwait(waited_for, LOOK_EVERY_S)
            stop.look(pid)
        if info is None:
            continue
        if info.si_signo in _ENDING:
            received[info.si_signo] = None
        if info.si_signo != signal.SIGCHLD:
            _pass_on(pid, info, watch)
            continue
        done, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if done == 0:
            continue
        if os.WIFSTOPPED(status):
            if os.WSTOPSIG(status) in _TERMINAL_STOPS:
                os.kill(os.getpid(), signal.SIGSTOP)
            continue
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            return Ending(SIGNAL_BASE + number, number, tuple(received))
        return Ending(os.WEXITSTATUS(status), received=tuple(received))


def _pass_on(pid: int, info: signal.struct_siginfo, watch: GroupWatch) -> None:
    """Sends a signal to the job unless the whole group has got it."""
    to_group = watch.was_sent_to_group(info.si_signo)
    if info.si_code != _SI_KERNEL and not to_group:
        os.kill(pid, info.si_signo)
