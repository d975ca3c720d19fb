"""XPlane and Perfetto files of any size, as JAX and the Perfetto SDK leave them."""

from collections.abc import Iterator
from pathlib import Path

from perfscope.export._perfetto_packets import (
    BEGIN,
    END,
    annotation,
    clocks,
    event,
    held,
    text,
    track,
    whole,
)

UNIX_NS = 1_790_000_000 * 10**9
NS_PER_KERNEL = 20_000
KERNELS_PER_STEP = 200
EVENTS_OF_XPLANE, EVENTS_OF_PERFETTO = 3, 6
OPERATORS, KERNELS = 60, 40
PS = 1000
STEP, ROOT, CALL = 1, 2, 3
"""Statistics of events."""


def _named(field: int, names: dict[int, str]) -> bytes:
    return b"".join(
        held(field, whole(1, number) + held(2, whole(1, number) + text(2, name)))
        for number, name in names.items()
    )


def write_xplane(path: Path, events: int) -> None:
    """A host that steps: per kernel an operator, its launch, and the kernel on a stream.

    Args:
        path: the file to write.
        events: about how many events it gets.
    """
    kernels = range(events // EVENTS_OF_XPLANE)
    begun = whole(3, UNIX_NS)
    host = bytearray(text(2, "python") + begun)
    device = bytearray(text(2, "Stream #14(Compute)") + begun)
    for place in kernels:
        at = place * NS_PER_KERNEL * PS
        call = held(4, whole(1, CALL) + whole(4, place + 1))
        if place % KERNELS_PER_STEP == 0:
            numbers = whole(1, STEP) + whole(4, place // KERNELS_PER_STEP)
            told = held(4, numbers) + held(4, whole(1, ROOT) + whole(4, 1))
            host += _lasting(1, at, KERNELS_PER_STEP * NS_PER_KERNEL * PS - PS, told)
        host += _lasting(3 + place % OPERATORS, at, 15_000 * PS)
        host += _lasting(2, at + 1000 * PS, 4000 * PS, call)
        device += _lasting(1 + place % KERNELS, at + 5000 * PS, 12_000 * PS, call)
    stats = _named(5, {STEP: "step_num", ROOT: "_r", CALL: "correlation_id"})
    operators = {3 + number: f"op_{number}::Execute" for number in range(OPERATORS)}
    names = _named(4, {1: "train", 2: "cuLaunchKernel", **operators})
    work = _named(4, {1 + number: f"fusion_{number}" for number in range(KERNELS)})
    planes = (("/host:CPU", host, names), ("/device:GPU:0", device, work))
    with path.open("wb") as file:
        for name, line, of in planes:
            file.write(held(1, text(2, name) + held(3, bytes(line)) + of + stats))
        file.write(held(4, b"node0"))


def _lasting(name: int, at_ps: int, length_ps: int, told: bytes = b"") -> bytes:
    return held(4, whole(1, name) + whole(2, at_ps) + whole(3, length_ps) + told)


def write_perfetto(path: Path, events: int) -> None:
    """A rank that steps: per kernel an operator, its launch and the kernel, begins and ends.

    Args:
        path: the file to write.
        events: about how many events it gets.
    """
    with path.open("wb") as file:
        file.write(clocks(UNIX_NS))
        for uuid, name in ((1, "main"), (2, "stream 7")):
            ids = whole(1, 100) + whole(2, 100 + uuid) + text(5, name)
            file.write(track(uuid, held(4, ids)))
        for place in range(events // EVENTS_OF_PERFETTO):
            file.write(b"".join(_kernel(place)))


def _kernel(place: int) -> Iterator[bytes]:
    """What happens for one kernel, on the host's track and on the stream's."""
    at = UNIX_NS + place * NS_PER_KERNEL
    call = annotation("correlation", place + 1)
    if place % KERNELS_PER_STEP == 0:
        if place:
            yield event(END, 1, at - 1)
        step = text(23, f"ProfilerStep#{place // KERNELS_PER_STEP}")
        yield event(BEGIN, 1, at, text(22, "user_annotation") + step)
    operator = text(22, "cpu_op") + text(23, f"aten::op_{place % OPERATORS}")
    launch = text(22, "cuda_runtime") + text(23, "cudaLaunchKernel") + call
    kernel = text(22, "kernel") + text(23, f"fusion_{place % KERNELS}") + call
    where = annotation("device", 0) + annotation("stream", 7)
    yield event(BEGIN, 1, at, operator)
    yield event(BEGIN, 1, at + 1000, launch)
    yield event(END, 1, at + 5000)
    yield event(BEGIN, 2, at + 5000, kernel + where)
    yield event(END, 1, at + 15_000)
    yield event(END, 2, at + 17_000)
