"""Garbage collections are measured where they happen, and disturb nothing of the program's."""

from collections.abc import Callable

from tests.agent.jobs import RANK_ZERO, Job
from tests.native.recorder.decode import SAMPLE, Record

COLLECTION = 11
HEARD = """
import gc, os, signal, time
def heard():  # whether collections are listened to
    return sum("collector" in repr(one) or "_FuncPtr" in repr(one) for one in gc.callbacks)
"""
LONG = (
    HEARD
    + """
gc.disable()  # of many small collections some go unheard
junk = [[i] for i in range(150000)]
while not heard():
    time.sleep(0.01)
spent = 0.0
for _ in range(10):
    begin = time.perf_counter()
    gc.collect()
    spent += time.perf_counter() - begin
    time.sleep(0.01)
print(spent)
"""
)
INTERRUPTED = (
    HEARD
    + """
junk = [[i] for i in range(300000)]
class Stop(Exception):
    pass
def stop(*_):
    raise Stop
signal.signal(signal.SIGALRM, stop)
while not heard():
    time.sleep(0.01)
caught = 0
for _ in range(12):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        while True:
            gc.collect()
    except Stop:
        caught += 1
print(caught)
"""
)
STORM = (
    HEARD
    + """
gc.set_threshold(10)
def fill():  # thousands of collections a second: unheard at most some ten times as long as heard
    kept = [[] for _ in range(200)]
    time.sleep(0.002)
seen = []
end = time.monotonic() + 60
while seen != [0, 1, 0, 1] and time.monotonic() < end:
    fill()
    now = heard()
    seen += [now] if seen[-1:] != [now] else []
child = os.fork()
if child == 0:
    os._exit(heard())
print(seen, os.waitpid(child, 0)[1])
"""
)


def collections(job: Job) -> list[Record]:
    recording = job.process.recording
    assert recording is not None
    return [one for one in recording.of_kind(SAMPLE) if one.op == COLLECTION]


def test_long_collections_are_told_one_by_one(job: Callable[..., Job]) -> None:
    done = job(LONG, variables=RANK_ZERO)
    rows = collections(done)
    assert rows
    told = sum(row.t1 - row.t0 + row.sent for row in rows)
    facts = done.process.metadata["garbage_collector"]
    assert facts["collections"][2] >= 10
    assert facts["heard"] >= 10
    assert 0.9 * facts["heard_ns"] <= told <= facts["heard_ns"]
    assert 0.5 * float(done.stdout) <= facts["heard_ns"] / 1e9 <= 1.05 * float(done.stdout)
    assert all(row.seq <= 2 for row in rows)


def test_what_a_signal_raises_during_a_collection_reaches_the_program(
    job: Callable[..., Job],
) -> None:
    done = job(INTERRUPTED, variables=RANK_ZERO)
    assert (done.exit_code, done.stdout, done.stderr) == (0, b"12\n", b"")


def test_a_program_that_collects_all_the_time_is_listened_to_in_turns(
    job: Callable[..., Job],
) -> None:
    done = job(STORM, variables=RANK_ZERO)
    assert done.stdout == b"[0, 1, 0, 1] 0\n", done.stderr
    (rank,) = done.of_role("rank")
    facts = rank.metadata["garbage_collector"]
    assert 0 < facts["heard"] < sum(facts["collections"]) / 2
