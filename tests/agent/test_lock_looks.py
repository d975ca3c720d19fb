"""Whether a thread that uses a CPU keeps the interpreter's lock, told by asking for it."""

from collections.abc import Callable

import pytest

from tests.agent.jobs import RANK_ZERO, Job

BESIDE = """
import hashlib, threading, time
is_over = []
def compute():
    data = bytes(1 << 22)
    while not is_over:
        {work}
thread = threading.Thread(target=compute)
thread.start()
time.sleep(2.0)
is_over.append(True)
thread.join()
"""
GIVES_BACK, KEEPS = "hashlib.sha256(data).digest()", "sum(number for number in range(1000))"


@pytest.mark.parametrize("work", [GIVES_BACK, KEEPS], ids=["gives back", "keeps"])
def test_a_line_of_python_keeps_the_lock_or_gives_it_back(
    job: Callable[..., Job], work: str
) -> None:
    looks = job(BESIDE.format(work=work), variables=RANK_ZERO).process.metadata["lock_looks"]
    assert looks["asked"] >= 3
    assert (looks["taken"] > looks["asked"] / 2) is (work == KEEPS)
