"""What is said of waiting for locks, queues and other threads where nobody was seen to cause it."""

from perfscope.findings.core.wording import place
from perfscope.losses.entry import Entry
from perfscope.schema.enums import AwaitedThing

ALONE = {
    AwaitedThing.LOCK: "Find the code that holds it, and hold it only where it is needed",
    AwaitedThing.FILE_LOCK: (
        "Find the code that holds it, and hold it only for the actual read or write"
    ),
    AwaitedThing.QUEUE: (
        "Fill it ahead of time, or by more threads or processes, as far as CPUs are free for them"
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
    change = ALONE.get(kind, "Wait there only when there is nothing else to do")
    return f"{at} waits for {kind.label}. {change}."
