"""Which ranks hold parts of one model: tensor parallel ranks, and the stages of a pipeline.

They work on the same samples, which count once.
"""

from __future__ import annotations

import sys

from .. import metadata
from . import torch_compile, torch_groups

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

    AnyFunction = Callable[..., Any]

_MOST_RANKS = 4096

_ranks: set[int] = set()
"""World ranks that share a model with this one."""


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    _ranks.clear()


def install_tensor_parallel(module: ModuleType) -> None:
    """`parallelize_module`, which divides the layers of a model over a mesh."""
    torch_module = torch_compile.module()

    def make(original: AnyFunction) -> AnyFunction:
        def parallelize(*args: Any, **kwargs: Any) -> Any:
            if torch_module.compiler.is_compiling():
                return original(*args, **kwargs)
            result = original(*args, **kwargs)
            mesh = args[1] if len(args) > 1 else kwargs.get("device_mesh")
            if mesh is not None:
                torch_groups.guarded(lambda: _note(mesh.get_group()))
            return result

        return parallelize

    torch_compile.replace(module, "parallelize_module", make)


def install_pipeline(module: ModuleType) -> None:
    """The stages of a pipeline, each of which knows the group of all."""
    torch_module = torch_compile.module()

    def make(original: AnyFunction) -> AnyFunction:
        def initialize(self: Any, *args: Any, **kwargs: Any) -> None:
            if torch_module.compiler.is_compiling():
                original(self, *args, **kwargs)
                return
            original(self, *args, **kwargs)
            torch_groups.guarded(lambda: _note(self.group))

        return initialize

    torch_compile.replace(module._PipelineStageBase, "__init__", make)


def _note(group: Any) -> None:
    known = torch_groups.group_of(sys.modules["torch.distributed.distributed_c10d"], group)
    if known is not None and len(known.ranks) <= _MOST_RANKS:
        _ranks.update(known.ranks)
        metadata.framework(torch_groups.NAME, model_ranks=sorted(_ranks)[:_MOST_RANKS])
