"""Takes secrets out of an opened trace: what perfscope recorded has none, other tools' files may.

Redacting twice changes nothing, so that it is done here, once, for all formats.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perfscope.collect.redact import redact_arguments, redact_tokens, redact_value
from perfscope.trace.model import Rank, Trace

MANGLED = "_Z"
SCOPE = "::"
"""Of C++: `Token::next` is no token with a value."""


def without_secrets(trace: Trace) -> None:
    """Redacts the command, and every text of the trace that a program could have chosen.

    Names that compilers make look as random as keys: of these only what is certainly a secret is
    taken out.
    """
    trace.command = tuple(redact_arguments(trace.command))
    of_devices = _names_of_devices(trace)
    trace.names = [
        redact_tokens(name) if number in of_devices else _name(name)
        for number, name in enumerate(trace.names)
    ]
    trace.notes = [redact_value(note) for note in trace.notes]
    trace.environment = {
        name: redact_value(value) if isinstance(value, str) else value
        for name, value in trace.environment.items()
    }
    if trace.tensors is not None:
        trace.tensors.tensors = [redact_tokens(name) for name in trace.tensors.tensors]
        trace.tensors.names = [redact_tokens(name) for name in trace.tensors.names]
    for rank in trace.ranks:
        _clean(rank)


def _clean(rank: Rank) -> None:
    rank.threads = [replace(thread, name=redact_value(thread.name)) for thread in rank.threads]
    if rank.devices is not None:
        named = rank.devices.stream_names.items()
        rank.devices.stream_names = {stream: redact_value(name) for stream, name in named}


def _name(name: str) -> str:
    """A name that a program or a person gave."""
    if name.startswith(MANGLED):
        return redact_tokens(name)
    return SCOPE.join(redact_value(part) for part in name.split(SCOPE))


def _names_of_devices(trace: Trace) -> set[int]:
    """Indices in `Trace.names` that pieces of device work have: names of kernels."""
    found = [np.unique(r.devices.rows["name"]) for r in trace.ranks if r.devices is not None]
    return {int(number) for numbers in found for number in numbers}
