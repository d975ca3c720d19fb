"""Defects of a recording as a whole, and the figures that must be withheld because of them."""

from enum import Enum

from perfscope.structures import dataclass


class Need(Enum):
    """What a figure or a diagnosis needs of a recording to be true."""

    EVERY_RANK = "every_rank"  # all ranks of one job: their times are compared or added up
    ONE_RUN = "one_run"  # no gap inside a rank between events that do not belong together
    TO_THE_END = "to_the_end"  # the run until it ended by itself: shares of the whole run


MIXED_RUNS = "mixed_runs"
"""What is wrong where files of several runs were taken for one."""
UNKNOWN_SIZE = "unknown_size"
"""What is wrong where one rank communicates and nothing tells with how many others."""
SPOILS_COMPARISON = frozenset({Need.EVERY_RANK, Need.TO_THE_END})
SPOILS_EVERYTHING = frozenset(Need)
SPOILS_WHOLE = frozenset({Need.TO_THE_END})


@dataclass(frozen=True)
class Damage:
    """One thing that is wrong with a recording.

    Readers put what they find in the files into `Trace.damage`; what the tables themselves show is
    found by `perfscope.attribution.soundness`.
    """

    id: str  # names it in analysis.json, where possible as the quality check that tells more
    text: str  # one sentence, with which the verdict begins
    spoils: frozenset[Need] = frozenset()  # figures with one of these needs are withheld
