"""What a signal does to a command: those that only read and write files end at once, cleanly.

An exception would do where Python runs a function of ours; in a callback of an import or of a
weak reference Python prints it, forgets it, and the command goes on.
"""

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

OF_THEIR_OWN = ("run", "sweep", "doctor", "watch")
"""Commands that start processes, and pass signals on or end what they started first; and one that
has a terminal to give back as it was."""

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def watched(words: Sequence[str], *, for_good: bool) -> Iterator[None]:
    """Lets signals end the command in the block with the exit code that shells give for them.

    With `for_good` the process ends with the command, so that nothing is put back.
    """
    command = next((word for word in words if not word.startswith("-")), "")
    is_ours = command not in OF_THEIR_OWN
    before = {}
    if is_ours and threading.current_thread() is threading.main_thread():
        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
                before[number] = signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items() if not for_good else ():
            signal.signal(number, handler)


def _end(number: int, _: object) -> None:
    from perfscope.files import remove_unfinished

    remove_unfinished()
    os._exit(128 + number)
