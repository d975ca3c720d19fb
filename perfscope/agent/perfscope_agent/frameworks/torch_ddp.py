"""DistributedDataParallel: what is exposed of its gradient exchange.

It reduces gradients inside the backward pass, out of Python's sight. What a rank waits there begins
when its own last gradient is ready: with nothing left to compute, the rest of the backward pass is
exposed communication. Other ways to train in parallel are recognized and said not to be measured.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from time import monotonic_ns

from .. import metadata, recorder
from . import (
    torch,
    torch_buffers,
    torch_compile,
    torch_gradients,
    torch_groups,
    torch_volumes,
    wrap,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

    from .torch_groups import Group

    AnyFunction = Callable[..., Any]

_BUFFERS = "broadcast_buffers"
_SEVERAL_GROUPS = "one backward pass exchanges gradients in several process groups"
_DEEPSPEED = "DeepSpeed exchanges gradients in its own ways: what is exposed is not told"


class _Model:
    """A DistributedDataParallel model and when its last gradient was ready."""

    def __init__(self, c10d: Any, model: Any) -> None:
        import weakref

        self._model = weakref.ref(model)
        self._c10d = c10d
        self.group: Group | None = None
        self.ready_ns = 0
        self.exchanges = 0

    def watch(self) -> bool:
        """Hooks the gradients' arrival; False where there is nothing to be timed."""
        model = self._model()
        group = None if model is None else torch_groups.group_of(self._c10d, model.process_group)
        if model is None or group is None:
            return False
        reason = _no_exposure(model, group)
        if reason:
            metadata.framework(torch_groups.NAME, exposed_reason=reason)
            return False
        self.group = group

        def ready(_gradients: Any) -> None:
            self.ready_ns = monotonic_ns()

        torch_compile.hide(ready)
        for node in _accumulators(model):
            node.register_prehook(ready)
        metadata.framework(torch_groups.NAME, exposed="DistributedDataParallel")
        return True

    def wrapped(self) -> Any:
        """The program's own model, None where it is gone."""
        model = self._model()
        return None if model is None else model.module

    def buckets(self) -> int:
        """In how many collectives its gradients were exchanged, 0 where that is not told."""
        model = self._model()
        logger = None if model is None else getattr(model, "logger", None)
        if logger is None:
            return 0
        return int(logger._get_ddp_logging_data().ints_map.get("num_buckets_reduced", 0))

    def has_exchanged(self) -> bool:
        """Whether the backward pass that has just ended exchanged gradients of this model."""
        model = self._model()
        # Set by the forward pass: False below no_sync(), while gradients are only accumulated.
        return (
            self.ready_ns > 0
            and model is not None
            and bool(getattr(model, "require_forward_param_sync", True))
        )


def _no_exposure(model: Any, group: Group) -> str:
    """Why the end of the backward pass would not tell what was exposed, "" where it does."""
    if not group.is_blocking:
        return torch_groups.not_blocking(group.backend)
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
    A backward pass may begin where the program computes no gradients of what it does.
    """
    torch_module = torch_compile.module()
    parameters = getattr(model, "_module_parameters", None) or list(model.parameters())
    # The reducer of the model keeps these nodes alive as long as itself.
    with torch_module.inference_mode(False), torch_module.enable_grad():
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
        def init(self: Any, *args: Any, **kwargs: Any) -> Any:
            if torch_module.compiler.is_compiling():
                return original(self, *args, **kwargs)
            result = original(self, *args, **kwargs)
            if recorder.current is not None:
                metadata.framework(torch_groups.NAME, ddp=True)
                torch_groups.guarded(lambda: _await_backward(_Model(c10d, self)))
                torch_groups.guarded(torch_buffers.made, self, original)
            return result

        return init

    def make_broadcast(original: AnyFunction) -> AnyFunction:
        def broadcast(self: Any, tensors: Any, size: Any, authoritative_rank: int = 0) -> Any:
            if torch_module.compiler.is_compiling():
                return original(self, tensors, size, authoritative_rank)
            if recorder.current is None or get_ident() != recorder.main_thread:
                return original(self, tensors, size, authoritative_rank)
            is_root = torch_groups.guarded(_is_root, c10d, self, authoritative_rank)
            looked = torch_groups.guarded(torch_buffers.begins, self, tensors, is_root is False)
            begin_ns = monotonic_ns()
            with torch_groups.OUTERMOST:
                result = original(self, tensors, size, authoritative_rank)
            torch_groups.guarded(_note_buffers, c10d, self, tensors, begin_ns, authoritative_rank)
            if looked is not None:
                torch_groups.guarded(torch_buffers.ends, looked, tensors)
            return result

        return broadcast

    model = module.DistributedDataParallel
    torch_compile.replace(model, "__init__", make_init)
    torch_compile.replace(model, "_distributed_broadcast_coalesced", make_broadcast)


def _await_backward(model: _Model) -> None:
    """Has a model watched from its next backward pass on."""
    _new_models.append(model)
    if _before_backward not in torch.before_backward:
        torch.before_backward.append(_before_backward)
        torch.after_backward.append(_after_backward)


def _note_buffers(c10d: Any, model: Any, tensors: Any, begin_ns: int, root: int) -> None:
    end_ns = monotonic_ns()
    group = torch_groups.group_of(c10d, model.process_group)
    if group is not None and group.is_blocking:
        size = torch_volumes.nbytes(list(tensors))
        moved = (size, 0) if root == group.own else (0, size)
        group.emit(_BUFFERS, begin_ns, end_ns, group.ranks[root], moved)


def _is_root(c10d: Any, model: Any, root: int) -> bool:
    """Whether this rank sends; who has no part in the group receives nothing, too."""
    group = torch_groups.group_of(c10d, model.process_group)
    return group is None or root == group.own


def _before_backward() -> None:
    # Not at construction: moving or compiling the model may still come.
    while _new_models:
        model = _new_models.pop()
        if torch_groups.guarded(model.watch):
            _models.append(model)
            torch_groups.exchanges_in_backward = True
    for model in _models:
        model.ready_ns = 0


def _after_backward(end_ns: int) -> None:
    exchanged: list[_Model] = []
    group: Group | None = None
    ready_ns = 0
    for model in _models:
        if not model.has_exchanged():
            continue
        if exchanged and model.group is not group:
            metadata.framework(torch_groups.NAME, exposed_reason=_SEVERAL_GROUPS)
            return
        exchanged.append(model)
        # Only with the last gradient of all models there is nothing left to compute.
        group, ready_ns = model.group, max(ready_ns, model.ready_ns)
    if group is not None:
        group.emit(torch_groups.GRADIENTS, ready_ns, end_ns)
        _note_exchanges(exchanged)


def _note_exchanges(exchanged: list[_Model]) -> None:
    """Counts the exchanges, and looks at what they hold the more rarely the more there were."""
    is_apart = len(exchanged) < len(_models)
    if is_apart and any(model.exchanges and model not in exchanged for model in _models):
        metadata.framework(torch_groups.NAME, exchanges_apart=True)
    most = 0
    for model in exchanged:
        model.exchanges += 1
        most = max(most, model.exchanges)
    if most > 1 and (most & (most - 1) == 0 or torch_gradients.is_news):
        torch_groups.guarded(_note_gradients, exchanged)


def _note_gradients(exchanged: list[_Model]) -> None:
    models = [model for model in (one.wrapped() for one in exchanged) if model is not None]
    told = torch_gradients.described(models)
    if len(exchanged) == 1:  # of several models each has buckets of its own
        told["buckets"] = exchanged[0].buckets()
    metadata.framework(torch_groups.NAME, gradients=told)


def note_deepspeed(module: ModuleType) -> None:
    """DeepSpeed is recognized where an engine is made; who imports it need not train with it."""
    engine = getattr(module, "DeepSpeedEngine", None)
    if engine is not None:
        wrap.replace(engine, "__init__", _with_note)


def _with_note(original: AnyFunction) -> AnyFunction:
    def made(*args: Any, **kwargs: Any) -> Any:
        metadata.framework("deepspeed", exposed_reason=_DEEPSPEED)
        return original(*args, **kwargs)

    return made
