"""Process groups of torch.distributed: their operations, numbered and written."""

from __future__ import annotations

from _thread import get_ident
from time import monotonic_ns

from .. import recorder
from . import torch, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Tuple

    Open = Tuple[recorder.Recorder, int]
    Moved = Tuple[int, ...]
    """Bytes sent and received, and of a message its tag, unless it is 0."""

NAME = "torch.distributed"
FLIGHT = "torch.flight"
SEPARATOR = "\x1e"
"""Between the parts of a record's name: who saw it, the operation, the group, its members."""

GRADIENTS = "gradient_exchange"
ASYNCHRONOUS = " (async)"
MESSAGES = ("send", "recv", "isend", "irecv")
"""What one rank says to another."""

BLOCKING_BACKENDS = ("gloo", "mpi")
COLLECTIVES = (
    "all_reduce",
    "all_reduce_coalesced",
    "all_gather",
    "all_gather_object",
    "all_gather_single",
    "all_gather_into_tensor",
    "all_gather_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "gather_object",
    "monitored_barrier",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
)
_WAIT = "wait"
_FIRST_MESSAGE = 1 << 30
"""Messages of a group are numbered from here on: only some ranks take part, so that these numbers
tell what a rank waits for and match nothing."""
_MOST_CALLS, _KEPT_CALLS = 8192, 64
_STILL_RUNNING = 1 << 63


class Group:
    """A process group as far as its operations can be timed on the host."""

    def __init__(self, c10d: Any, group: Any) -> None:
        self.ranks = [int(rank) for rank in c10d.get_process_group_ranks(group)]
        self._backends = _backends(c10d, group)
        self.backend = ",".join(sorted(set(self._backends.values())))
        self.own = int(c10d.get_group_rank(group, c10d.get_rank()))
        is_world = group is c10d.GroupMember.WORLD
        label = "world" if is_world else str(getattr(group, "group_name", ""))
        members = "" if is_world else ",".join(str(rank) for rank in self.ranks)
        self._ending = SEPARATOR + label + SEPARATOR + members
        self._ordinals: dict[str, int] = {}

    @property
    def is_blocking(self) -> bool:
        """Whether all its operations block the host, whatever device their data is on."""
        return all(name in BLOCKING_BACKENDS for name in self._backends.values())

    def blocks(self, data: Any) -> bool:
        """Whether operations on these tensors block the host."""
        while isinstance(data, (list, tuple)) and data:
            data = data[0]
        device = getattr(getattr(data, "device", None), "type", None)
        if device not in self._backends:
            return self.is_blocking
        return self._backends[device] in BLOCKING_BACKENDS

    def emit(
        self,
        operation: str,
        begin_ns: int,
        end_ns: int,
        root: int = -1,
        moved: Moved | None = None,
    ) -> int:
        """Writes one operation; its ordinal on the group is what matches it across ranks."""
        ordinal = self.take_ordinal(operation)
        self._write(operation + self._ending + _volume(moved), ordinal, root, begin_ns, end_ns)
        return ordinal

    def begin(self, operation: str, root: int, moved: Moved | None) -> Open | None:
        """Writes that an operation begins: until it is ended, it is what this rank is in."""
        return self._open(operation, self.take_ordinal(operation), root, moved)

    def begin_wait(self, ordinal: int) -> Open | None:
        """Writes that the wait for an operation begins, which was started earlier."""
        return self._open(_WAIT, ordinal, -1, None)

    def _open(self, operation: str, ordinal: int, root: int, moved: Moved | None) -> Open | None:
        rec = recorder.current
        if rec is None:
            return None
        name = rec.name(NAME + SEPARATOR + operation + self._ending + _volume(moved))
        token = int(rec.phase_begin(recorder.Phase.COMMUNICATION, name, ordinal, root))
        return rec, token

    def emit_wait(self, ordinal: int, begin_ns: int, end_ns: int) -> None:
        """Writes the wait for an operation that was started earlier."""
        self._write(_WAIT + self._ending, ordinal, -1, begin_ns, end_ns)

    def _write(self, text: str, ordinal: int, root: int, begin_ns: int, end_ns: int) -> None:
        rec = recorder.current
        if rec is not None and end_ns >= begin_ns:
            name = rec.name(NAME + SEPARATOR + text)
            rec.phase(recorder.Phase.COMMUNICATION, name, ordinal, root, begin_ns, end_ns)

    def emit_unseen(
        self,
        rec: recorder.Recorder,
        operation: str,
        number: int,
        at_ns: int,
        moved: Moved | None,
    ) -> None:
        """Writes an operation that only the flight recorder has seen, with PyTorch's own number."""
        ending = self._ending + _volume(moved)
        name = rec.name(FLIGHT + SEPARATOR + operation + ASYNCHRONOUS + ending)
        rec.phase(recorder.Phase.COMMUNICATION, name, number, -1, at_ns, at_ns)

    @property
    def next_ordinal(self) -> int:
        """Of the collective that the group is to have next."""
        return self._ordinals.get("", 0)

    def take_ordinal(self, operation: str) -> int:
        """How many operations of this stream the group has had; each call counts."""
        stream = operation if operation == GRADIENTS else ""
        first = 0
        if operation in MESSAGES:
            stream, first = MESSAGES[0], _FIRST_MESSAGE
        ordinal = self._ordinals.get(stream, first)
        self._ordinals[stream] = ordinal + 1
        return ordinal


def _volume(moved: Moved | None) -> str:
    return "" if moved is None else SEPARATOR + ":".join("%d" % part for part in moved)


def _backends(c10d: Any, group: Any) -> dict[str, str]:
    """The backend for each kind of device; a group that was given none has one for each."""
    name = str(c10d.get_backend(group)).lower()
    told = getattr(c10d, "get_backend_config", None)
    text = str(told(group)).lower() if told is not None else ""
    pairs = [pair.partition(":") for pair in text.split(",") if ":" in pair]
    return {device: backend for device, _, backend in pairs} or {"": name}


_groups: dict[int, tuple[Any, Group]] = {}
exchanges_in_backward = False
"""Whether backward passes are timed as a whole, because a model exchanges its gradients there."""


class _Outermost:
    """Collectives call each other; only the outermost is recorded."""

    depth = 0
    calls: list[list[int]] | None = None
    """Begin and end of those so far, in order, where somebody takes them."""
    _call = [0, 0]

    def __enter__(self) -> None:
        self.depth += 1
        if self.calls is not None and self.depth == 1:
            if len(self.calls) >= _MOST_CALLS:
                del self.calls[: _MOST_CALLS // 2]
            self._call = [monotonic_ns(), _STILL_RUNNING]
            self.calls.append(self._call)

    def __exit__(self, *_: object) -> None:
        if self.depth == 1:
            self._call[1] = monotonic_ns()
        self.depth -= 1

    def take(self) -> list[list[int]]:
        """The calls so far; the last ones are kept, as what they do may not be known yet."""
        taken = list(self.calls or ())
        if self.calls:
            del self.calls[: max(0, len(taken) - _KEPT_CALLS)]
        return taken


OUTERMOST = _Outermost()


def is_timed() -> bool:
    """Whether a collective or a wait that begins now is recorded by itself."""
    # Inside a model's backward pass it is part of the exchange that is timed as a whole.
    return (
        recorder.current is not None
        and not OUTERMOST.depth
        and not (torch.backward_depth and exchanges_in_backward)
        and get_ident() == recorder.main_thread
    )


def is_known(operation: str) -> bool:
    """Whether the operation is one of those that are told apart."""
    return operation in COLLECTIVES


def forget() -> None:
    """Forgets the groups, when all of them are destroyed."""
    _groups.clear()


def group_of(c10d: Any, group: Any) -> Group | None:
    """What is known of a process group, None where this process is not in it."""
    group = group or c10d.GroupMember.WORLD
    if group is None or group is c10d.GroupMember.NON_GROUP_MEMBER:
        return None
    known = _groups.get(id(group))
    if known is None or known[0] is not group:
        known = (group, Group(c10d, group))
        _groups[id(group)] = known
    return known[1]


def not_blocking(backend: str) -> str:
    """Why nothing is told of groups with a backend like NCCL."""
    return "collectives of backend %s do not block the host, and the device is not recorded" % (
        backend
    )


def end(opened: Open | None) -> None:
    """Writes that an operation has returned; a child that was forked in it has no part in it."""
    if opened is not None and opened[0] is recorder.current:
        opened[0].phase_end(opened[1])


def guarded(action: Callable[..., Any], *arguments: Any) -> Any:
    """Runs what only the recording needs; a failure is noted and the program goes on, with None."""
    return wrap.guarded("torch.distributed", action, *arguments)
