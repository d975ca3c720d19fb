"""How long a layer takes that is applied many times, and once to all that it was applied to."""

from __future__ import annotations

import time

from ..kinds import Any, Callable
from ..pace import Budget
from . import torch_compile

_TIMES = 9
_APART, _STACKED = 3, 12
"""Applications in each form that are timed, at most: the others take as long, or less stacked."""

_TYPES = ("float32", "float64", "bfloat16")
_QUARTER = 4  # of the times that each form took, what the middle half lies between is told

_MOST_BYTES = 256 << 20
"""What both forms may take: the model is still there, and all ranks of a host do so at once."""

_budget = Budget(32 * Budget.AT_ONCE_NS)


class _Form:
    """One of the two forms, forwards and backwards."""

    def __init__(self, told: dict[str, Any], *, is_stacked: bool) -> None:
        torch = torch_compile.module()
        self._torch, self._told, self._is_stacked = torch, told, is_stacked
        count = min(told["times"], _STACKED if is_stacked else _APART)
        self._scale = told["times"] / count
        dtype = getattr(torch, told["dtype"])
        self._weight = torch.ones(told["layer"], dtype=dtype, device="cpu", requires_grad=True)
        kind = torch.int64 if told["kind"] == "Embedding" else dtype
        made = torch.ones if kind is dtype else torch.zeros
        asks = bool(told["has_gradient"]) and kind is dtype
        self._data = [
            made(told["taken"], dtype=kind, device="cpu", requires_grad=asks) for _ in range(count)
        ]
        self._engine = torch.autograd.Variable._execution_engine
        self.back_ns: list[int] = []
        self.all_ns: list[int] = []

    def run(self, now_ns: Callable[[], int]) -> None:
        """Once, with how long it took."""
        torch = self._torch
        for one in [self._weight, *self._data]:
            one.grad = None
        begin_ns = now_ns()
        made = self._made()
        between_ns = now_ns()
        gradients = [torch.ones_like(one) for one in made]
        begin_back_ns = now_ns()
        # not `torch.autograd.backward`, which loads a lot first and is watched
        self._engine.run_backward(
            tuple(made),
            tuple(gradients),
            False,
            False,
            (),
            allow_unreachable=True,
            accumulate_grad=True,
        )
        end_ns = now_ns()
        back_ns = int(self._scale * (end_ns - begin_back_ns))
        self.back_ns.append(back_ns)
        self.all_ns.append(back_ns + int(self._scale * (between_ns - begin_ns)))

    def _made(self) -> list[Any]:
        torch, told = self._torch, self._told
        if not self._is_stacked:
            made = [self._applied(one) for one in self._data]
            return [torch.cat(made)] if told["gathered"] else made
        whole = self._applied(torch.cat(self._data))
        return [whole] if told["gathered"] else list(whole.chunk(len(self._data)))

    def _applied(self, data: Any) -> Any:
        functions, kind = self._torch.nn.functional, self._told["kind"]
        if kind == "Linear":
            return functions.linear(data, self._weight)
        if kind == "Embedding":
            return functions.embedding(data, self._weight)
        axes = self._weight.dim() - 2
        settings = self._told["settings"]
        return getattr(functions, "conv%dd" % axes)(data, self._weight, **settings)


def _bytes(told: dict[str, Any]) -> int:
    """What both forms take at most: data, results, and gradients of both."""
    values: int = 1
    for size in told["taken"]:
        values *= size
    first, second, *_ = told["layer"]
    made: int = values * second if told["kind"] == "Embedding" else values * first // max(second, 1)
    count = 2 * (_APART + _STACKED)  # as they are put together, and apart
    return 8 * count * 2 * (values + made)


def measured(told: dict[str, Any]) -> dict[str, Any]:
    """The middle half of what each form takes; empty where they could not be timed often enough.

    By this thread's time on a CPU where it computes alone, else by the clock.
    """
    torch = torch_compile.module()
    if told["dtype"] not in _TYPES or not told["taken"] or _bytes(told) > _MOST_BYTES:
        return {}
    now_ns = time.thread_time_ns if torch.get_num_threads() == 1 else time.monotonic_ns
    with torch.enable_grad():
        forms = [_Form(told, is_stacked=one) for one in (False, True)]
        for _ in range(_TIMES + 1):
            if not _budget.is_left():
                break
            begin_ns = now_ns()
            for one in forms:
                one.run(now_ns)
            _budget.spent_ns += now_ns() - begin_ns
    times = len(forms[0].all_ns) - 1
    if times < _QUARTER:
        return {}
    rows = [sorted(kept[1:]) for one in forms for kept in (one.all_ns, one.back_ns)]
    low, middle, high = times // _QUARTER, times // 2, times - 1 - times // _QUARTER
    names = ("apart_ns", "apart_back_ns", "stacked_ns", "stacked_back_ns")
    told_ns = {name: [own[low], own[middle], own[high]] for name, own in zip(names, rows)}
    return {**told_ns, "timed": times}
