"""Which process of its job this one is, where the framework knows and no launcher has told.

Every framework of several processes learns its place in the job by a call. What follows that call
is the same for all, so a framework is one line of `DECLARED`.
"""

from __future__ import annotations

import sys

from .. import metadata, notes, recorder
from . import wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

    Place = tuple[int, int]
    AnyFunction = Callable[..., Any]

_FIRST_TASKS = ("chief", "master", "worker")
"""TensorFlow numbers these before others, as its `multi_worker_util.id_in_cluster` does."""
_INSIDE = "its collectives run inside compiled functions; only a profile of {} can tell them apart"
_OWN_CONNECTIONS = "what it exchanges goes over connections of its own"


class Declared:
    """A framework that numbers processes.

    Attributes:
        framework: its name in the metadata.
        function: what a process joins its job by, as `Class.method` or a name in the module.
        place: the process's number and the job's size, asked of the arguments after the call.
        unmeasured: why its communication is not measured, "" where it is.
    """

    def __init__(
        self, framework: str, function: str, place: Callable[..., Place], *, unmeasured: str = ""
    ) -> None:
        self.framework = framework
        self.function = function
        self.place = place
        self.unmeasured = unmeasured


def _of_jax(state: Any, *_args: Any, **_kwargs: Any) -> Place:
    return int(state.process_id), int(state.num_processes)


_hosted: set[tuple[str, int]] = set()
"""Tasks whose servers this process has: all of a cluster where a program tries one out."""


def _of_tasks(_context: Any, server: Any, *_args: Any, **_kwargs: Any) -> Place:
    """The place of a task among all of its cluster, as a tf.train.ServerDef says them.

    A process that has the servers of all others as well is the only one.
    """
    jobs = {str(job.name): len(job.tasks) for job in server.cluster.job}
    tasks = {(name, index) for name, count in jobs.items() for index in range(count)}
    mine = str(server.job_name), int(server.task_index)
    if _hosted and tasks <= {*_hosted, mine}:
        return 0, 1
    order = [name for name in _FIRST_TASKS if name in jobs]
    order += sorted(name for name in jobs if name not in _FIRST_TASKS)
    before = order[: order.index(str(server.job_name))]
    number = sum(jobs[name] for name in before) + int(server.task_index)
    return number, sum(jobs.values())


def _of_server(server: Any, *_args: Any, **_kwargs: Any) -> Place:
    defined = server.server_def
    place = _of_tasks(None, defined)
    _hosted.add((str(defined.job_name), int(defined.task_index)))
    return place


def _of_trees(*_args: Any, **_kwargs: Any) -> Place:
    collective = sys.modules["xgboost.collective"]
    return int(collective.get_rank()), int(collective.get_world_size())


def _of_rpc(*_args: Any, **_kwargs: Any) -> Place:
    rpc = sys.modules["torch.distributed.rpc"]
    workers = rpc.api._get_current_rpc_agent().get_worker_infos()
    return int(rpc.get_worker_info().id), len(workers)


_TENSORFLOW = _INSIDE.format("TensorFlow")
DECLARED = {
    "jax._src.distributed": [
        Declared("jax", "State.initialize", _of_jax, unmeasured=_INSIDE.format("JAX"))
    ],
    "tensorflow.python.eager.context": [
        Declared("tensorflow", "Context." + name, _of_tasks, unmeasured=_TENSORFLOW)
        for name in ("enable_collective_ops", "set_server_def")
    ],
    "tensorflow.python.training.server_lib": [
        Declared("tensorflow", "Server.__init__", _of_server, unmeasured=_TENSORFLOW)
    ],
    "torch.distributed.rpc": [Declared("torch", "init_rpc", _of_rpc, unmeasured=_OWN_CONNECTIONS)],
    "xgboost.collective": [Declared("xgboost", "init", _of_trees, unmeasured=_OWN_CONNECTIONS)],
}
"""Module to wait for, and what it declares. PyTorch's own is in `torch_distributed`."""


def install(module: ModuleType) -> None:
    """Has the process noted as what its framework says it is, once it has joined its job."""
    for declared in DECLARED[module.__name__]:
        owner, _, name = declared.function.rpartition(".")
        wrap.replace(getattr(module, owner) if owner else module, name, _make(declared))


def _make(declared: Declared) -> Callable[[AnyFunction], AnyFunction]:
    def make(original: AnyFunction) -> AnyFunction:
        def join(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            try:
                _note(declared, declared.place(*args, **kwargs))
            except Exception as error:
                notes.failure("ranks of " + declared.framework, error)
            return result

        return join

    return make


def _note(declared: Declared, place: Place) -> None:
    rank, size = place
    has_others = len(_hosted) > 1 and declared.framework == "tensorflow"
    if size < 2 and not has_others:
        return
    rec = recorder.of_training(rank, size)
    if rec is not None:
        recorder.tell_rank(rec, rank, size)
        told: dict[str, Any] = {"rank": rank, "size": size}
        if declared.unmeasured:
            told["exposed_reason"] = declared.unmeasured
        metadata.framework(declared.framework, **told)
        metadata.write()


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    _hosted.clear()
