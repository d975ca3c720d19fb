"""Keeps wrappers out of torch.compile's sight: same graphs, breaks and recompiles as without."""

from __future__ import annotations

import sys

from .. import metadata
from ..kinds import Any, AnyFunction, Callable, ModuleType
from . import wrap


def replace(owner: Any, name: str, make: Callable[[AnyFunction], AnyFunction]) -> bool:
    """Replaces a function of PyTorch as `wrap.replace` does, unseen by torch.compile.

    What `make` builds must begin with `if torch_module.compiler.is_compiling(): return
    original(...)`, where `torch_module` is `module()`: the compiler takes the condition for true
    and traces the original. Where the wrapper runs by itself its frame is passed over, and frames
    below it are seen as ever.
    """
    strategy = _strategy(is_recursive=False)
    if strategy is None:
        return False

    def make_unseen(original: AnyFunction) -> AnyFunction:
        replacement = make(original)
        strategy(replacement.__code__)
        return replacement

    return wrap.replace(owner, name, make_unseen)


def module() -> Any:
    """PyTorch, also while it is still being imported."""
    return sys.modules["torch"]


def hide(function: AnyFunction) -> AnyFunction:
    """Has a function and all that it calls passed over."""
    strategy = _strategy(is_recursive=True)
    if strategy is not None:
        strategy(function.__code__)
    return function


def loaded(torch_module: ModuleType) -> None:
    """PyTorch is there: the agent is hidden, and the version noted."""
    hide_agent()
    version = str(torch_module.__version__)
    metadata.framework("torch", version=version, input_wait="DataLoader")
    metadata.collect_versions()
    metadata.write()


def hide_agent() -> None:
    """Has all functions of the agent passed over that wrappers may call in a compiled program."""
    package = __name__.partition(".")[0] + "."
    for name, found in list(sys.modules.items()):
        if name.startswith(package):
            _hide_functions(found.__dict__, name)


def _hide_functions(namespace: Any, module_name: str) -> None:
    for value in list(namespace.values()):
        if getattr(value, "__module__", None) != module_name:
            continue
        if isinstance(value, type):
            _hide_functions(value.__dict__, module_name)
        elif isinstance(value, type(hide)):
            hide(value)


def _strategy(*, is_recursive: bool) -> Callable[[Any], None] | None:
    """What has a code object passed over; None where this PyTorch has nothing for it."""
    if not hasattr(module()._C, "_dynamo"):
        # Without a compiler there is nothing to hide from.
        return lambda _code: None
    eval_frame = module()._C._dynamo.eval_frame
    if not hasattr(eval_frame, "set_code_exec_strategy"):
        # Until PyTorch 2.6; what a wrapper calls is then seen.
        older: Callable[[Any], None] | None = getattr(eval_frame, "skip_code", None)
        return older
    action = eval_frame._FrameAction
    below = action.SKIP if is_recursive else action.DEFAULT
    strategy = eval_frame._FrameExecStrategy(action.SKIP, below)
    return lambda code: eval_frame.set_code_exec_strategy(code, strategy)
