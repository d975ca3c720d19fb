"""Kinds of counters: what their values mean."""

from enum import Enum


class CounterKind(Enum):
    """How the values of a counter relate to time."""

    GROWING = "growing"  # accumulated since the start of the process or some other origin
    VALUE = "value"  # at this moment: a temperature, a rate
    DIFFERENCE = "difference"  # accumulated since the previous value
