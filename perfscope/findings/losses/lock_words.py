"""What is said of waiting for locks, queues and other threads where nobody was seen to cause it."""

from perfscope.findings.core.wording import place
from perfscope.losses.entry import Entry
from perfscope.schema.enums import AwaitedThing

ALONE = {
    AwaitedThing.LOCK: (
        "Hold the lock only while touching shared data, wherever the program takes it"
    ),
    AwaitedThing.FILE_LOCK: (
        "Hold the lock only for the actual read or write, wherever the program takes it"
    ),
    AwaitedThing.QUEUE: (
        "Fill the queue ahead of time, or with more threads or processes, as far as CPUs are free "
        "for them"
    ),
    AwaitedThing.BUSY_LOOP: (
        "Where the loop only looks whether a time has come or something has changed, sleep until "
        "then, or wait for an event, and leave the CPU to others"
    ),
    AwaitedThing.EVENT_LOOP: (
        "No coroutine can go on meanwhile: start together what does not depend on each other, as "
        "with asyncio.gather, or compute in that time. Where they await another thread or process "
        "(asyncio.to_thread, run_in_executor), what that one does is what takes the time"
    ),
}
"""By what is waited for: what to change."""

UNSEEN = (
    "not seen: samples are taken of rank processes alone, and in them of threads that use at least "
    "10 % of a CPU for 0.25 s, or that Python knows while the main thread waits for one of them"
)
"""Who causes the wait, where nobody was seen at work meanwhile."""


def unseen(entry: Entry) -> str:
    """Who waits for what, and what to change."""
    kind = entry.waited_for or AwaitedThing.UNKNOWN
    at = place(entry.frame) or "The main thread"
    change = ALONE.get(kind, "Wait only when there is nothing else to do")
    return f"{at} waits for {kind.label}. {change}."
