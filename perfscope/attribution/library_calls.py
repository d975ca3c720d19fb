"""What a program calls of a library, by the name that people know it by."""

from collections.abc import Sequence

from perfscope.attribution.activity_rules import module_of
from perfscope.attribution.stack_rules import BUILT_IN, SYSTEM_CALL
from perfscope.trace.model import Frame

INNER = "<locals>"
"""In the names of functions that are made in others, as decorators do."""


def called(behind: Sequence[Frame]) -> str:
    """The outermost public function behind the last call of the program's own; "" for none.

    `behind` is what the program calls, the innermost last: `torch.Tensor.backward`, and not the
    function of C in which that is seen. What it calls of C itself has its own name.
    """
    outer = [one for one in behind if INNER not in one.function]
    if not outer or outer[0].file == BUILT_IN:
        return outer[0].function if outer else ""
    return _name(next((one for one in outer if _is_public(one.function)), outer[0]))


def seen_in(behind: Sequence[Frame]) -> str:
    """The innermost function, where its name is public or it waits; else what leads there."""
    name = _name(behind[-1]) if behind else ""
    return name if _is_public(name) else called(behind)


def innermost(behind: Sequence[Frame]) -> str:
    """The innermost public function of a library's Python code that a line leads to; "" for none.

    `behind` is what the line calls, the innermost last. It tells what takes the time where the name
    that the program calls does not: `numpy.svd` of a matrix norm.
    """
    own = [one for one in behind if one.file not in (BUILT_IN, SYSTEM_CALL)]
    public = (one for one in reversed(own) if INNER not in one.function)
    return next((_name(one) for one in public if _is_public(one.function)), "")


def _is_public(name: str) -> bool:
    """Whether a name is known and none of its parts is private (`_name`, but not `__name__`)."""
    is_inner = any(one.startswith("_") and not one.endswith("__") for one in name.split("."))
    return bool(name.strip("?.")) and not is_inner


def _name(frame: Frame) -> str:
    """A function behind its package, and not the module that holds it; "" of no library."""
    if frame.file in (BUILT_IN, SYSTEM_CALL):
        return frame.function
    package = module_of(frame.file).partition(".")[0]
    return f"{package}.{frame.function}" if package else ""
