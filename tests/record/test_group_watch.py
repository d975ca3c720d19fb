"""Which signals the whole process group got, and which only perfscope."""

import subprocess
import sys

ASKS = """
import os, signal, sys, time
from perfscope.record.group_watch import GroupWatch
watched = frozenset({signal.SIGUSR1})
signal.pthread_sigmask(signal.SIG_BLOCK, watched)
os.setpgrp()
with GroupWatch(watched) as watch:
    for target, pause_s in ((os.getpgrp(), 0.3), (0, 0.3), (os.getpgrp(), 0.0)):
        if target:
            os.killpg(target, signal.SIGUSR1)
        else:
            os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(pause_s)  # as a process without a CPU
        signal.sigwait(watched)
        print(watch.was_sent_to_group(signal.SIGUSR1))
"""


def test_a_signal_to_the_group_is_told_however_late_it_is_asked_for() -> None:
    done = subprocess.run([sys.executable, "-c", ASKS], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "True"], done.stderr
