"""torch.distributed: process groups, collectives that block the host, exposed gradient exchange.

DistributedDataParallel reduces gradients inside the backward pass, out of Python's sight. What a
rank waits there begins when its own last gradient is ready: with nothing left to compute, the rest
of the backward pass is exposed communication.
"""

from __future__ import annotations

import sys
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
BUFFERS = "broadcast_buffers"
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
_ROOTS = {"src": "", "group_src": "group", "dst": "", "group_dst": "group"}


class _Group:
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


_groups: dict[int, tuple[Any, _Group]] = {}
_depth = 0  # collectives call each other; only the outermost is recorded


def _group(c10d: Any, group: Any) -> _Group | None:
    """What is known of a process group, None where this process is not in it."""
    group = group or c10d.GroupMember.WORLD
    if group is None or group is c10d.GroupMember.NON_GROUP_MEMBER:
        return None
    known = _groups.get(id(group))
    if known is None or known[0] is not group:
        known = (group, _Group(c10d, group))
        _groups[id(group)] = known
    return known[1]


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
            if recorder.current is not None:
                _guarded(_note_world, c10d, begin_ns)
            return result

        return init_process_group

    return make


def _note_world(c10d: Any, begin_ns: int) -> None:
    rec = recorder.current
    if rec is None:
        return
    rank, size = int(c10d.get_rank()), int(c10d.get_world_size())
    rec.set_rank(rank, size)
    world = _group(c10d, None)
    blocking = world is not None and world.is_blocking
    metadata.framework(
        NAME, rank=rank, size=size, backend=world.backend if world else "", blocking=blocking
    )
    if not blocking:
        metadata.framework(NAME, exposed_reason=_not_blocking(world.backend if world else "this"))
    _emit_moment(rec, "init_process_group", begin_ns)
    metadata.write()


def _not_blocking(backend: str) -> str:
    return "collectives of backend %s do not block the host, and the device is not recorded" % (
        backend
    )


def _emit_moment(rec: recorder.Recorder, operation: str, begin_ns: int) -> None:
    name = rec.name(NAME + SEPARATOR + operation + SEPARATOR + "world" + SEPARATOR)
    rec.phase(
        recorder.Phase.COMMUNICATION, name, recorder.NO_STEP, -1, begin_ns, monotonic_ns()
    )


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
                    _guarded(_emit_moment, rec, "destroy_process_group", begin_ns)

        return destroy_process_group

    return make


def _make_collective(c10d: ModuleType, name: str) -> Callable[[AnyFunction], AnyFunction]:
    torch_module = torch_compile.module()

    def make(original: AnyFunction) -> AnyFunction:
        def collective(*args: Any, **kwargs: Any) -> Any:
            global _depth
            if torch_module.compiler.is_compiling():
                return original(*args, **kwargs)
            # Inside a backward pass it is a part of the exchange that is timed as a whole.
            if (
                recorder.current is None
                or _depth
                or torch.backward_depth
                or get_ident() != recorder.main_thread
            ):
                return original(*args, **kwargs)
            _depth = 1
            begin_ns = monotonic_ns()
            try:
                result = original(*args, **kwargs)
            finally:
                _depth = 0
            _guarded(_note_collective, c10d, original, name, begin_ns, args, kwargs, result)
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
    group = _group(c10d, given.get("group"))
    if group is None:
        return
    if hasattr(result, "wait"):
        # The ordinal counts on: the others' next operation is still this rank's next one.
        group.take_ordinal(name)
        metadata.framework(NAME, asynchronous="waiting for them is not measured")
    elif group.is_blocking:
        group.emit(name, begin_ns, end_ns, _root(given, group))


_parameters: dict[AnyFunction, tuple[str, ...]] = {}


def _bound(
    function: AnyFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The arguments by name; without defaults."""
    names = _parameters.get(function)
    if names is None:
        import inspect

        names = tuple(inspect.signature(function).parameters)
        _parameters[function] = names
    given = dict(zip(names, args))
    given.update(kwargs)
    return given


def _root(given: dict[str, Any], group: _Group) -> int:
    """World rank of the root, -1 where there is none."""
    for name in ("group_src", "group_dst"):
        if isinstance(given.get(name), int):
            return group.ranks[given[name]]
    for name in ("src", "dst"):
        if isinstance(given.get(name), int):
            return int(given[name])
    return group.ranks[0] if any(name in _ROOTS for name in given) else -1


class _Model:
    """A DistributedDataParallel model and when its last gradient was ready."""

    def __init__(self, c10d: Any, model: Any) -> None:
        import weakref

        self._model = weakref.ref(model)
        self._c10d = c10d
        self.group: _Group | None = None
        self.ready_ns = 0

    def watch(self) -> bool:
        """Hooks the gradients' arrival; False where there is nothing to be timed."""
        model = self._model()
        group = None if model is None else _group(self._c10d, model.process_group)
        if model is None or group is None:
            return False
        reason = _no_exposure(model, group)
        if reason:
            metadata.framework(NAME, exposed_reason=reason)
            return False
        self.group = group

        def ready(_gradients: Any) -> None:
            self.ready_ns = monotonic_ns()

        torch_compile.hide(ready)
        for node in _accumulators(model):
            node.register_prehook(ready)
        metadata.framework(NAME, exposed="DistributedDataParallel")
        return True

    def end_backward(self, end_ns: int) -> None:
        """Writes what was exposed, if this backward pass exchanged gradients."""
        ready_ns, self.ready_ns = self.ready_ns, 0
        model = self._model()
        # Set by the forward pass: False below no_sync(), while gradients are only accumulated.
        if ready_ns and model is not None and getattr(model, "require_forward_param_sync", True):
            assert self.group is not None
            self.group.emit(GRADIENTS, ready_ns, end_ns)


def _no_exposure(model: Any, group: _Group) -> str:
    """Why the end of the backward pass would not tell what was exposed, "" where it does."""
    if not group.is_blocking:
        return _not_blocking(group.backend)
    if any(parameter.device.type != "cpu" for parameter in model.parameters()):
        return "gradients on a device are exchanged without blocking the host"
    if getattr(model, "_delay_all_reduce_all_params", False):
        return "this model exchanges its gradients outside the backward pass"
    if any(hasattr(parameter, "_in_backward_optimizers") for parameter in model.parameters()):
        return "the optimizer runs inside the backward pass"
    return ""


def _accumulators(model: Any) -> list[Any]:
    """The graph nodes that add up each parameter's gradient.

    Hooks on the parameters themselves would show in copies, in pickles and to torch.compile.
    """
    parameters = getattr(model, "_module_parameters", None) or list(model.parameters())
    # The reducer of the model keeps these nodes alive as long as itself.
    return [
        parameter.expand_as(parameter).grad_fn.next_functions[0][0]
        for parameter in parameters
        if parameter.requires_grad
    ]


_new_models: list[_Model] = []
_models: list[_Model] = []


def install_ddp(module: ModuleType) -> None:
    """Exposed communication of DistributedDataParallel, and the broadcast of its buffers."""
    c10d = sys.modules["torch.distributed.distributed_c10d"]

    torch_module = torch_compile.module()

    def make_init(original: AnyFunction) -> AnyFunction:
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            if torch_module.compiler.is_compiling():
                return original(self, *args, **kwargs)
            original(self, *args, **kwargs)
            if recorder.current is not None:
                _guarded(lambda: _new_models.append(_Model(c10d, self)))
            return None

        return init

    def make_broadcast(original: AnyFunction) -> AnyFunction:
        def broadcast(self: Any, tensors: Any, size: Any, authoritative_rank: int = 0) -> Any:
            if torch_module.compiler.is_compiling():
                return original(self, tensors, size, authoritative_rank)
            begin_ns = monotonic_ns()
            result = original(self, tensors, size, authoritative_rank)
            if recorder.current is not None and get_ident() == recorder.main_thread:
                _guarded(_note_buffers, c10d, self, begin_ns, authoritative_rank)
            return result

        return broadcast

    model = module.DistributedDataParallel
    torch_compile.replace(model, "__init__", make_init)
    torch_compile.replace(model, "_distributed_broadcast_coalesced", make_broadcast)
    torch.before_backward.append(_before_backward)
    torch.after_backward.append(_after_backward)


def _note_buffers(c10d: Any, model: Any, begin_ns: int, root: int) -> None:
    group = _group(c10d, model.process_group)
    if group is not None and group.is_blocking:
        group.emit(BUFFERS, begin_ns, monotonic_ns(), group.ranks[root])


def _before_backward() -> None:
    # Not at construction: moving or compiling the model may still come.
    while _new_models:
        model = _new_models.pop()
        if model.watch():
            _models.append(model)
    for model in _models:
        model.ready_ns = 0


def _after_backward(end_ns: int) -> None:
    for model in _models:
        model.end_backward(end_ns)


def install_fsdp(_module: ModuleType) -> None:
    """FSDP is recognised; what it exposes cannot be told from the end of the backward pass."""
    metadata.framework(
        "fsdp",
        exposed=None,
        exposed_reason="FSDP gathers and scatters parameters all through a step",
    )


def _guarded(action: Callable[..., None], *arguments: Any) -> None:
    """Runs what only the recording needs; a failure is noted and the program goes on."""
    try:
        action(*arguments)
    except Exception as error:
        from .. import notes

        notes.failure("torch.distributed", error)
