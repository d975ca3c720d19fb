"""Which lines of the program switch on what slows everything that runs under it.

A mode costs time wherever it holds, and the line to change is another one: that of the call, or of
the keyword, which the program's own files are searched for at the end, where such a mode was on.
"""

from __future__ import annotations

import os
import sys

from . import files, metadata, own_threads, recorder, roles
from .kinds import Any, Iterator

_MOST_FILES = 500
_MOST_BYTES = 1 << 20  # of a file
_MOST_PLACES = 8

_NAMES = {
    "anomaly_mode": ("set_detect_anomaly", "detect_anomaly"),
    "deterministic": ("use_deterministic_algorithms",),
    "debug_nans": ("jax_debug_nans", "debug_nans"),
    "disable_jit": ("jax_disable_jit", "disable_jit"),
    "functions_run_eagerly": ("run_functions_eagerly",),
    "run_eagerly": ("run_eagerly",),
    "profile_function": ("setprofile", "Profile", "runctx", "runcall"),
    "trace_function": ("settrace", "set_trace"),
    "tracemalloc_frames": ("tracemalloc",),
}
"""By the fact that tells of a mode, what calls, keywords and names of options set it."""


def note() -> None:
    """At exit: the lines that set those of the modes that were on."""
    wanted = {name: fact for fact in _on() for name in _NAMES[fact]}
    if not wanted:
        return
    found: dict[str, list[str]] = {}
    for file in _program_files():
        for name, function, line in _uses(file, wanted):
            places = found.setdefault(wanted[name], [])
            if len(places) < _MOST_PLACES:
                places.append(recorder.place_text(function, file, line))
    metadata.facts["switches"] = found


def _on() -> list[str]:
    """The facts of modes that were on."""
    frameworks = metadata.facts.get("frameworks")
    told = list(frameworks.values()) if isinstance(frameworks, dict) else []
    return [fact for fact in _NAMES if any(one.get(fact) for one in (metadata.facts, *told))]


def _program_files() -> list[str]:
    """The files of the program that have been loaded, the script before its modules."""
    kind, name = roles.program(roles.command_line())
    spec = own_threads.contents("__main__").get("__spec__")
    # of a script Python takes the name away when it is over
    own = name if kind == "script" else getattr(spec, "origin", None)
    found = [os.path.join(str(metadata.facts.get("cwd")), own)] if type(own) is str else []
    for module in list(sys.modules):
        file = own_threads.contents(module).get("__file__")
        if type(file) is str and file.endswith(".py") and files.is_program(file):
            found.append(os.path.abspath(file))
    return list(dict.fromkeys(map(os.path.abspath, found)))[:_MOST_FILES]


def _uses(file: str, wanted: dict[str, str]) -> list[tuple[str, str, int]]:
    """Name, function and line of each use of a name in a file, as far as it can be read."""
    import tokenize  # only where a mode was on, and in the main thread

    try:
        with open(file, "rb") as stream:
            text = stream.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES or not any(name.encode() in text for name in wanted):
            return []
        lines = iter(text.splitlines(True))
        return list(_found(tokenize.tokenize(lambda: next(lines, b"")), wanted))
    except (OSError, SyntaxError, UnicodeError, tokenize.TokenError):
        return []


def _found(tokens: Iterator[Any], wanted: dict[str, str]) -> Iterator[tuple[str, str, int]]:
    """What of the code, and of no comment, calls or sets something of that name to be on."""
    import tokenize

    shown = [one for one in tokens if one.type not in (tokenize.NL, tokenize.COMMENT)]
    texts = [one.string for one in shown] + [""] * 3
    functions: list[tuple[int, str]] = []  # each with the depth that its body has
    depth, begun = 0, ""
    for at, token in enumerate(shown):
        if token.type == tokenize.INDENT:
            depth += 1
            functions += [(depth, begun)] if begun else []
        elif token.type == tokenize.DEDENT:
            depth -= 1
            functions = [one for one in functions if one[0] <= depth]
        elif token.string == "def" and token.type == tokenize.NAME:
            begun = texts[at + 1]
        begun = begun if token.type != tokenize.NEWLINE or not texts[at + 1].strip() else ""
        name = token.string.strip("\"'") if token.type == tokenize.STRING else token.string
        if name in wanted and _sets(token.type == tokenize.STRING, texts, at):
            yield name, functions[-1][1] if functions else "<module>", token.start[0]


def _sets(is_text: bool, texts: list[str], at: int) -> bool:
    """Whether the name at a place of the code is called, or given as a keyword or an option."""
    before, after, value = texts[at - 1] if at else "", texts[at + 1], texts[at + 2]
    if before in ("def", "class", "import") or value == "False":
        return False
    if is_text:
        return before == "(" and after == ","
    if texts[at] == "tracemalloc":
        return after == "." and value == "start"
    return after == "(" or (after == "=" and before in ("(", ","))
