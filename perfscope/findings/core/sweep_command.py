"""The command that measures what a setting gives, with the recorded command in it."""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from perfscope.trace.model import Trace

LONGEST = 300
"""Characters of a command that is still shown as a whole; a piece of one cannot be used."""

REDACTED = "[redacted]"
OWN = "YOUR-COMMAND"
MOST_VALUES = 5
_SETTERS = ("-x", "-env", "-genv")
_SETTERS_OF_TWO = ("-env", "-genv")
_PLACEHOLDER = re.compile(r"(?<!\$)\{([A-Za-z_][A-Za-z0-9_]*)\}")


def sweep_command(
    trace: Trace, values: Mapping[str, Sequence[int]], *, oversubscribe: bool = False
) -> str:
    """`perfscope sweep --env NAME=V,V -- COMMAND`, to be copied into a shell.

    Args:
        trace: the run; its command stands behind `--` where it is known as a whole.
        values: of each environment variable, in the order of the options.
        oversubscribe: whether a configuration asks for more threads than CPUs.
    """
    words = ["perfscope", "sweep"]
    command, inside = _with_places(trace, tuple(values))
    for name, numbers in values.items():
        own = name.lower() if name in inside else name
        words += ["--var" if name in inside else "--env", f"{own}={','.join(map(str, numbers))}"]
    if oversubscribe:
        words.append("--oversubscribe")
    return f"{shlex.join([*words, '--'])} {command}"


def _with_places(trace: Trace, names: Sequence[str]) -> tuple[str, set[str]]:
    """The command, and the variables that it sets itself, whose values are places in it now.

    What mpirun -x or env sets inside the command wins over the environment of the sweep.
    """
    words = [_PLACEHOLDER.sub(r"{{\1}}", word) for word in trace.command]
    inside: set[str] = set()
    in_env = False
    for at, word in enumerate(words):
        name, has_value, _ = word.partition("=")
        before = words[at - 1] if at else ""
        goes_on = word[:1] == "-" or before == "-u" or bool(has_value)
        in_env = PurePath(word).name == "env" or (in_env and goes_on)
        if name not in names:
            continue
        if has_value and (in_env or before in _SETTERS):
            words[at] = f"{name}={{{name.lower()}}}"
            inside.add(name)
        elif not has_value and before in _SETTERS_OF_TWO and at + 1 < len(words):
            words[at + 1] = f"{{{name.lower()}}}"
            inside.add(name)
    text = shlex.join(words)
    is_whole = bool(text) and REDACTED not in text and text.isprintable()
    return (text, inside) if is_whole and len(text) <= LONGEST else (OWN, set())


def doubled(first: int, last: int) -> tuple[int, ...]:
    """Numbers from `first` on, each twice the one before, up to and with `last`.

    At most five: of more, every so many-th, so that no wide gap is left.
    """
    found = [first]
    while found[-1] * 2 < last:
        found.append(found[-1] * 2)
    if last > first:
        found.append(last)
    if len(found) <= MOST_VALUES:
        return tuple(found)
    return tuple(found[round(i * (len(found) - 1) / (MOST_VALUES - 1))] for i in range(MOST_VALUES))
