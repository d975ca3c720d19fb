"""Which communication a device does while it computes nothing, and what hides or spares it."""

import re
from collections.abc import Sequence
from enum import Enum

import numpy as np

from perfscope.matching.intervals import Cumulative, union
from perfscope.metrics.devices.devices import DeviceUse
from perfscope.schema.enums import PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.devices import DeviceKind
from perfscope.trace.elsewhere import ask_ranks
from perfscope.trace.model import Rank, Table, Trace
from perfscope.units import NS


class Exchange(Enum):
    """What ranks exchange, as far as the name of a call or kernel tells.

    The words are what names contain, in small letters alone: the first that fits decides.
    """

    PERSONAL = ("alltoall", "dispatch", "combine", "notify", "internode", "intranode")
    SHARDS = ("allgather", "reducescatter")
    SUMS = ("allreduce", "crossdevicereduce")
    MESSAGES = ("sendrecv", "send", "recv")
    OTHER = ()


_PERSONAL_DIGITS = re.compile(r"(?<![a-z])(all_?2_?all|a2a)(?![a-z])", re.IGNORECASE)
_NO_LETTER = re.compile(r"[^a-z]+")
_PARAMETERS = re.compile(r"(?<!\A)[<(](?!anonymous namespace\)).*", re.DOTALL)


@dataclass(frozen=True)
class Exposed:
    """One call or kernel, and how long it ran on a device that computed nothing."""

    name: str
    exchange: Exchange
    seconds: float


def exchange_of(name: str) -> Exchange:
    """What a call or kernel of this name exchanges."""
    if _PERSONAL_DIGITS.search(name):
        return Exchange.PERSONAL
    text = _NO_LETTER.sub("", name.lower())
    return next(
        (one for one in Exchange if any(word in text for word in one.value)), Exchange.OTHER
    )


def function_of(kernel: str) -> str:
    """The name of a kernel without what it returns and its parameters."""
    return _PARAMETERS.sub("", kernel.removeprefix("void ").strip()) or kernel


def exposed_kernels(
    rank: Rank, device: DeviceUse, window: tuple[int, int], names: Sequence[str]
) -> list[Exposed]:
    """The communication of one device that no computation hides, by call or kernel, most first.

    What runs at once counts for each, so that the sum may be above the time exposed.
    """
    totals: dict[str, int] = {}
    [told] = ask_ranks(_alone, [rank], [device.device], [window])
    for call, kernel, ns in told:
        name = names[call] if 0 <= call < len(names) else function_of(names[kernel])
        totals[name] = totals.get(name, 0) + ns
    ordered = sorted(totals.items(), key=lambda item: -item[1])
    return [Exposed(name, exchange_of(name), ns * NS) for name, ns in ordered if ns > 0]


def _alone(rows: Table, device: int, window: tuple[int, int]) -> list[tuple[int, int, int]]:
    """Call, kernel and ns without computation of each communication of a device."""
    rows = rows[(rows["device"] == device) & (rows["t1"] > window[0])]
    rows = rows[rows["t0"] < window[1]]
    talk = rows[rows["kind"] == DeviceKind.COMMUNICATION]
    begins, ends = np.clip(talk["t0"], *window), np.clip(talk["t1"], *window)
    alone = ends - begins - _computing(rows).between(begins, ends)
    return list(zip(talk["op"].tolist(), talk["name"].tolist(), alone.tolist(), strict=True))


def _computing(rows: Table) -> Cumulative:
    """When a device computes; without any computation, never."""
    work = rows[rows["kind"] == DeviceKind.COMPUTE]
    edges = np.stack(union(work["t0"], work["t1"]), 1).ravel()
    at_work = np.zeros(max(len(edges) - 1, 0), np.bool_)
    at_work[::2] = True
    return Cumulative.of(edges, at_work)


def trains(trace: Trace) -> bool:
    """Whether a backward pass was seen: only then gradients can be what is summed up."""
    return any(bool((rank.phases["kind"] == PhaseKind.BACKWARD).any()) for rank in trace.ranks)


GRADIENTS = (
    (
        "Send less: gradients in 16 bits (ddp_comm_hooks.default_hooks.bf16_compress_hook), or "
        "several micro-batches for each exchange (model.no_sync())."
    ),
    (
        "Let the exchange begin earlier: smaller first buckets "
        "(DistributedDataParallel(bucket_cap_mb=...)), and no parameters that are used last."
    ),
)
"""For PyTorch's data parallelism, where gradients are summed up."""
BY_EXCHANGE = {
    Exchange.SUMS: (
        (
            "Hide the sum behind computation (split each batch in two and compute one half while "
            "the other is exchanged), or send less: fewer bits, or larger pieces at a time."
        ),
    ),
    Exchange.SHARDS: (
        (
            "Let the next layer be gathered while this one computes: prefetching (FSDP's "
            "forward_prefetch and backward_prefetch, DeepSpeed's overlap_comm)."
        ),
        (
            "Gather less: keep gathered parameters where memory allows "
            "(reshard_after_forward=False, ZeRO stage 2), or shard within a node only."
        ),
    ),
    Exchange.PERSONAL: (
        (
            "Hide the all-to-all of one micro-batch behind the computation of another, or behind "
            "what needs none of it (shared experts, the dense layers)."
        ),
        (
            "Exchange less: fewer bits for each token or row, or experts and tables placed so that "
            "less leaves the node."
        ),
    ),
    Exchange.MESSAGES: (
        (
            "Hide messages between the stages of a pipeline behind more micro-batches or an "
            "interleaved schedule, and parts of an all-to-all behind another micro-batch's "
            "computation."
        ),
    ),
    Exchange.OTHER: (
        "Hide it behind computation on another stream, or exchange less, and less often.",
    ),
}
"""What to do by what is exchanged."""
