"""Places in the source of a program, as people read them: one way to write them everywhere."""

import re
from pathlib import PurePath

MODULE = "<module>"
"""What Python calls the code of a file that is in no function."""
INLINE = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>"})
"""Code that only the function around it calls; newer Pythons make no function of it."""

_LOCALS = re.compile(r"\.<locals>\.")
_UNNAMED = re.compile(r"<(?:listcomp|setcomp|dictcomp|genexpr|lambda)>(?:\.<\w+>)*")
_SHARED_FILES = frozenset({"__init__.py", "__main__.py"})
"""Names that a file of every package has."""


def named_function(function: str) -> str:
    """The full name of the function that code stands in: a comprehension or lambda has no name.

    `main.<locals>.shrink` of `main.<locals>.shrink.<locals>.<listcomp>`, `<module>` of `<lambda>`.
    """
    parts = _LOCALS.split(function)
    while parts and _UNNAMED.fullmatch(parts[-1]):
        parts.pop()
    return ".<locals>.".join(parts) or MODULE if function else ""


def short_name(function: str) -> str:
    """The innermost function with a name, "" where code stands in none: `shrink` of the above."""
    name = _LOCALS.split(named_function(function))[-1]
    return "" if name.startswith("<") else name


def file_name(file: str) -> str:
    """The name of a file, with its package where each has one of that name: `pkg/__main__.py`."""
    path = PurePath(file)
    return f"{path.parent.name}/{path.name}" if path.name in _SHARED_FILES else path.name


def called(function: str, file: str, line: int | None) -> str:
    """A function inside a sentence: `evaluate()`; of code in none its line: `train.py:212`."""
    name = short_name(function)
    return f"{name}()" if name else place(function, file, line)


def place(function: str, file: str, line: int | None) -> str:
    """A function with its file and line: `evaluate() (train.py:212)`; "" when nothing is known.

    Of code in no function it is the line that people know: `train.py:212`.
    """
    name = short_name(function)
    at = f"{file_name(file)}:{line}" if file and line else file_name(file) if file else ""
    if not name:
        return at or function
    return f"{name}() ({at})" if at else f"{name}()"
