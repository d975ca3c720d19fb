"""Horovod: which version, how it is set up, and its calls from the program.

What it communicates is read by the recorder from its own thread; nothing here looks at tensors.
"""

from __future__ import annotations

import os
import sys
import time

from .. import metadata, recorder
from ..kinds import Any, AnyFunction, Callable, ModuleType
from . import horovod_waits, learning_rates, wrap
from .tensorflow import is_eager, traced

_SOURCE = horovod_waits.SOURCE
_SETTINGS = (
    "HOROVOD_FUSION_THRESHOLD",
    "HOROVOD_CYCLE_TIME",
    "HOROVOD_CACHE_CAPACITY",
    "HOROVOD_HIERARCHICAL_ALLREDUCE",
    "HOROVOD_AUTOTUNE",
    "HOROVOD_TIMELINE",
    "HOROVOD_CPU_OPERATIONS",
    "HOROVOD_THREAD_AFFINITY",
)
_CALLS = (
    "allreduce",
    "grouped_allreduce",
    "allgather",
    "broadcast",
    "broadcast_variables",
    "broadcast_global_variables",
    "broadcast_object",
    "broadcast_parameters",
    "broadcast_optimizer_state",
    "allgather_object",
    "alltoall",
    "synchronize",
    "barrier",
    "join",
)


def install_basics(module: ModuleType) -> None:
    """Notes rank, size and settings when Horovod has been initialized."""

    def make(original: AnyFunction) -> AnyFunction:
        def init(self: Any, *args: Any, **kwargs: Any) -> Any:
            begin_ns = time.monotonic_ns()
            result = original(self, *args, **kwargs)
            try:
                if len(args) > 1 or kwargs.get("process_sets"):
                    horovod_waits.note_sets()
                _note(self, begin_ns)
            except Exception as error:
                metadata.framework(_SOURCE, setup_reason=type(error).__name__)
            return result

        return init

    wrap.replace(module.HorovodBasics, "init", make)


def _note(basics: Any, begin_ns: int) -> None:
    package = sys.modules.get("horovod")
    settings = {name: os.environ[name] for name in _SETTINGS if name in os.environ}
    metadata.framework(
        _SOURCE,
        version=str(getattr(package, "__version__", "")),
        rank=int(basics.rank()),
        size=int(basics.size()),
        local_rank=int(basics.local_rank()),
        settings=settings,
    )
    if basics.mpi_enabled():  # without MPI, the question is an error
        metadata.framework(_SOURCE, mpi_threads_supported=bool(basics.mpi_threads_supported()))
    if basics.gloo_enabled() and basics.size() > 1:
        horovod_waits.begin(begin_ns)
    _note_group(int(basics.rank()), int(basics.size()))
    metadata.collect_versions()
    metadata.write()


_groups: list[list[int]] = []
"""Of a job whose ranks come and go: when this process became which rank of how many."""
_MOST_GROUPS = 256


def _note_group(rank: int, size: int) -> None:
    """Notes which group a process is in now, and by its driver's port with which others."""
    port = os.environ.get("HOROVOD_GLOO_RENDEZVOUS_PORT", "")
    if os.environ.get("HOROVOD_ELASTIC") != "1" or not port.isdigit():
        return
    if len(_groups) < _MOST_GROUPS:
        _groups.append([time.monotonic_ns(), rank, size])
    metadata.framework(_SOURCE, elastic={"driver": int(port), "groups": list(_groups)})


def install_calls(module: ModuleType) -> None:
    """Marks what the program itself asks Horovod for, outside of compiled functions."""
    metadata.framework(_SOURCE, **{module.__name__.split(".")[1]: True}, broadcasts=_broadcasts)
    for name in _CALLS:
        wrap.replace(module, name, _make_call(name))
    wrap.replace(module, "DistributedOptimizer", _make_optimizer)


_broadcasts: list[str] = []
"""The functions by which the program has sent parameters or objects from one rank to all."""


def _make_call(name: str) -> Callable[[AnyFunction], AnyFunction]:
    label = "hvd." + name

    def make(original: AnyFunction) -> AnyFunction:
        def call(*args: Any, **kwargs: Any) -> Any:
            rec = recorder.current
            if name.startswith("broadcast") and name not in _broadcasts:
                _broadcasts.append(name)
            if not is_eager():
                return traced(original, sys._getframe(1))(*args, **kwargs)
            if rec is None or wrap.Depth.value:
                return original(*args, **kwargs)
            with wrap.Inside(rec, recorder.Phase.USER, label):
                return original(*args, **kwargs)

        return call

    return make


def _make_optimizer(original: AnyFunction) -> AnyFunction:
    def distributed(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        known = metadata.facts.get("frameworks", {}).get(_SOURCE, {}).get("optimizers", 0)
        metadata.framework(_SOURCE, optimizers=known + 1)
        if is_eager():
            learning_rates.of_keras(_SOURCE, args[0] if args else kwargs.get("optimizer"))
        return result

    return distributed
