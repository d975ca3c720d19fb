"""Bytes that a collective of torch.distributed moves, from its arguments."""

from __future__ import annotations

from ..kinds import Any

_SENT = {
    "all_reduce": "tensor",
    "all_reduce_coalesced": "tensors",
    "all_gather": "tensor",
    "all_gather_single": "input_tensor",
    "all_gather_into_tensor": "input_tensor",
    "all_gather_coalesced": "input_tensor_list",
    "all_to_all": "input_tensor_list",
    "all_to_all_single": "input",
    "broadcast": "tensor",
    "gather": "tensor",
    "reduce": "tensor",
    "reduce_scatter": "input_list",
    "reduce_scatter_single": "input",
    "reduce_scatter_tensor": "input",
    "scatter": "scatter_list",
}
_RECEIVED = {
    "all_gather": "tensor_list",
    "all_gather_single": "output_tensor",
    "all_gather_into_tensor": "output_tensor",
    "all_gather_coalesced": "output_tensor_lists",
    "all_to_all": "output_tensor_list",
    "all_to_all_single": "output",
    "gather": "gather_list",
    "reduce_scatter": "output",
    "reduce_scatter_single": "output",
    "reduce_scatter_tensor": "output",
    "scatter": "tensor",
}
_FROM_ROOT = ("broadcast", "scatter")
_TO_ROOT = ("reduce", "gather")


def volume(operation: str, given: dict[str, Any], is_root: bool) -> tuple[int, int] | None:
    """Bytes that this rank contributes and obtains; None for objects, which are pickled inside."""
    if operation not in _SENT:
        return None
    sent = nbytes(given.get(_SENT[operation]))
    received = nbytes(given.get(_RECEIVED[operation])) if operation in _RECEIVED else sent
    if operation in _FROM_ROOT:
        return (sent, received if operation == "scatter" else 0) if is_root else (0, received)
    return (sent, received if operation not in _TO_ROOT or is_root else 0)


def nbytes(value: Any) -> int:
    """Bytes of a tensor, or of all in a list of them."""
    if isinstance(value, (list, tuple)):
        return sum(nbytes(one) for one in value)
    size = getattr(value, "nbytes", 0)
    return int(size) if isinstance(size, int) else 0
