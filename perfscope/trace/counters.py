"""What the values of a counter are."""

from enum import Enum


class CounterKind(Enum):
    """How a counter's values belong to time."""

    GROWING = "growing"  # counted since the beginning, or since some moment
    VALUE = "value"  # of the moment: a temperature, a rate
    DIFFERENCE = "difference"  # counted since the value before
