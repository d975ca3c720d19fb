"""In which function of the user's, and at which line, stacks were sampled."""

from collections import Counter
from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt

from perfscope.arrays import Ints
from perfscope.attribution.not_training import IS_TRAINING
from perfscope.attribution.timeline import Timeline
from perfscope.attribution.waited_for import main_wait
from perfscope.judging import MAIN
from perfscope.losses.cause import LossCause
from perfscope.metrics.results import Results
from perfscope.schema.enums import Activity, AwaitedThing
from perfscope.trace.model import Frame, Function


class Functions:
    """The functions of the user's that the stacks of a run tell, and what they show of losses."""

    def __init__(self, results: Results) -> None:
        frames, labels = results.trace.frames, results.labels
        known: dict[Function, int] = {}
        of_frame = [known.setdefault(one.key, len(known)) for one in frames]
        self._names = tuple(known)
        self._frame = np.zeros(0, np.int64)
        if labels is not None:
            self._frame = labels.user_frame.astype(np.int64)
        self._not_training = results.not_training
        self._of_frame = np.array(of_frame, np.int64)

    def functions_of(self, stacks: npt.NDArray[np.integer]) -> Ints:
        """The function of each stack, -1 unknown."""
        if not len(self._frame):
            return np.full(len(stacks), -1, np.int64)
        found = self._of_frame[self._frame[np.maximum(stacks, 0)]]
        return np.where(stacks >= 0, found, -1)

    def not_training(
        self, stacks: npt.NDArray[np.integer], accounts: npt.NDArray[np.uint8]
    ) -> npt.NDArray[np.int8]:
        """Place in `tuple(Activity)` of what stacks show in place of training, -1 none."""
        if self._not_training is None or not len(self._not_training):
            return np.full(len(stacks), -1, np.int8)
        by_stack = np.append(self._not_training, -1).astype(np.int8)
        shown: npt.NDArray[np.int8] = by_stack[stacks]
        shown[~IS_TRAINING[accounts]] = -1
        return shown

    def places_of(self, functions: Collection[Function | None]) -> list[int]:
        """What `functions_of` calls some functions."""
        return [place for place, name in enumerate(self._names) if name in functions]

    def name(self, function: int) -> Function | None:
        """Name and file of a function."""
        return self._names[function] if function >= 0 else None


class Places(Functions):
    """The functions and lines of the user's that the stacks of a run tell."""

    def __init__(self, results: Results) -> None:
        super().__init__(results)
        self._frames, self._trace = results.trace.frames, results.trace
        self._waited: dict[LossCause, Counter[int]] = {}
        self._lines: dict[Function, Counter[int]] = {}
        self._seen: dict[LossCause, Counter[int]] = {}
        for timeline in results.timelines:
            self._add(timeline)

    def see(self, cause: LossCause, stacks: npt.NDArray[np.integer], ns: Ints) -> None:
        """Notes where a cause was seen, and for how long."""
        known = stacks >= 0
        if not len(self._frame) or not known.any():
            return
        spent = np.bincount(self._frame[stacks[known]], ns[known], minlength=len(self._frames))
        seen = self._seen.setdefault(cause, Counter())
        for place in np.flatnonzero(spent).tolist():
            seen[place] += int(spent[place])
        if cause.activity is Activity.LOCK:
            waited = self._waited.setdefault(cause, Counter())
            by_stack = np.bincount(stacks[known], ns[known])
            for stack in np.flatnonzero(by_stack).tolist():
                waited[stack] += int(by_stack[stack])

    def waited_for(self, cause: LossCause) -> AwaitedThing | None:
        """What most of a wait for threads or locks is for; None of other causes."""
        found = self._waited.get(cause)
        return main_wait(found, self._trace) if found else None

    def frame(self, cause: LossCause) -> Frame | None:
        """The user's function in which a cause was most, at its usual line; None unknown."""
        seen = self._seen.get(cause)
        if cause.function is not None and not seen:
            return self._usual_line(cause.function)
        if not seen:
            return None
        function, lines = self._in_main_function(seen)
        return Frame(*function, _usual(lines))

    def also(self, cause: LossCause) -> tuple[int, ...]:
        """Of sleeping, further lines of that function that are to change as well, in their order.

        Each of them is a call that somebody wrote to wait there; other work spreads over lines.
        """
        seen = self._seen.get(cause)
        if cause.activity is not Activity.SLEEP or not seen:
            return ()
        _, lines = self._in_main_function(seen)
        usual = _usual(lines)
        least_ns = MAIN * lines[usual]
        return tuple(sorted(one for one, ns in lines.items() if ns >= least_ns and one != usual))

    def _in_main_function(self, seen: Counter[int]) -> tuple[Function, dict[int, int]]:
        """The function in which something was most, and for how long at each of its lines."""
        functions: Counter[Function] = Counter()
        for place, ns in sorted(seen.items()):
            functions[self._frames[place].function, self._frames[place].file] += ns
        function = functions.most_common(1)[0][0]
        lines = {
            self._frames[place].line: ns
            for place, ns in seen.items()
            if self._frames[place].key == function
        }
        return function, lines

    def _usual_line(self, function: Function) -> Frame | None:
        lines = self._lines.get(function)
        return Frame(*function, _usual(lines)) if lines else None

    def _add(self, timeline: Timeline) -> None:
        known = np.flatnonzero(timeline.stacks >= 0)
        if not len(self._frame) or not len(known):
            return
        ns = timeline.boundaries[known + 1] - timeline.boundaries[known]
        seen = self._frame[timeline.stacks[known]]
        spent = np.bincount(seen, ns, minlength=len(self._frames))
        for place in np.flatnonzero(spent).tolist():
            frame = self._frames[place]
            lines = self._lines.setdefault(frame.key, Counter())
            lines[frame.line] += int(spent[place])


def _usual(lines: Mapping[int, int]) -> int:
    """The line in which most time was seen, the first of several."""
    return max(lines.items(), key=lambda item: (item[1], -item[0]))[0]
