"""torch.distributed: process groups, collectives that block the host, exposed gradient exchange.

DistributedDataParallel reduces gradients inside the backward pass, out of Python's sight. What a
rank waits there begins when its own last gradient is ready: with nothing left to compute, the rest
of the backward pass is exposed communication.
"""

from __future__ import annotations

from _thread import get_ident
from time import monotonic_ns

from .. import metadata, recorder
from . import torch, torch_compile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

    AnyFunction = Callable[..., Any]

NAME = "torch.distributed"
SEPARATOR = "\x1e"
"""Between the parts of a record's name: this package, the operation, the group, its members."""

GRADIENTS = "gradient_exchange"
_BLOCKING_BACKENDS = ("gloo", "mpi")
_COLLECTIVES = (
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
_WITH_ROOT = ("broadcast", "gather", "reduce", "scatter")


class Group:
    """A process group as far as its operations can be timed on the host."""

    def __init__(self, c10d: Any, group: Any) -> None:
        self.ranks = [int(rank) for rank in c10d.get_process_group_ranks(group)]
        self.backend = str(c10d.get_backend(group)).lower()
        self.is_blocking = self.backend in _BLOCKING_BACKENDS
        is_world = group is c10d.GroupMember.WORLD
        label = "world" if is_world else str(getattr(group, "group_name", ""))
        members = "" if is_world else ",".join(str(rank) for rank in self.ranks)
        self._ending = SEPARATOR + label + SEPARATOR + members
        self._ordinals: dict[str, int] = {}

    def emit(self, operation: str, begin_ns: int, end_ns: int, root: int = -1) -> None:
        """Writes one operation; its ordinal on the group is what matches it across ranks."""
        ordinal = self.take_ordinal(operation)
        rec = recorder.current
        if rec is not None and end_ns >= begin_ns:
            name = rec.name(NAME + SEPARATOR + operation + self._ending)
            rec.phase(recorder.Phase.COMMUNICATION, name, ordinal, root, begin_ns, end_ns)

    def take_ordinal(self, operation: str) -> int:
        """How many operations of this stream the group has had; each call counts."""
        stream = operation if operation == GRADIENTS else ""
        ordinal = self._ordinals.get(stream, 0)
        self._ordinals[stream] = ordinal + 1
        return ordinal


_groups: dict[int, tuple[Any, Group]] = {}
exchanges_in_backward = False
"""Whether backward passes are timed as a whole, because a model exchanges its gradients there."""
_depth = 0  # collectives call each other; only the outermost is recorded


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


becomes_rank: Callable[[int, int], None] | None = None
"""In a worker: what makes it a rank once it has initialized a process group."""


def install(module: ModuleType) -> None:
    """Process groups and collectives; before anybody can have imported the functions."""
    torch_compile.replace(module, "init_process_group", _make_init(module))
    torch_compile.replace(module, "destroy_process_group", _make_destroy())
    for name in _COLLECTIVES:
        torch_compile.replace(module, name, _make_collective(module, name))


def _make_init(c10d: ModuleType) -> Callable[[AnyFunction], AnyFunction]:
    torch_module = torch_compile.module()

    def make(original: AnyFunction) -> AnyFunction:
        def init_process_group(*args: Any, **kwargs: Any) -> Any:
            if torch_module.compiler.is_compiling():
                return original(*args, **kwargs)
            begin_ns = monotonic_ns()
            result = original(*args, **kwargs)
            if recorder.current is None and becomes_rank is not None:
                guarded(becomes_rank, int(c10d.get_rank()), int(c10d.get_world_size()))
            if recorder.current is not None:
                guarded(_note_world, c10d, begin_ns)
            return result

        return init_process_group

    return make


def _note_world(c10d: Any, begin_ns: int) -> None:
    rec = recorder.current
    if rec is None:
        return
    rank, size = int(c10d.get_rank()), int(c10d.get_world_size())
    rec.set_rank(rank, size)
    world = group_of(c10d, None)
    blocking = world is not None and world.is_blocking
    metadata.framework(
        NAME, rank=rank, size=size, backend=world.backend if world else "", blocking=blocking
    )
    if not blocking:
        metadata.framework(NAME, exposed_reason=not_blocking(world.backend if world else "this"))
    _emit_moment(rec, "init_process_group", begin_ns)
    metadata.write()


def not_blocking(backend: str) -> str:
    """Why nothing is told of groups with a backend like NCCL."""
    return "collectives of backend %s do not block the host, and the device is not recorded" % (
        backend
    )


def _emit_moment(rec: recorder.Recorder, operation: str, begin_ns: int) -> None:
    name = rec.name(NAME + SEPARATOR + operation + SEPARATOR + "world" + SEPARATOR)
    rec.phase(recorder.Phase.COMMUNICATION, name, recorder.NO_STEP, -1, begin_ns, monotonic_ns())


def _make_destroy() -> Callable[[AnyFunction], AnyFunction]:
    torch_module = torch_compile.module()

    def make(original: AnyFunction) -> AnyFunction:
        def destroy_process_group(group: Any = None) -> Any:
            if torch_module.compiler.is_compiling():
                return original(group)
            rec = recorder.current
            begin_ns = monotonic_ns()
            try:
                return original(group)
            finally:
                if rec is not None and rec is recorder.current and group is None:
                    _groups.clear()
                    guarded(_emit_moment, rec, "destroy_process_group", begin_ns)

        return destroy_process_group

    return make


def _make_collective(c10d: ModuleType, name: str) -> Callable[[AnyFunction], AnyFunction]:
    torch_module = torch_compile.module()

    def make(original: AnyFunction) -> AnyFunction:
        def collective(*args: Any, **kwargs: Any) -> Any:
            global _depth
            if torch_module.compiler.is_compiling():
                return original(*args, **kwargs)
            # Inside a model's backward pass it is part of the exchange that is timed as a whole.
            if (
                recorder.current is None
                or _depth
                or (torch.backward_depth and exchanges_in_backward)
                or get_ident() != recorder.main_thread
            ):
                return original(*args, **kwargs)
            _depth = 1
            begin_ns = monotonic_ns()
            try:
                result = original(*args, **kwargs)
            finally:
                _depth = 0
            guarded(_note_collective, c10d, original, name, begin_ns, args, kwargs, result)
            return result

        return collective

    return make


def _note_collective(
    c10d: Any,
    original: AnyFunction,
    name: str,
    begin_ns: int,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
) -> None:
    end_ns = monotonic_ns()
    given = _bound(original, args, kwargs)
    group = group_of(c10d, given.get("group"))
    if group is None:
        return
    if hasattr(result, "wait"):
        # The ordinal counts on: the others' next operation is still this rank's next one.
        group.take_ordinal(name)
        metadata.framework(NAME, asynchronous="waiting for them is not measured")
    elif group.is_blocking:
        group.emit(name, begin_ns, end_ns, _root(name, given, group))


_parameters: dict[AnyFunction, tuple[str, ...]] = {}


def _bound(function: AnyFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name; without defaults."""
    names = _parameters.get(function)
    if names is None:
        import inspect

        names = tuple(inspect.signature(function).parameters)
        _parameters[function] = names
    given = dict(zip(names, args))
    given.update(kwargs)
    return given


def _root(name: str, given: dict[str, Any], group: Group) -> int:
    """World rank of the root, -1 where there is none."""
    if name.partition("_object")[0] not in _WITH_ROOT:
        return -1
    for key in ("group_src", "group_dst"):
        if isinstance(given.get(key), int):
            return int(group.ranks[given[key]])
    for key in ("src", "dst"):
        if isinstance(given.get(key), int):
            return int(given[key])
    return int(group.ranks[0])


def guarded(action: Callable[..., None], *arguments: Any) -> None:
    """Runs what only the recording needs; a failure is noted and the program goes on."""
    try:
        action(*arguments)
    except Exception as error:
        from .. import notes

        notes.failure("torch.distributed", error)
