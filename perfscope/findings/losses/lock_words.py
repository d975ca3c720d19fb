"""What is said of waiting for locks, queues and other threads where nobody was seen to cause it."""

from perfscope.findings.core.wording import place
from perfscope.losses.entry import Entry
from perfscope.schema.enums import AwaitedThing

ALONE = {
    AwaitedThing.LOCK: "Hold that lock only where it is needed",
    AwaitedThing.FILE_LOCK: "Hold that lock only to read or write",
    AwaitedThing.QUEUE: "Fill that queue ahead of time, by more threads or processes",
}
"""By what is waited for: what to change."""

UNSEEN = (
    "who keeps it waiting was not seen: of threads only those are sampled that use a tenth of a "
    "CPU for a quarter of a second, and of processes only ranks"
)


def unseen(entry: Entry) -> str:
    """What to change, and that nobody was seen at work meanwhile."""
    kind = entry.waited_for or AwaitedThing.UNKNOWN
    at = place(entry.frame) or "the main thread"
    change = ALONE.get(kind, "Wait there only when there is nothing else to do")
    return f"{change}: {at} waits for {kind.label}; {UNSEEN}."
