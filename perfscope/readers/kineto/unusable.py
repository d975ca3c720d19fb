"""What of the files of a profile could not be used, and what that means for the run."""

import numpy as np

from perfscope.readers.kineto.file import EPOCH_NS, RUNTIME, KinetoContents
from perfscope.readers.kineto.foreign import is_foreign, notes_on
from perfscope.trace.damage import Damage, Need
from perfscope.units import counted

MOST_LEFT_OUT = 0.1
"""Profilers write a few durations below 0; where more is no time, the file is damaged."""


def left_out(contents: KinetoContents) -> int:
    """Events whose times are none: they did happen, but nobody knows when or for how long."""
    return sum(contents.counts[key] for key in ("without_time", "damaged", "negative"))


def tells_hosts(contents: KinetoContents) -> bool:
    """Whether a file holds anything of its host but calls of the devices' runtime."""
    told = contents.counts["operators"] + contents.counts["python_functions"]
    return bool(told or len(contents.calls) or np.any(contents.host["kind"] != RUNTIME))


def without_times(ranked: dict[int, KinetoContents]) -> list[Damage]:
    """What was left out looks like idle time: of much of it nothing can be told any more."""
    for number, contents in ranked.items():
        lost = left_out(contents)
        kept = len(contents.host) + contents.device_count + len(contents.calls)
        if lost > MOST_LEFT_OUT * (lost + kept):
            text = (
                f"The profile of rank {number} is damaged: {lost:,} of its "
                f"{counted(lost + kept, 'event')} have no usable time."
            )
            return [Damage("dropped_records", text, frozenset({Need.EVERY_RANK}))]
    return []


def cut_profiles(ranked: dict[int, KinetoContents]) -> list[Damage]:
    """Profilers write when they have stopped, and by threads: what a cut takes lies anywhere."""
    cut = [n for n, one in ranked.items() if one.cut_at is not None and not is_foreign(one)]
    if not cut:
        return []
    text = (
        f"The profile of rank {cut[0]} ends in the middle, and what is missing may be of any time: "
        "profilers write by threads and streams."
    )
    return [Damage("dropped_records", text, frozenset({Need.EVERY_RANK}))]


def losses(contents: KinetoContents) -> list[str]:
    """What of a file could not be used."""
    counts, name = contents.counts, contents.path.name
    reasons = {
        "without_time": "without a usable time",
        "damaged": "with a duration that is no number",
        "negative": "with a negative duration",
        "unopened": "ending what never began",
    }
    notes = [
        f"{name}: left out {counted(counts[key], 'event')} {reason}."
        for key, reason in reasons.items()
        if counts[key]
    ]
    if counts["unclosed"]:
        notes.append(
            f"{name}: {counted(counts['unclosed'], 'event')} without an end; its own end is taken."
        )
    if counts["long_names"]:
        notes.append(
            f"{name}: names of {counted(counts['long_names'], 'event')} were cut at 4,096 bytes."
        )
    if counts["without_launch"]:
        notes.append(
            f"{name}: the launch of {counts['without_launch']:,} of {counts['device']:,} device "
            "events is not in the file; they count, and their idle time before is `other`."
        )
    notes += contents.notes + notes_on(contents)
    if contents.cut_at is not None:
        notes.append(f"{name} ends in the middle: events behind byte {contents.cut_at:,} are lost.")
    if not contents.has_base and contents.start_ns < EPOCH_NS:
        notes.append(f"{name} does not say which moment its times count from.")
    return notes
