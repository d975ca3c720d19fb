"""What a prediction assumes, in sentences."""

from collections.abc import Sequence

from perfscope.replay.model import Edit
from perfscope.replay.producers import PrefetchQueue
from perfscope.units import format_seconds

ALWAYS = "Work that is not edited keeps its measured duration, and each call its transfer time."
QUEUES = "Input queues are not modeled: they may run empty sooner when the ranks wait less."
NO_INTERVAL = (
    "Too few steps, or segments between collectives of all ranks, to estimate an interval."
)
CREATION = (
    "Creating and freeing communicators (MPI_Comm_split, MPI_Comm_dup) keeps its measured time, "
    "with the waiting for other ranks in it."
)
NO_PRODUCERS = (
    "nothing is known about the input queues: no batches put into a queue.Queue were recorded, and "
    "too few batches were waited for to tell how long one takes to make"
)
TOO_MANY_CALLS = "fusing leaves too many calls to replay one by one together with input queues"
SINGLE_TIMES = (
    "Of what only stack samples tell of, single times are not known apart: each is taken to be so "
    "much shorter, and none to be left out."
)
BACKGROUND = (
    "What is moved aside begins when it did, one after the other on each rank, and slows nothing "
    "else down."
)
NETWORK = "A faster network is faster for all sizes alike."
BYTES = (
    "Collectives of other sizes take what the latency and bandwidth fitted to this run say; making "
    "the data smaller costs nothing."
)
FUSE = (
    "The results of fused allreduces are not needed before the last of them; copying them together "
    "costs nothing, and each call less saves what a rank takes from one to the next."
)
ESTIMATED = (
    "What a fused allreduce takes is an estimate, as the calls were of one size: all but 1 GB/s of "
    "their time is latency, which it pays once. The interval does not allow for that."
)
OVERLAP = (
    "Gradients become ready evenly during the backward pass, and sending them does not slow it "
    "down."
)
KEPT_WORKERS = (
    "Workers that stay have the first batch of an epoch ready as they have the others, and take no "
    "time between epochs."
)
PRODUCERS = "Producers do not slow each other or the training down."


def assumptions_of(edits: Sequence[Edit]) -> tuple[str, ...]:
    """What a prediction assumes because of the edits that it is of."""
    told = {
        BACKGROUND: any(edit.background for edit in edits),
        NETWORK: any(edit.network != 1.0 for edit in edits),
        BYTES: any(edit.bytes != 1.0 for edit in edits),
        FUSE: any(edit.fuse_bytes is not None for edit in edits),
        OVERLAP: any(edit.overlap for edit in edits),
        KEPT_WORKERS: any(edit.keeps_workers for edit in edits),
        PRODUCERS: any(edit.producers is not None for edit in edits),
    }
    return tuple(sentence for sentence, counts in told.items() if counts)


def about_queues(queues: Sequence[PrefetchQueue], ranks: int) -> tuple[str, ...]:
    """What is known about the input queues that are replayed."""
    found = []
    if measured := [queue for queue in queues if queue.is_measured]:
        found.append(
            f"The input queues of {len(measured)} of {ranks} ranks are replayed: each batch takes "
            "as long to make as it did."
        )
    if learned := [queue for queue in queues if not queue.is_measured]:
        mean_ns = sum(queue.mean_service_ns for queue in learned) / len(learned)
        depths = sorted({queue.depth for queue in learned})
        deep = f"{depths[0]}" if len(depths) == 1 else f"{depths[0]} to {depths[-1]}"
        found.append(
            f"Of the input queues of {len(learned)} of {ranks} ranks only the mean time to make a "
            f"batch is known, {format_seconds(mean_ns * 1e-9)}, from batches that were waited for; "
            f"they are taken to hold {deep}."
        )
    if len(queues) < ranks:
        found.append("Nothing is known about the input queues of the other ranks.")
    return tuple(found)
