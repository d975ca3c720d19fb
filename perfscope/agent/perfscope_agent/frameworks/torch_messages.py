"""Messages of torch.distributed from one rank to another, as the stages of a pipeline send them."""

from __future__ import annotations

from time import monotonic_ns

from . import torch_async, torch_volumes
from .torch_groups import group_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .torch_groups import Group, Moved, Open

_ANYONE = -1
_STARTS = "i"  # names of what only starts begin with it, as those of MPI


def begin(c10d: Any, name: str, given: dict[str, Any]) -> Open | None:
    """Writes the begin of a call that returns when its message has gone or arrived."""
    group = group_of(c10d, given.get("group"))
    if name.startswith(_STARTS) or group is None or not group.blocks(given.get("tensor")):
        return None
    peer = _peer(given, group)
    return group.begin(name, peer, _moved(name, given)) if peer != _ANYONE else None


def note_start(c10d: Any, name: str, given: dict[str, Any], begin_ns: int, result: Any) -> None:
    """Writes the start of a message that is waited for later, or one from whoever sent first."""
    group = group_of(c10d, given.get("group"))
    if group is None or not group.blocks(given.get("tensor")):
        return
    moved = _moved(name, given)
    if hasattr(result, "wait"):
        torch_async.starts(result, group, name, _peer(given, group), moved, begin_ns=begin_ns)
    elif isinstance(result, int) and result >= 0:
        group.emit(name, begin_ns, monotonic_ns(), result, moved)


def _peer(given: dict[str, Any], group: Group) -> int:
    """World rank of the other one."""
    for key in ("dst", "src"):
        if isinstance(given.get(key), int):
            return int(given[key])
        if isinstance(given.get("group_" + key), int):
            return int(group.ranks[given["group_" + key]])
    return _ANYONE


def _moved(name: str, given: dict[str, Any]) -> Moved:
    size, tag = torch_volumes.nbytes(given.get("tensor")), int(given.get("tag") or 0)
    moved = (size, 0) if name.endswith("send") else (0, size)
    return (*moved, tag) if tag else moved
