"""Runs of `perfscope run`, each a fork of one process that has loaded its modules.

A command of perfscope takes most of its time to load them, 0.15 s of the CPU, and the tests record
some hundred jobs. What a fork cannot have anew, Python's own settings and what the dynamic linker
puts into a process, is left to a process of its own; so are tests of the command line itself, of
signals and of terminals, which start `perfscope_command`.
"""

import array
import contextlib
import io
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_NOT_OF_A_FORK = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC_", "GLIBC_", "COVERAGE_")
_LENGTH_BYTES = 4
_STATUS_BYTES = 8

_lock = threading.Lock()
_first: list["_First"] = []
"""The process that runs are forked from, as soon as there has been one."""


class _First:
    """A process that waits for runs to start."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.asked, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                cwd=Path(__file__).resolve().parents[2],
                env=dict(variables),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    def is_there(self) -> bool:
        """Whether it lives on: who ends all that a test has started ends it as well."""
        return self._process.poll() is None

    def end(self) -> None:
        """Leaves it, and so has it end."""
        self.asked.close()
        self._process.wait()

    def start(self, request: dict[str, Any], files: Sequence[int]) -> int:
        """Has a run started with these files as its stdin, stdout and stderr; its process."""
        text = json.dumps(request).encode()
        head = len(text).to_bytes(_LENGTH_BYTES, "little")
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))
        self.asked.sendmsg([head], [rights])
        self.asked.sendall(text)
        return self._number()

    def ending(self) -> int:
        """Waits for the end of the run; its exit code, negative after a signal."""
        return self._number()

    def _number(self) -> int:
        told = _exactly(self.asked, _STATUS_BYTES)
        return int.from_bytes(told, "little", signed=True)


def can_run(variables: Mapping[str, str] | None) -> bool:
    """Whether a run that is given these variables is the same as a fork."""
    return not any(name.startswith(_NOT_OF_A_FORK) for name in variables or ())


def run(
    words: Sequence[str],
    *,
    cwd: Path,
    variables: Mapping[str, str],
    login: Mapping[str, str],
    timeout_s: float,
) -> subprocess.CompletedProcess[str] | None:
    """What `subprocess.run` would return for a command line of perfscope, None while one runs.

    `login` are the variables that the first process has.

    Raises:
        subprocess.TimeoutExpired: it took longer, and was killed.
    """
    if not _lock.acquire(blocking=False):
        return None
    try:
        if _first and not _first[0].is_there():
            _first.pop().end()
        if not _first:
            _first.append(_First(login))
        request = {"words": list(words), "cwd": str(cwd), "variables": dict(variables)}
        return _run(_first[0], request, timeout_s)
    except BaseException:  # what it still has to tell is of this run
        if _first:
            _first.pop().end()
        raise
    finally:
        _lock.release()


def _run(
    first: _First, request: dict[str, Any], timeout_s: float
) -> subprocess.CompletedProcess[str]:
    end = time.monotonic() + timeout_s
    nothing = os.open(os.devnull, os.O_RDONLY)
    pipes = [os.pipe(), os.pipe()]
    try:
        pid = first.start(request, [nothing, *(written for _, written in pipes)])
    finally:
        for file in (nothing, *(written for _, written in pipes)):
            os.close(file)
    try:
        shown = _shown([read for read, _ in pipes], end)
        first.asked.settimeout(max(end - time.monotonic(), 0.001))
        code = first.ending()
        first.asked.settimeout(None)
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        raise subprocess.TimeoutExpired(request["words"], timeout_s) from None
    finally:
        for read, _ in pipes:
            os.close(read)
    return subprocess.CompletedProcess(request["words"], code, *shown)


def _shown(files: Sequence[int], end: float) -> list[str]:
    """All that is written to pipes, as text, until nobody has them open any more."""
    found: dict[int, list[bytes]] = {file: [] for file in files}
    with selectors.DefaultSelector() as open_ones:
        for file in files:
            open_ones.register(file, selectors.EVENT_READ)
        while open_ones.get_map():
            ready = open_ones.select(max(end - time.monotonic(), 0.001))
            if not ready and time.monotonic() > end:
                raise TimeoutError
            for key, _ in ready:
                piece = os.read(key.fd, 1 << 16)
                found[key.fd].append(piece)
                if not piece:
                    open_ones.unregister(key.fd)
    return [io.TextIOWrapper(io.BytesIO(b"".join(found[file]))).read() for file in files]


def _exactly(connection: socket.socket, size: int) -> bytes:
    told = b""
    while len(told) < size:
        piece = connection.recv(size - len(told))
        if not piece:
            raise EOFError
        told += piece
    return told


def _serve(connection: socket.socket) -> None:
    """Starts what is asked for, one after the other; returns in each fork, and at the end."""
    while True:
        head, files, _, _ = socket.recv_fds(connection, _LENGTH_BYTES, 3)
        if not head:
            return
        head += _exactly(connection, _LENGTH_BYTES - len(head))
        request = json.loads(_exactly(connection, int.from_bytes(head, "little")))
        pid = os.fork()
        if not pid:
            connection.close()
            _become(request, files)
            return
        for file in files:
            os.close(file)
        _tell(connection, pid)
        _, status = os.waitpid(pid, 0)
        _tell(connection, os.waitstatus_to_exitcode(status))


def _tell(connection: socket.socket, number: int) -> None:
    connection.sendall(number.to_bytes(_STATUS_BYTES, "little", signed=True))


def _become(request: dict[str, Any], files: Sequence[int]) -> None:
    """Makes the fork what a process of its own would find."""
    for place, file in enumerate(files):
        os.dup2(file, place)
        os.close(file)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["variables"])
    sys.argv = request["words"]


def _main() -> None:
    connection = socket.socket(fileno=int(sys.argv[1]))
    connection.set_inheritable(False)
    # all that a run loads; what is loaded in vain would be loaded by no user
    import perfscope.cli.main
    import perfscope.cli.run
    import perfscope.record.job

    sys.path[0] = str(Path(sys.executable).parent)  # as for the script
    sys.argv = []
    with contextlib.suppress(ConnectionError, EOFError):  # who asked has ended
        _serve(connection)
    if sys.argv:
        sys.exit(perfscope.cli.main.main())


if __name__ == "__main__":
    _main()
