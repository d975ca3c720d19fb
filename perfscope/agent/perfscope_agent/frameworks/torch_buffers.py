"""Buffers that DistributedDataParallel sends in each forward pass: which ones anybody changes.

Whether the program has written a buffer since it was sent, PyTorch's count of its versions tells,
in every pass. As not all writes are counted, some pieces of what a rank holds are compared as well:
on a receiver before and after some of the broadcasts, and on each rank, in places that stay, with
what was there at the look before. All without an operation of PyTorch.
"""

from __future__ import annotations

import sys

from .. import files, given, metadata, recorder
from ..library import types
from ..places import Places
from . import torch_compile, torch_groups, torch_states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_MODELS = 8
_MOST_BUFFERS = 32
"""Of a model, the largest ones."""

_PIECES = 16
_PIECE_BYTES = 64

_NAMES = ("forward_sync_buffers", "broadcast_buffers")
"""What the argument is called that has them sent, by the newest release of PyTorch first."""

_KEEPS = "_unsafe_preserve_version_counter"
"""By what newer releases of PyTorch have a broadcast count as no version."""

_models: list[_Model] = []
_told: list[dict[str, Any]] = []


class _Model:
    """A model whose buffers are sent, and what was seen of them."""

    def __init__(self, model: Any, told: dict[str, Any]) -> None:
        import weakref

        self.model = weakref.ref(model)
        self.keeps_versions = _keeps_versions(type(model))
        self.told = told
        self.count = 0
        """Of its buffers, once they were sent; 0: not yet, or not worth to be looked at."""
        self.is_small = False
        self.rows: list[_Buffer] = []

    def meet(self, tensors: list[Any]) -> None:
        """Chooses what is looked at, when the buffers are sent for the first time."""
        sizes = [int(one.numel()) * int(one.element_size()) for one in tensors]
        self.is_small = sum(sizes) < given.LEAST_BYTES
        if self.is_small:
            return
        self.count = len(tensors)
        model: Any = self.model()
        names = {id(tensor): name for name, tensor in model.module.named_buffers()}
        largest = sorted(range(len(tensors)), key=lambda at: -sizes[at])[:_MOST_BUFFERS]
        chosen = [at for at in largest if _can_be_seen(tensors[at])]
        self.rows = [_Buffer(at, names.get(id(tensors[at]), ""), sizes[at]) for at in chosen]
        self.told.update(bytes=sum(sizes), syncs=0, buffers=[row.told for row in self.rows])
        _told.append(self.told)
        metadata.framework(torch_groups.NAME, sent_buffers=_told)


class _Buffer:
    """One buffer: its place among those that are sent, and what was held before a broadcast."""

    def __init__(self, place: int, name: str, size: int) -> None:
        self.place = place
        self.told: dict[str, Any] = {"name": name, "bytes": size}
        self.told.update(written=0, looks=0, same=0, revisits=0, kept=0)
        self.sent: tuple[int, int] | None = None
        """Identity and version once the last broadcast was over."""
        self.held: bytes | None = None
        self.last: bytes | None = None
        """Pieces in places that stay, at the last look."""

    def begins(self, tensor: Any, number: int, rec: Any, is_receiver: bool) -> None:
        """A broadcast comes; its pieces are read where there is a recorder to read them."""
        now = _state(tensor)
        self.told["written"] += self.sent is not None and self.sent != now
        self.sent = now
        self.held = pieces(rec, tensor, number) if is_receiver else None
        self._compare(pieces(rec, tensor, 0))

    def _compare(self, now: bytes | None) -> None:
        """With the look before: what the first rank writes uncounted, it is rarely seen to send."""
        if now is None:
            return
        if self.last is not None and (any(now) or any(self.last)):
            self.told["revisits"] += 1
            self.told["kept"] += now == self.last
        self.last = now

    def ends(self, tensor: Any, number: int, rec: Any, keeps_version: bool) -> None:
        """It is over; `keeps_version` says that it will be no version of its own."""
        if self.held is not None:
            now = pieces(rec, tensor, number)
            if now is not None and (any(now) or any(self.held)):
                self.told["looks"] += 1
                self.told["same"] += now == self.held
        self.held = None
        if not keeps_version:
            self.sent = _state(tensor)


def made(model: Any, initialize: Any) -> None:
    """Notes where the program wraps a model whose buffers will be sent; by its `__init__`."""
    parameters = initialize.__code__.co_varnames
    name = next((one for one in _NAMES if one in parameters), "")
    if not name or not getattr(model, name, False) or len(_models) >= _MOST_MODELS:
        return
    told = {"model": len(_models), "argument": name, "made_at": _program_line()}
    _models.append(_Model(model, told))


def begins(model: Any, tensors: Any, is_receiver: bool) -> _Model | None:
    """Buffers are about to be sent; what `ends` is to be told of, if anything."""
    known = next((one for one in _models if one.model() is model), None)
    if known is None or known.is_small:
        return None
    if not known.count:
        known.meet(tensors)
    if not known.rows:
        return None
    if len(tensors) != known.count:  # others than those that were chosen
        known.rows = []
        _told[:] = [one for one in _told if one is not known.told]
        return None
    number = known.told["syncs"]
    known.told["syncs"] += 1
    rec = recorder.current if _is_due(number) else None
    for row in known.rows:
        row.begins(tensors[row.place], number, rec, is_receiver)
    return known


def ends(known: _Model, tensors: Any) -> None:
    """They have been sent."""
    rec, number = recorder.current, known.told["syncs"] - 1
    for row in known.rows:
        row.ends(tensors[row.place], number, rec, known.keeps_versions)


def _keeps_versions(kind: Any) -> bool:
    """Whether a kind of model gives its buffers back the versions that they had."""
    own = [base for base in kind.__mro__ if base.__module__.startswith("torch.nn.parallel.")]
    members = [member for base in own for member in vars(base).values()]
    codes = [member.__code__ for member in members if hasattr(member, "__code__")]
    return any(_KEEPS in code.co_names for code in codes)


def _is_due(number: int) -> bool:
    if number < given.FIRST_LOOKS or number & (number - 1) == 0:
        return True
    is_one = given.mixed(number) % given.LOOK_EVERY == 0
    return is_one and number < given.LOOK_EVERY * given.MOST_LOOKS


def _can_be_seen(tensor: Any) -> bool:
    """Whether a tensor is plain memory of the process, and its versions are counted."""
    torch = torch_compile.module()
    is_plain = (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.device.type == "cpu"
        and not tensor.is_sparse
    )
    return bool(is_plain and tensor.is_contiguous() and not getattr(tensor, "is_inference", bool)())


def _state(tensor: Any) -> tuple[int, int]:
    return id(tensor), tensor._version


def pieces(rec: Any, tensor: Any, number: int) -> bytes | None:
    """Some pieces of what a tensor holds, others for each number; None where it has gone."""
    if rec is None or not _can_be_seen(tensor):
        return None
    size = int(tensor.numel()) * int(tensor.element_size())
    count, each = (_PIECES, _PIECE_BYTES) if size > _PIECES * _PIECE_BYTES else (1, size)
    begin, stride = torch_states.address_of(tensor), size // count
    free = stride - each + 1
    chosen = [given.mixed(number * _PIECES + at + 1) % free for at in range(count)]
    starts = [begin + at * stride + one for at, one in enumerate(chosen)]
    numbers = types["u64"] * count
    into = (types["u64"] * (count * each // 8 + 1))()
    if not rec.read_pieces(numbers(*starts), numbers(*[each] * count), count, into):
        return None
    return bytes(memoryview(into).cast("B")[: count * each])


def _program_line() -> str | None:
    """The innermost line of the program that is running."""
    frame = files.program_frame(sys._getframe(1))
    if frame is None:
        return None
    return recorder.place_text(*Places().where(frame.f_code, frame.f_lasti))
