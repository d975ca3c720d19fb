"""torch.distributed: process groups and collectives, those that are waited for later included."""

from __future__ import annotations

from time import monotonic_ns

from .. import metadata, recorder
from . import (
    torch,
    torch_async,
    torch_compile,
    torch_flight,
    torch_given,
    torch_groups,
    torch_messages,
    torch_volumes,
)
from .torch_groups import NAME, OUTERMOST, SEPARATOR, end, group_of, guarded, is_timed, not_blocking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

    from .torch_groups import Group, Open

    AnyFunction = Callable[..., Any]

_WITH_ROOT = ("broadcast", "gather", "reduce", "scatter")


def install(module: ModuleType) -> None:
    """Process groups and collectives; before anybody can have imported the functions."""
    torch_compile.replace(module, "init_process_group", _make_init(module))
    torch_compile.replace(module, "destroy_process_group", _make_destroy())
    for name in torch_groups.COLLECTIVES:
        torch_compile.replace(module, name, _make(module, name, _begin_collective, _note_start))
    for name in torch_groups.MESSAGES:
        begin, note = torch_messages.begin, torch_messages.note_start
        torch_compile.replace(module, name, _make(module, name, begin, note))
    torch_async.install_work(module)


def _make_init(c10d: ModuleType) -> Callable[[AnyFunction], AnyFunction]:
    torch_module = torch_compile.module()

    def make(original: AnyFunction) -> AnyFunction:
        def init_process_group(*args: Any, **kwargs: Any) -> Any:
            if torch_module.compiler.is_compiling():
                return original(*args, **kwargs)
            begin_ns = monotonic_ns()
            result = original(*args, **kwargs)
            if recorder.current is None:
                guarded(_join, c10d)
            if recorder.current is not None:
                guarded(_note_world, c10d, begin_ns)
            return result

        return init_process_group

    return make


def _join(c10d: Any) -> None:
    recorder.of_training(int(c10d.get_rank()), int(c10d.get_world_size()))


def _note_world(c10d: Any, begin_ns: int) -> None:
    rec = recorder.current
    if rec is None:
        return
    rank, size = int(c10d.get_rank()), int(c10d.get_world_size())
    recorder.tell_rank(rec, rank, size)
    world = group_of(c10d, None)
    blocking = world is not None and world.is_blocking
    metadata.framework(
        NAME, rank=rank, size=size, backend=world.backend if world else "", blocking=blocking
    )
    if not blocking:
        metadata.framework(NAME, exposed_reason=not_blocking(world.backend if world else "this"))
    _emit_moment(rec, "init_process_group", begin_ns)
    torch_flight.begin(c10d)
    metadata.write()


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
            if group is None:
                guarded(torch.end_steps)
                guarded(torch_flight.read_all)
            begin_ns = monotonic_ns()
            try:
                return original(group)
            finally:
                if rec is not None and rec is recorder.current and group is None:
                    torch_groups.forget()
                    guarded(_emit_moment, rec, "destroy_process_group", begin_ns)

        return destroy_process_group

    return make


def _make(
    c10d: ModuleType,
    name: str,
    begin: Callable[[Any, str, dict[str, Any]], Open | None],
    note_start: Callable[[Any, str, dict[str, Any], int, Any], None],
) -> Callable[[AnyFunction], AnyFunction]:
    """Records the calls of a function.

    `begin` writes the begin of a call that returns when it is done, as a rank may hang in it for
    ever; `note_start` is told of the others, with their begin and what they returned.
    """
    torch_module = torch_compile.module()

    def make(original: AnyFunction) -> AnyFunction:
        def call(*args: Any, **kwargs: Any) -> Any:
            if torch_module.compiler.is_compiling():
                return original(*args, **kwargs)
            if not is_timed():
                return original(*args, **kwargs)
            given = guarded(_bound, original, args, kwargs)
            opened = None if given is None else guarded(begin, c10d, name, given)
            begin_ns = monotonic_ns()
            try:
                with OUTERMOST:
                    result = original(*args, **kwargs)
            finally:
                end(opened)
            if given is not None and opened is None:
                guarded(note_start, c10d, name, given, begin_ns, result)
            return result

        return call

    return make


def _begin_collective(c10d: Any, name: str, given: dict[str, Any]) -> Open | None:
    group = group_of(c10d, given.get("group"))
    if group is None or given.get("async_op") or not group.blocks(_data(given)):
        return None
    guarded(torch_given.begins, name, given, group)
    root = _root(name, given, group)
    moved = torch_volumes.volume(name, given, root == group.ranks[group.own])
    return group.begin(name, root, moved)


def _note_start(c10d: Any, name: str, given: dict[str, Any], _begin_ns: int, result: Any) -> None:
    """Writes the start of an asynchronous call."""
    group = group_of(c10d, given.get("group"))
    if group is None:
        return
    if not group.blocks(_data(given)) or not hasattr(result, "wait"):
        # The ordinal counts on: the others' next operation is still this rank's next one.
        group.take_ordinal(name)
        return
    root = _root(name, given, group)
    moved = torch_volumes.volume(name, given, root == group.ranks[group.own])
    torch_async.starts(result, group, name, root, moved)


def _data(given: dict[str, Any]) -> Any:
    return given.get("tensor") if "tensor" in given else next(iter(given.values()), None)


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
