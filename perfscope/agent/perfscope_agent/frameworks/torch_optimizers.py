"""Steps of PyTorch's optimizers, through the hooks that it has for all of them."""

from __future__ import annotations

from .. import metadata, recorder
from ..kinds import Any, ModuleType
from . import learning_rates, torch, torch_gradients, torch_states

_SOURCE = "torch"


def install_optimizer(module: ModuleType) -> None:
    """Optimizer steps, through the hooks that PyTorch has for all optimizers."""
    before = getattr(module, "register_optimizer_step_pre_hook", None)
    after = getattr(module, "register_optimizer_step_post_hook", None)
    if before is None or after is None:
        metadata.framework(
            _SOURCE, steps=None, steps_reason="this PyTorch has no global optimizer hooks"
        )
        return
    before(torch.before_optimizer)
    after(_after_optimizer)


def _after_optimizer(optimizer: Any, _args: Any, _kwargs: Any) -> None:
    rec = recorder.current
    if rec is None:
        return
    now_ns = rec.now()
    counts = torch.after_optimizer(optimizer, now_ns)
    if counts and id(optimizer) not in learning_rates.seen:
        torch.tell(learning_rates.of_torch, _SOURCE, optimizer)
    if torch_gradients.last is None or torch_gradients.last() is not optimizer:
        torch.tell(torch_gradients.note_optimizer, optimizer)
    if now_ns >= torch_states.next_ns:
        torch.tell(torch_states.look, optimizer)
