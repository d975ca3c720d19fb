"""What a rank mostly does in one of the user's functions, as its stack samples tell."""

import numpy as np

from perfscope.attribution.activities import ACTIVITIES, stack_activities
from perfscope.attribution.not_training import IS_TRAINING
from perfscope.judging import MAIN
from perfscope.metrics.results import Results
from perfscope.schema.enums import Activity
from perfscope.trace.model import Frame


def usual_activity(results: Results, number: int, function: tuple[str, str]) -> Activity | None:
    """The activity of most of a rank's time in a function, outside phases; None where none is.

    What the function calls counts, as far as it is not the user's.
    """
    labels, trace = results.labels, results.trace
    if labels is None:
        return None
    position = next(place for place, rank in enumerate(trace.ranks) if rank.number == number)
    timeline = results.timelines[position]
    is_one = np.array([_name(frame) == function for frame in trace.frames], np.bool_)
    here = timeline.inside(results.focus) & IS_TRAINING[timeline.accounts] & (timeline.stacks >= 0)
    here[here] = is_one[labels.user_frame[timeline.stacks[here]]]
    told = stack_activities(trace)[timeline.stacks[here]]
    spent = np.bincount(told, timeline.lengths[here], len(ACTIVITIES))
    most = int(spent.argmax())
    return ACTIVITIES[most] if spent[most] > MAIN * spent.sum() else None


def _name(frame: Frame) -> tuple[str, str]:
    return frame.function, frame.file
