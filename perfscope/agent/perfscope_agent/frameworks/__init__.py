"""Hooks into training frameworks, installed when the program imports them: one file a framework."""

from __future__ import annotations

from ..kinds import Callable, ModuleType
from .savers import SAVING

_JOINING = (
    ("torch.distributed.distributed_c10d", "torch_distributed", "install"),
    ("torch.autograd", "torch", "install_backward"),
    ("torch.distributed.autograd", "torch", "install_backward"),
    ("jax._src.distributed", "members", "install"),
    ("tensorflow.python.eager.context", "members", "install"),
    ("tensorflow.python.training.server_lib", "members", "install"),
    ("torch.distributed.rpc", "members", "install"),
    ("xgboost.collective", "members", "install"),
)
"""Where a process turns out to have a part in a job: what a worker waits for as well."""
_KERAS = ("keras", "tf_keras")
"""The package, and the name by which Keras 2 lives on beside Keras 3."""
_HOOKS = (
    *_JOINING,
    ("keras.src.backend.tensorflow.trainer", "keras", "install"),
    *((package + ".src.engine.training", "keras", "install") for package in _KERAS),
    ("keras.src.backend.jax.trainer", "keras", "install"),
    ("keras.src.backend.torch.trainer", "keras", "install"),
    ("keras.src.models.model", "keras", "install_model"),
    ("keras.src.optimizers.base_optimizer", "keras", "install_optimizer"),
    *(
        (package + ".src.optimizers.optimizer", "keras", "install_old_optimizer")
        for package in _KERAS
    ),
    *((package, "keras", "loaded") for package in _KERAS),
    ("tensorflow.python.data.ops.iterator_ops", "tensorflow", "install_iterator"),
    ("tensorflow.python.data.ops.dataset_ops", "tf_generators", "install"),
    (
        "tensorflow.python.eager.polymorphic_function.polymorphic_function",
        "tensorflow",
        "install_function",
    ),
    (
        "tensorflow.python.eager.polymorphic_function.polymorphic_function",
        "tf_functions",
        "install",
    ),
    ("tensorflow.python.distribute.coordinator.cluster_coordinator", "tf_coordinator", "install"),
    ("tensorflow.python.distribute.coordinator.values", "tf_coordinator", "install_datasets"),
    ("tensorflow", "tensorflow", "loaded"),
    ("torch.utils.data.dataloader", "torch", "install_loader"),
    ("torch.utils.data._utils.fetch", "torch_items", "install"),
    ("torch.optim.optimizer", "torch_optimizers", "install_optimizer"),
    ("torch.distributed.optim.optimizer", "torch_remote", "install_optimizer"),
    ("torch.nn.modules.module", "torch_modes", "install"),
    *((module, "checkpoints", "install") for module in SAVING),
    ("torch.distributed._functional_collectives", "torch_async", "install_functional"),
    ("torch.distributed.tensor.parallel.api", "torch_models", "install_tensor_parallel"),
    ("torch.distributed.pipelining.stage", "torch_models", "install_pipeline"),
    ("torch.nn.parallel.distributed", "torch_ddp", "install_ddp"),
    ("torch.nn.parallel.distributed", "torch_parts", "install"),
    ("deepspeed.runtime.engine", "torch_ddp", "note_deepspeed"),
    ("torch", "torch_compile", "loaded"),
    ("jax", "jax", "install"),
    ("xgboost.core", "trees", "install"),
    ("lightgbm.basic", "trees", "install"),
    ("daal4py._daal4py", "daal4py", "install"),
    ("daal4py", "daal4py", "loaded"),
    ("horovod.common.basics", "horovod", "install_basics"),
    ("horovod.common.process_sets", "horovod_waits", "install_sets"),
    ("horovod.torch.mpi_ops", "horovod_waits", "install_operations"),
    ("horovod.torch.optimizer", "horovod_waits", "install_optimizer"),
    ("horovod.tensorflow", "horovod", "install_calls"),
    ("horovod.tensorflow.keras", "horovod", "install_calls"),
    ("horovod.torch", "horovod", "install_calls"),
    ("mpi4py.MPI", "mpi4py", "install"),
    ("queue", "input_queues", "install"),
    ("numpy", "blas", "install"),
)
"""Module to wait for, file of this package, function in it."""
_FINISHING = (
    "calls",
    "tensorflow",
    "tf_profiler",
    "tf_functions",
    "torch",
    "torch_flight",
    "jax",
    "trees",
    "daal4py",
    "blas",
    "debug_settings",
)


def install() -> None:
    """Waits for the frameworks to be imported; imports none of them, nor their hooks."""
    _await(_HOOKS)


def await_joining() -> None:
    """Waits for what may show that this process is a rank."""
    _await(_JOINING)


def _await(hooked: tuple[tuple[str, str, str], ...]) -> None:
    from .. import hooks

    for module, hook, function in hooked:
        hooks.on_import(module, _hook_of(hook, function))


def _hook_of(hook: str, function: str) -> Callable[[ModuleType], None]:
    """What calls a function in a file of this package, which is imported only then."""

    def callback(module: ModuleType) -> None:
        import importlib

        getattr(importlib.import_module("." + hook, __name__), function)(module)

    return callback


def finish() -> None:
    """At exit: lets the hooks that were installed write what they kept back."""
    import sys

    from .. import notes

    for hook in _FINISHING:
        module = sys.modules.get(__name__ + "." + hook)
        if module is not None:
            try:
                module.finish()
            except Exception as error:
                notes.failure("finish of " + hook, error)
