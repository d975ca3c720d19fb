"""A plugin of mypy that makes checking what is done with columns of tables three times as fast.

For `rows["t0"]` mypy asks each declaration of numpy's `__getitem__` in turn and words, each time,
why arrays and numbers are no text; in `rows["t1"] - rows["t0"]` it does so for each declaration of
the subtraction. Here a declaration that takes no text asks for None where text is given: it fits
as little as before, which is told in one word.
"""

from collections.abc import Callable

from mypy.nodes import NameExpr, StrExpr
from mypy.plugin import MethodSigContext, Plugin
from mypy.types import FunctionLike, Instance, NoneType, ProperType, get_proper_type


def _is_text(kind: ProperType) -> bool:
    return isinstance(kind, Instance) and kind.type.fullname == "builtins.str"


def _refused_briefly(context: MethodSigContext) -> FunctionLike:
    """One declaration of `__getitem__`: as it is, or in short where it takes no such key."""
    declared = context.default_signature
    keys = [key for given in context.args for key in given]
    if len(keys) != 1:
        return declared
    is_name = isinstance(keys[0], NameExpr | StrExpr)
    if not is_name or not _is_text(get_proper_type(context.api.get_expression_type(keys[0]))):
        return declared
    *before, taken = declared.arg_types
    if _is_text(get_proper_type(taken)):
        return declared
    return declared.copy_modified(arg_types=[*before, NoneType()])


class Columns(Plugin):
    """Knows one method of numpy."""

    def get_method_signature_hook(
        self, fullname: str
    ) -> Callable[[MethodSigContext], FunctionLike] | None:
        """What changes the declarations of a method."""
        return _refused_briefly if fullname == "numpy.ndarray.__getitem__" else None


def plugin(_: str) -> type[Plugin]:
    """What mypy asks for, with its own version."""
    return Columns
