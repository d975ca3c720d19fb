"""Sets, reads and meets the signal SIGBUS in many ways; says what it saw."""

import ctypes
import faulthandler
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import threading

SHOW = ["sh", "-c", "grep SigIgn /proc/self/status"]


def say(*words: object) -> None:
    sys.stdout.write(" ".join(str(word) for word in words) + "\n")
    sys.stdout.flush()


def fault() -> None:
    """Reads a page of its own whose file has gone."""
    with tempfile.TemporaryFile() as file:
        file.truncate(mmap.PAGESIZE)
        with mmap.mmap(file.fileno(), mmap.PAGESIZE) as pages:
            file.truncate(0)
            say(pages[0])


def record_metrics() -> None:
    """Stores records, on this thread."""


if "PERFSCOPE_DIR" in os.environ:
    recorder = ctypes.CDLL(os.environ["PERFSCOPE_RECORDER"])
    assert recorder.ps_open() == 0
    recorder.ps_base_path.restype = ctypes.c_char_p
    recorder.ps_metric.argtypes = [ctypes.c_uint32] * 2 + [ctypes.c_int32, ctypes.c_double]

    def record_metrics() -> None:
        """Stores records, on this thread."""
        for step in range(100):
            recorder.ps_metric(0, step, 0, 1.0)

    if sys.argv[2] == "shortened":
        os.truncate(recorder.ps_base_path() + b".rec", 0)
        recorder.ps_metric(0, 0, 0, 1.0)
libc = ctypes.CDLL(None)
libc.signal.restype = ctypes.c_void_p
libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
say(signal.getsignal(signal.SIGBUS), libc.signal(signal.SIGBUS, None))
kind = sys.argv[1]
if kind == "handler":
    signal.signal(signal.SIGBUS, lambda *_: say("handled"))
    os.kill(os.getpid(), signal.SIGBUS)
    say(callable(signal.signal(signal.SIGBUS, signal.SIG_DFL)))
    os.kill(os.getpid(), signal.SIGBUS)
elif kind == "ignored":
    say(libc.signal(signal.SIGBUS, 1), libc.signal(signal.SIGBUS, 1))
    os.kill(os.getpid(), signal.SIGBUS)
    say(subprocess.run(SHOW, capture_output=True, text=True, check=True).stdout)
elif kind == "blocked":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGBUS])
    os.kill(os.getpid(), signal.SIGBUS)
    record_metrics()
    say(signal.sigpending(), signal.sigwait([signal.SIGBUS]))
    signal.pthread_kill(threading.get_ident(), signal.SIGBUS)
    record_metrics()
    say(signal.sigpending(), signal.sigwaitinfo([signal.SIGBUS]).si_code)
    say(signal.pthread_sigmask(signal.SIG_UNBLOCK, []))
elif kind == "faulthandler":
    faulthandler.enable()
    fault()
elif kind == "default":
    fault()
elif kind == "killed":
    os.kill(os.getpid(), signal.SIGBUS)
say("end")
