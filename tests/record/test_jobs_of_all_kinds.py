"""Jobs that use the system in their own ways: what they do is the same, recorded or not."""

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support import environments
from tests.support.recording import JOB_TIMEOUT_S, job_variables, perfscope_command

PYTHON = shlex.quote(sys.executable)
OWN_WORDS = "perfscope: "


@dataclass(frozen=True)
class Job:
    """A job of one process."""

    program: str  # in Python, or what a shell does
    is_shell: bool = False  # which of the two
    # of the environment; None takes a variable away
    changes: dict[str, str | None] = field(default_factory=dict)
    given: str = ""  # what it gets on stdin

    @property
    def command(self) -> list[str]:
        """What is started."""
        return ["sh" if self.is_shell else sys.executable, "-c", self.program]


def shell(program: str) -> Job:
    """What a shell does."""
    return Job(program, is_shell=True)


FORK = "import os; p = os.fork() or os._exit(3); print(os.waitpid(p, 0)[1])"
EXEC = "import os; os.execvp('sh', ['sh', '-c', 'echo replaced; exit 4'])"
POOL = """
import multiprocessing as m
with m.get_context("fork").Pool(2) as pool: print(pool.map(abs, [-1, -2]))
"""
HANDLERS = """
import os, signal, time
for s in (signal.SIGUSR1, signal.SIGALRM): signal.signal(s, lambda s, _: print(s))
signal.setitimer(signal.ITIMER_REAL, 0.05)
os.kill(os.getpid(), signal.SIGUSR1)
time.sleep(0.3)
"""
INTERPRETER = """
import gc, signal, sys, threading
print(threading.active_count(), sys.flags, sys.warnoptions, sys.getswitchinterval(), sys.excepthook)
print(sys.gettrace(), sys.getprofile(), gc.isenabled(), gc.get_threshold(), gc.callbacks)
print([(s, signal.getsignal(s)) for s in (1, 2, 7, 10, 11, 13, 15, 17)])
print([name in sys.modules for name in ("numpy", "json", "logging", "asyncio")])
"""
# Not which numbers: a thread that samples may hold one of them at that moment.
FILES = "import os; os.closerange(3, 99); print(len([os.open('/dev/null', 0) for _ in range(3)]))"
QUICK = {
    "fork": Job(FORK),
    "exec": Job(EXEC),
    "interpreter": Job(INTERPRETER),
    "files": Job(FILES),
    "stdin": Job("print(input())", given="given\n"),
    "no home": Job("import os; print(os.environ.get('HOME'))", changes={"HOME": None}),
    "no directory": shell(f"d=$(mktemp -d); cd $d; rmdir $d; exec {PYTHON} -c 'print(5)'"),
    "no stdout": shell(f"exec >&-; {PYTHON} -c 'print(5)'; exit 7"),
    "full stdout": shell(f"exec {PYTHON} -c 'print(5)' >/dev/full"),
    "few files": shell(f"ulimit -n 12; exec {PYTHON} -c 'print(1)'"),
}
THOROUGH = {
    "pool": Job(POOL),
    "handlers": Job(HANDLERS),
    "_exit": Job("import os; print('lost'); os._exit(9)"),
    "exception": Job("raise ValueError('x')"),
    "exception in a thread": Job(
        "import threading; t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()"
    ),
    "at exit": Job("import atexit; atexit.register(lambda: 1 / 0)"),
    "development mode": shell(f"exec {PYTHON} -X dev -W error -bb -c 'print(1)'"),
    "no site": shell(f"exec {PYTHON} -S -c 'print(1)'"),
    "isolated": shell(f"exec {PYTHON} -I -c 'import sys; print(sys.path)'"),
    "empty environment": shell(f"env -i {PYTHON} -c 'import os; print(dict(os.environ))'"),
    "closed pipe": shell(f"{PYTHON} -c 'for i in range(99999): print(i)' | head -1; echo $?"),
    "no stdin": shell(f"exec <&-; exec {PYTHON} -c 'import sys; print(sys.stdin)'"),
    "no stderr": shell(f"exec 2>&-; exec {PYTHON} -c '1 / 0'"),
    "address space": shell(f"ulimit -v 400000; exec {PYTHON} -c 'print(len(bytes(99 << 20)))'"),
    "time limit": shell(f"ulimit -t 1; exec {PYTHON} -c 'while 1: pass'"),
    "small stack": shell(f"ulimit -s 256; exec {PYTHON} -c 'print(1)'"),
    "umask": shell(f"umask 777; exec {PYTHON} -c 'import os; print(os.umask(0))'"),
    "no path": Job("print(1)", changes={"PATH": ""}),
    "no temporary directory": Job("print(1)", changes={"TMPDIR": "/no/such/directory"}),
    "background": shell("(sleep 0.2; echo late) & echo now; wait"),
    "trap": shell("trap 'echo told; exit 5' TERM; kill -TERM $$; sleep 1"),
    "stopped": shell(
        "(until grep -q 'State:.T' /proc/$$/status; do sleep 0.05; done; kill -CONT $$) &"
        " kill -STOP $$; echo goes on"
    ),
}
JOBS = QUICK | THOROUGH
RANKS = {
    "exception on one rank": "if r: raise ValueError('x')\nw.Barrier()",
    "abort": "w.Barrier()\nif r: w.Abort(6)\nw.Barrier()",
    "_exit": "import os\nw.Barrier(); os._exit(4)",
    "killed": "import os\nw.Barrier()\nif r: os.kill(os.getpid(), 9)\nw.Barrier()",
    "two groups": "c = w.Split(r, r); i = c.Create_intercomm(0, w, 1 - r); print(i.allreduce(r))",
    "spawn": """
import sys
code = "from mpi4py import MPI; p = MPI.Comm.Get_parent(); p.send(7, 0); p.Disconnect()"
if r == 0:
    c = MPI.COMM_SELF.Spawn(sys.executable, ["-c", code])
    print(c.recv())
    c.Disconnect()
""",
    "one-sided": """
b = bytearray(4)
n = MPI.Win.Create(b, 1, comm=w)
n.Fence(); n.Put([bytes([r + 1] * 4), MPI.BYTE], 1 - r); n.Fence()
print(bytes(b)); n.Free()
""",
    "persistent": """
b = bytearray(4)
s, v = w.Send_init(bytes([r] * 4), 1 - r), w.Recv_init(b, 1 - r)
for _ in range(3): MPI.Prequest.Startall([s, v]); MPI.Request.Waitall([s, v])
print(bytes(b)); s.Free(); v.Free()
""",
    "nonblocking collective": "q = w.Ibarrier(); q.Wait(); print('met')",
    "fork": f"import os\nw.Barrier()\n{FORK.partition('; ')[2]}\nw.Barrier()",
    "errors": "try: w.send(1, 99)\nexcept MPI.Exception as e: print(e.Get_error_class())",
}


def outcome(
    command: list[str], directory: Path, variables: dict[str, str], given: str = ""
) -> tuple[int, list[str], list[str]]:
    """Exit code, and what was printed, in any order; without process ids and addresses."""
    done = subprocess.run(
        command,
        cwd=directory,
        env=variables,
        input=given,
        capture_output=True,
        text=True,
        timeout=JOB_TIMEOUT_S,
        check=False,
    )
    texts = (re.sub(r"0x[0-9a-f]+|\b\d{3,}\b", "#", text) for text in (done.stdout, done.stderr))
    printed, told = (sorted(text.splitlines()) for text in texts)
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return code, printed, [line for line in told if not line.startswith(OWN_WORDS)]


def recorded(command: list[str]) -> list[str]:
    return perfscope_command("run", "--quiet", "--output", "trace", "--", *command)


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.long) for name in THOROUGH)]
)
def test_a_job_is_the_same_recorded(name: str, tmp_path: Path) -> None:
    job = JOBS[name]
    kept = {key: value for key, value in job_variables().items() if key not in job.changes}
    variables = kept | {key: value for key, value in job.changes.items() if value is not None}
    plain = outcome(job.command, tmp_path, variables, job.given)
    assert outcome(recorded(job.command), tmp_path, variables, job.given) == plain


@pytest.mark.long
@pytest.mark.parametrize("name", RANKS)
def test_ranks_are_the_same_recorded(name: str, tmp_path: Path) -> None:
    mpi = environments.mpi("mpich")
    program = f"from mpi4py import MPI\nw = MPI.COMM_WORLD\nr = w.rank\n{RANKS[name]}"
    command = [str(word) for word in mpi.python_command(2, "-c", program)]
    variables = job_variables(mpi.variables)
    plain = outcome(command, tmp_path, variables)
    assert outcome(recorded(command), tmp_path, variables) == plain
