"""What AMD's profilers tell, in whatever file, as events that the decoder of Kineto's takes."""

from perfscope.readers.common.amounts import LATEST_NS
from perfscope.readers.kineto.made import Event, interval

Span = tuple[int, int]
"""When something began and ended, in ns of the profiler's clock."""


def span(begin: object, end: object) -> Span | None:
    """Two times that an event can have, None for any others."""
    if not isinstance(begin, int) or not isinstance(end, int):
        return None
    return (begin, end) if 0 < begin <= end < LATEST_NS else None


def kernel(name: str, when: Span, device: int, queue: int, call: object) -> Event:
    """A kernel on a queue of a device, and the correlation of its launch."""
    told = _told(call, device=device, stream=queue)
    return interval("kernel", name, *when, queue, told)


def copy(direction: str, when: Span, device: int, call: object, size: object = None) -> Event:
    """A copy from or to a device, or a fill of its memory, which stands among them."""
    told = _told(call, device=device, stream=0)
    if isinstance(size, int):
        told["bytes"] = size
    category = "gpu_memset" if direction.lower().startswith("fill") else "gpu_memcpy"
    return interval(category, direction, *when, 0, told)


def call(kind: str, name: str, when: Span, thread: int, correlation: object) -> Event:
    """A call of the host: a range that the program marked, or one of HIP, HSA or a library."""
    category = "user_annotation" if is_marker(kind) else "cuda_runtime"
    return interval(category, name, *when, thread, _told(correlation))


def is_marker(kind: str) -> bool:
    """Whether a kind of calls is that of roctx."""
    return "MARKER" in kind.upper()


def is_to_host(direction: str) -> bool:
    """Whether a copy comes from a device, to which it then belongs."""
    return direction.upper().endswith(("DEVICE_TO_HOST", "D2H"))


def _told(call: object, **numbers: int) -> dict[str, int]:
    known = {"correlation": call} if isinstance(call, int) else {}
    return {**numbers, **known}
