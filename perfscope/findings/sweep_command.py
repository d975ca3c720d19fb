"""The command that measures what a setting gives, with the recorded command in it."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfscope.trace.model import Trace

LONGEST = 300
"""Characters of a command that is still shown as a whole; a piece of one cannot be used."""

REDACTED = "[redacted]"
OWN = "YOUR-COMMAND"
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
    for name, numbers in values.items():
        words += ["--env", f"{name}={','.join(map(str, numbers))}"]
    if oversubscribe:
        words.append("--oversubscribe")
    return f"{shlex.join([*words, '--'])} {_command(trace)}"


def _command(trace: Trace) -> str:
    text = shlex.join(_PLACEHOLDER.sub(r"{{\1}}", word) for word in trace.command)
    is_whole = bool(text) and REDACTED not in text and text.isprintable()
    return text if is_whole and len(text) <= LONGEST else OWN


def doubled(first: int, last: int) -> tuple[int, ...]:
    """Numbers from `first` on, each twice the one before, up to and with `last`; at most five."""
    found = [first]
    while found[-1] * 2 < last:
        found.append(found[-1] * 2)
    if last > first:
        found.append(last)
    return tuple(found) if len(found) <= 5 else (*found[:4], last)
