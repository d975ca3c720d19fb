"""Asynchronous collectives of torch.distributed: what was started, and where a rank waits for it.

A call with `async_op=True` returns an object to wait for, a functional collective a tensor that is
waited for when it is used. The wait is exposed communication; it carries the group and the ordinal
of what it completes.
"""

from __future__ import annotations

from time import monotonic_ns

from . import torch_compile, torch_groups, torch_volumes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

    from .torch_groups import Group, Moved

    AnyFunction = Callable[..., Any]

_MOST_TENSORS = 4096
_FUNCTIONAL = {
    "all_gather_tensor": "all_gather_into_tensor",
    "all_gather_into_tensor_coalesced": "all_gather_coalesced",
    "all_gather_single_coalesced": "all_gather_coalesced",
    "reduce_scatter_tensor_coalesced": "reduce_scatter_tensor",
    "reduce_scatter_single_coalesced": "reduce_scatter_single",
}
"""Functional collectives that have another name than the same operation of torch.distributed."""

_works: dict[int, tuple[Any, Group, int]] = {}
"""What was started and not yet waited for, by identity; weak references."""
_tensors: dict[int, tuple[Group, int]] = {}
"""The same of functional collectives, by the address of the data."""


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    _works.clear()
    _tensors.clear()


def starts(
    work: Any,
    group: Group,
    operation: str,
    root: int,
    moved: Moved | None,
    *,
    begin_ns: int | None = None,
) -> None:
    """Writes the start of an asynchronous call, and remembers what is to be waited for.

    `begin_ns` is the call's begin, where nothing but communication is done in it.
    """
    import weakref

    if begin_ns is None:
        ordinal = _emit_start(group, operation, root, moved)
    else:
        ordinal = group.emit(operation, begin_ns, monotonic_ns(), root, moved)
    key = id(work)
    _works[key] = (weakref.ref(work, lambda _: _works.pop(key, None)), group, ordinal)


def _emit_start(group: Group, operation: str, root: int, moved: Moved | None) -> int:
    # a moment: what the call did before it handed the data over was work of this rank
    now_ns = monotonic_ns()
    return group.emit(operation + torch_groups.ASYNCHRONOUS, now_ns, now_ns, root, moved)


def install_work(module: ModuleType) -> None:
    """`Work.wait`, below which every asynchronous call is completed."""
    work_type = getattr(module, "Work", None)
    if work_type is None:
        return
    torch_module = torch_compile.module()

    def make(original: AnyFunction) -> AnyFunction:
        def wait(self: Any, *args: Any, **kwargs: Any) -> Any:
            if torch_module.compiler.is_compiling() or not _works:
                return original(self, *args, **kwargs)
            known = _works.get(id(self))
            if known is None or known[0]() is not self or not torch_groups.is_timed():
                return original(self, *args, **kwargs)
            opened = torch_groups.guarded(known[1].begin_wait, known[2])
            try:
                result = original(self, *args, **kwargs)
            finally:
                torch_groups.end(opened)
            _works.pop(id(self), None)
            return result

        return wait

    kind: Any = type(vars(work_type).get("wait"))
    if torch_compile.replace(work_type, "wait", make) and kind is not type(make):
        # torch.compile would look into a function of Python; it stops at the same kind as before
        work_type.wait = kind(work_type.wait)


def install_functional(module: ModuleType) -> None:
    """Functional collectives and `wait_tensor`, which the tensors they return call when used."""
    import inspect

    for name, function in list(vars(module).items()):
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        parameters = list(inspect.signature(function).parameters)
        # those that work in place hand on to torch.distributed
        if len(parameters) > 1 and "group" in parameters and "async_op" not in parameters:
            torch_compile.replace(module, name, _make_functional(module, name, tuple(parameters)))
    torch_compile.replace(module, "wait_tensor", _make_wait_tensor())


def _make_functional(
    module: ModuleType, name: str, parameters: tuple[str, ...]
) -> Callable[[AnyFunction], AnyFunction]:
    torch_module = torch_compile.module()
    plain = name[: -len("_autograd")] if name.endswith("_autograd") else name
    operation = _FUNCTIONAL.get(plain, plain)

    def make(original: AnyFunction) -> AnyFunction:
        def functional(*args: Any, **kwargs: Any) -> Any:
            if torch_module.compiler.is_compiling():
                return original(*args, **kwargs)
            if not torch_groups.is_timed() or not torch_groups.is_known(operation):
                return original(*args, **kwargs)
            begin_ns = monotonic_ns()
            with torch_groups.OUTERMOST:
                result = original(*args, **kwargs)
            given = dict(zip(parameters, args))
            given.update(kwargs)
            torch_groups.guarded(
                _note_functional,
                module,
                operation,
                begin_ns,
                given,
                given.get(parameters[0]),
                result,
            )
            return result

        return functional

    return make


def _note_functional(
    module: Any, operation: str, begin_ns: int, given: dict[str, Any], tensors: Any, result: Any
) -> None:
    c10d = module.c10d
    name = module._resolve_group_name(given["group"], given.get("tag", ""))
    group = torch_groups.group_of(c10d, c10d._resolve_process_group(name))
    if group is None:
        return
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    pending = [one for one in results if not getattr(one, "completed", True)]
    root = int(group.ranks[given["src"]]) if isinstance(given.get("src"), int) else -1
    moved = (torch_volumes.nbytes(tensors), torch_volumes.nbytes(results))
    if not group.blocks(tensors):
        group.take_ordinal(operation)
    elif pending:
        ordinal = _emit_start(group, operation, root, moved)
        if len(_tensors) >= _MOST_TENSORS:
            _tensors.clear()  # of a program that never looks at its results
        _tensors.update({_address(one.elem): (group, ordinal) for one in pending})
    else:
        group.emit(operation, begin_ns, monotonic_ns(), root, moved)


def _address(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())


def _make_wait_tensor() -> Callable[[AnyFunction], AnyFunction]:
    torch_module = torch_compile.module()

    def make(original: AnyFunction) -> AnyFunction:
        def wait_tensor(tensor: Any) -> Any:
            if torch_module.compiler.is_compiling() or not _tensors or not torch_groups.is_timed():
                return original(tensor)
            begin_ns = monotonic_ns()
            result = original(tensor)
            torch_groups.guarded(_note_wait, tensor, begin_ns, monotonic_ns())
            return result

        return wait_tensor

    return make


def _note_wait(tensor: Any, begin_ns: int, end_ns: int) -> None:
    known = _tensors.pop(_address(getattr(tensor, "elem", tensor)), None)
    if known is not None:
        group, ordinal = known
        group.emit_wait(ordinal, begin_ns, end_ns)
