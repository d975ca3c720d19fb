"""Which ranks use which GPU, as the driver, the framework or the environment tells it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from perfscope.trace.devices import Gpu
from perfscope.trace.metadata import noted_environment
from perfscope.trace.model import Rank, Trace

VARIABLE = "CUDA_VISIBLE_DEVICES"
MOST_DIGITS = 6
"""Of the number of a device: what is longer names none."""


class Source(Enum):
    """What tells that a rank uses a GPU, in words."""

    PROCESS_LIST = "the driver's process list"
    FRAMEWORK = "PyTorch"
    VARIABLE = "CUDA_VISIBLE_DEVICES"
    ORDER = "CUDA_VISIBLE_DEVICES and the order of the ranks on the node (assumed)"
    ALONE = "the only rank of the node (assumed)"
    NOTHING = ""

    @property
    def is_sure(self) -> bool:
        """Whether the use is seen or set, and not assumed."""
        return self not in {Source.ORDER, Source.ALONE, Source.NOTHING}


Users = dict[int, dict[int, Source]]
"""By number of the GPU: how it is known of each rank that uses it."""


def users(trace: Trace) -> Users:
    """The ranks that use each GPU.

    The driver's process lists are believed first: where they show a rank of a node, they show all
    of them. In containers they often show nobody; then PyTorch names the devices on which it holds
    memory; else $CUDA_VISIBLE_DEVICES names them; else the only rank of a node is taken to use
    what has worked there. A rank of which nothing tells uses none.
    """
    found: Users = {number: {} for number in range(len(trace.gpus))}
    for rank, numbers, how in _known(trace):
        for number in numbers:
            found[number][rank.number] = how
    return found


def unknown(trace: Trace) -> tuple[int, ...]:
    """Ranks of which nothing tells which GPU they use, or only an assumption."""
    return tuple(rank.number for rank, _, how in _known(trace) if not how.is_sure)


def may_use(trace: Trace) -> set[int]:
    """The GPUs that some rank of their node may use, as far as the environment limits them."""
    found: set[int] = set()
    for rank in trace.ranks:
        here = [n for n, gpu in enumerate(trace.gpus) if gpu.host == rank.host]
        text = noted_environment(rank.metadata).get(VARIABLE)
        found.update(here if text is None else _visible(trace, rank, here, text))
    return found


def _known(trace: Trace) -> Iterator[tuple[Rank, list[int], Source]]:
    """Of each rank the GPUs that it uses, and how that is known."""
    listed = _listed(trace)
    beside: defaultdict[str, list[int]] = defaultdict(list)
    for rank in trace.ranks:
        beside[rank.host].append(rank.number)
    shown = {rank.host for rank in trace.ranks if listed[rank.number]}
    for rank in trace.ranks:
        if rank.host in shown:
            yield rank, listed[rank.number], Source.PROCESS_LIST
        else:
            yield rank, *_told(trace, rank, beside[rank.host])


def _listed(trace: Trace) -> dict[int, list[int]]:
    """By rank the GPUs on which the driver of their node shows it, or one of its workers."""
    shown: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    for rank in trace.ranks:
        for number, pid in set(rank.gpu_processes[["gpu", "pid"]].tolist()):
            shown[trace.gpus[number].host, pid].add(number)
    return {
        rank.number: sorted(
            {
                number
                for pid in (rank.pid, *(worker.get("pid", -1) for worker in rank.workers))
                for number in shown.get((rank.host, pid), ())
            }
        )
        for rank in trace.ranks
    }


def _told(trace: Trace, rank: Rank, beside: list[int]) -> tuple[list[int], Source]:
    """What tells which GPUs a rank uses, one of those `beside` each other on its node."""
    here = [n for n, gpu in enumerate(trace.gpus) if gpu.host == rank.host]
    if named := [n for n in here if _bare(trace.gpus[n].uuid) in _framework_uuids(rank)]:
        return named, Source.FRAMEWORK
    text = noted_environment(rank.metadata).get(VARIABLE)
    if text is None:
        worked = [n for n in here if _has_worked(trace, n)] if len(beside) == 1 else []
        return worked, Source.ALONE if worked else Source.NOTHING
    visible = list(_visible(trace, rank, here, text))
    if not visible and text.strip() not in ("", "-1"):
        return [], Source.NOTHING
    if len(visible) <= 1:
        return visible, Source.VARIABLE
    if len(beside) == 1:
        return [n for n in visible if _has_worked(trace, n)], Source.VARIABLE
    return [visible[beside.index(rank.number) % len(visible)]], Source.ORDER


def _bare(uuid: str) -> str:
    """As PyTorch writes it: without GPU- or MIG- before it."""
    return uuid.partition("-")[2].lower()


def _framework_uuids(rank: Rank) -> set[str]:
    devices = rank.framework("torch").get("devices")
    rows = devices if isinstance(devices, list) else []
    told = [device for device in rows if isinstance(device, Mapping)]
    return {str(device.get("uuid", "")).lower() for device in told if device.get("reserved_bytes")}


def _visible(trace: Trace, rank: Rank, here: Sequence[int], text: str) -> Iterator[int]:
    """The GPUs that a program sees, in its order: CUDA stops at the first entry that is not one."""
    for entry in text.split(","):
        number = _entry(trace, rank, here, entry.strip())
        if number is None:
            return
        yield number


def _entry(trace: Trace, rank: Rank, here: Sequence[int], entry: str) -> int | None:
    gpus = trace.gpus
    if not (entry.isascii() and entry.isdigit()):
        # CUDA takes the beginning of a uuid for it, where that is unique.
        found = [n for n in here if len(entry) > 4 and gpus[n].uuid.startswith(entry)]
        return found[0] if len(found) == 1 else None
    if not _is_in_order_of_bus(rank, [gpus[n] for n in here]):
        return None
    if len(entry) > MOST_DIGITS:
        return None
    found = [n for n in here if gpus[n].index == int(entry)]
    if len({gpus[n].board or gpus[n].uuid for n in found}) > 1:
        # Each rank of an isolated job counts its own GPUs from 0: those that it sampled itself.
        own = set(rank.gpu_samples["gpu"].tolist())
        found = [n for n in found if n in own]
    return found[0] if found else None


def _is_in_order_of_bus(rank: Rank, gpus: Sequence[Gpu]) -> bool:
    """Whether CUDA counts the devices as the driver does: by speed first, unless all are equal."""
    same = len({gpu.name for gpu in gpus}) <= 1
    return same or noted_environment(rank.metadata).get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"


def _has_worked(trace: Trace, number: int) -> bool:
    rows: Any
    for rank in trace.ranks:
        rows = rank.gpu_samples
        if bool((rows["busy"][rows["gpu"] == number] > 0).any()):
            return True
    return False
