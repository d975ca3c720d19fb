"""What is said of waiting for locks, queues and other threads where nobody was seen to cause it."""

from perfscope.attribution.waited_for import WaitedFor
from perfscope.findings.core.wording import place
from perfscope.losses.entry import Entry

ALONE = {
    WaitedFor.LOCK: "Hold that lock only where it is needed",
    WaitedFor.FILE_LOCK: "Hold that lock only to read or write",
    WaitedFor.QUEUE: "Fill that queue ahead of time, by more threads or processes",
}
"""By what is waited for: what to change."""

UNSEEN = (
    "who keeps it waiting was not seen: threads are sampled while they use a CPU, other processes "
    "not at all"
)


def unseen(entry: Entry) -> str:
    """What to change, and that nobody was seen at work meanwhile."""
    kind = entry.waited_for or WaitedFor.UNKNOWN
    at = place(entry.frame) or "the main thread"
    change = ALONE.get(kind, "Wait there only when there is nothing else to do")
    return f"{change}: {at} waits for {kind.value}; {UNSEEN}."
