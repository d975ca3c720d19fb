"""What the study of restarts says in words."""

import shlex
from collections.abc import Mapping, Sequence

from perfscope.output import beginning
from perfscope.schema.restarts import Restarts
from perfscope.units import counted, format_seconds, format_share

WORTH_A_WARNING = 0.1
"""Share of the time that was not kept."""


LONGEST_COMMAND = 80


def verdict(found: Restarts, commands: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """Status and sentence of the first screen."""
    total = found.elapsed_s
    if total <= 0:
        return "info", "The recordings have no length."
    failed = sum(not one.ended_well for one in found.attempts)
    kept = found.kept_s / total
    count = counted(len(found.attempts), "attempt")
    parts = [
        (found.lost_s, "was lost between checkpoint and end"),
        (found.start_up_s, "was start-up"),
        (found.gap_s, "lay between attempts"),
    ]
    told = [f"{format_seconds(s)} ({format_share(s / total)}) {what}" for s, what in parts if s > 0]
    ends = (
        f"{failed} did not reach the end by {'itself' if failed == 1 else 'themselves'}"
        if failed
        else "the attempt reached its end"
        if len(found.attempts) == 1
        else "all reached their end"
    )
    sentence = (
        f"Over {count} in {format_seconds(total)}, {format_share(kept)} of the time was work that "
        f"was kept; {ends}."
    )
    more = f" Of the rest, {', '.join(told)}." if told else ""
    status = "pass" if kept >= 1 - WORTH_A_WARNING else "warn"
    return status, sentence + more + _unlike(commands)


def _unlike(commands: Mapping[str, Sequence[str]]) -> str:
    """That attempts were started by different commands; "" where all are alike."""
    first: dict[str, str] = {}
    for label, words in commands.items():
        first.setdefault(shlex.join(words), label)
    if len(first) < 2:
        return ""
    (one, label), (other, later) = list(first.items())[:2]
    return (
        f" The attempts were started by {len(first)} different commands, {label} by "
        f"{beginning(one, LONGEST_COMMAND)} and {later} by {beginning(other, LONGEST_COMMAND)}: "
        "that they are one job is assumed."
    )


_LOST = (
    "of an attempt that did not reach its end by itself: from the end of its last checkpoint that "
    "every writing rank had completed to its end; without one, from its first step. Checkpoints "
    "are those that frameworks report or markers name."
)
_START_UP = "from the start of an attempt to its first step; where it made none, all of it."
_INTERVAL = (
    "the square root of twice the cost of a checkpoint times the running time for each failure "
    "(J. W. Young, 1974). It holds where failures come at random; few of them tell little."
)
HOW_MEASURED = (("Lost work", _LOST), ("Start-up", _START_UP), ("Best interval", _INTERVAL))
