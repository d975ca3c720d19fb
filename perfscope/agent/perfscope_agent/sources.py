"""The program's own files, as they are read when it is over: nothing of them is run."""

from __future__ import annotations

import os
import sys

from . import files, metadata, own_threads, roles
from .kinds import Any, Iterator

_MOST_FILES = 500
_MOST_BYTES = 1 << 24  # read, of all files
_MOST_PARSED = 1 << 20  # of those in which a name stands; trees of syntax are large


def texts(words: list[bytes]) -> Iterator[tuple[str, bytes]]:
    """The files that hold one of the words, and their text, as far as there is not too much."""
    left, parsed = _MOST_BYTES, _MOST_PARSED
    for file in _program_files():
        try:
            with open(file, "rb") as stream:
                text = stream.read(min(left, _MOST_PARSED) + 1)
        except OSError:
            continue
        if len(text) > left:
            return
        left -= len(text)
        if len(text) <= parsed and any(word in text for word in words):
            parsed -= len(text)
            yield file, text


def tree(ast: Any, text: bytes) -> Any:
    """The tree of a file's syntax; None where it cannot be read."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the program's text, which it has had
            return ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def nodes(ast: Any, tree: Any) -> Iterator[tuple[str, Any]]:
    """All of a tree, each with the function that it is in."""
    left = [("<module>", tree)]
    while left:
        function, node = left.pop()
        yield function, node
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        body = {id(one) for one in node.body} if is_function else ()
        below = ast.iter_child_nodes(node)
        left += [(node.name if id(one) in body else function, one) for one in below]


def index_of(node: Any) -> Any:
    """What something is indexed with, which Python 3.8 has in a node of its own."""
    cut = node.slice
    return cut.value if type(cut).__name__ == "Index" else cut


def _program_files() -> list[str]:
    """The files of the program that have been loaded, the script before its modules."""
    kind, name = roles.program(roles.command_line())
    spec = own_threads.contents("__main__").get("__spec__")
    # of a script Python takes the name away when it is over
    own = name if kind == "script" else getattr(spec, "origin", None)
    found = [os.path.join(str(metadata.facts.get("cwd")), own)] if type(own) is str else []
    for module in list(sys.modules):
        file = own_threads.contents(module).get("__file__")
        if type(file) is str and file.endswith(".py"):
            found.append(file)
    whole = dict.fromkeys(map(os.path.abspath, found))
    return [one for one in whole if files.is_program(one)][:_MOST_FILES]
