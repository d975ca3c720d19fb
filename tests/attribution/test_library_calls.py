"""What a program calls of a library has the name that its people know."""

import pytest

from perfscope.attribution.library_calls import called, seen_in
from perfscope.trace.model import Frame

TORCH = "/usr/lib/python3.11/site-packages/torch"
BACKWARD = [
    Frame("Tensor.backward", f"{TORCH}/_tensor.py", 521),
    Frame("backward", f"{TORCH}/autograd/__init__.py", 289),
    Frame("_engine_run_backward", f"{TORCH}/autograd/graph.py", 769),
    Frame("torch._C._EngineBase.run_backward", "<built-in>", 0),
]
MODULE = Frame("Module._wrapped_call_impl", f"{TORCH}/nn/modules/module.py", 1553)
LINEAR = [
    MODULE,
    Frame("Linear.forward", f"{TORCH}/nn/modules/linear.py", 117),
    Frame("torch._C._nn.linear", "<built-in>", 0),
]
CONV = [
    MODULE,
    Frame("Conv1d.forward", f"{TORCH}/nn/modules/conv.py", 310),
    Frame("torch.nn.functional.conv1d", "<built-in>", 0),
]
SOLVE = [
    Frame("solve", "/usr/lib/python3.11/site-packages/numpy/linalg/_linalg.py", 410),
    Frame("numpy.linalg._umath_linalg.solve1", "<built-in>", 0),
]
WRAPPED = [Frame("no_grad.<locals>.inner", f"{TORCH}/utils/_contextlib.py", 116), *BACKWARD]


@pytest.mark.parametrize(
    ("behind", "outermost", "innermost"),
    [
        (BACKWARD, "torch.Tensor.backward", "torch.Tensor.backward"),
        (WRAPPED, "torch.Tensor.backward", "torch.Tensor.backward"),
        (LINEAR, "torch.Linear.forward", "torch.Linear.forward"),
        (CONV, "torch.Conv1d.forward", "torch.nn.functional.conv1d"),
        (SOLVE, "numpy.solve", "numpy.solve"),
        (SOLVE[1:], "numpy.linalg._umath_linalg.solve1", "numpy.linalg._umath_linalg.solve1"),
        ([*BACKWARD[:1], Frame("futex", "<system-call>", 0)], "torch.Tensor.backward", "futex"),
        ([*SOLVE[:1], Frame("?", "<built-in>", 0)], "numpy.solve", "numpy.solve"),
        ([Frame("step", "/job/rules.txt", 3)], "", ""),
        ([], "", ""),
    ],
)
def test_no_name_is_for_a_library_alone_where_a_public_one_leads_there(
    behind: list[Frame], outermost: str, innermost: str
) -> None:
    assert called(behind) == outermost
    assert seen_in(behind) == innermost
