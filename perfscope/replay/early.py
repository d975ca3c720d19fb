"""How far what a change saves lies at the beginning of a run."""

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.replay.model import Early
from perfscope.units import NS


def early(gains: Floats, lengths: Floats, steps: Ints) -> Early | None:
    """The first steps, from which all later ones differ most in what is saved; None of too few.

    Where one mean for the steps up to a moment, and one for those behind it, leave least of the
    squares of what is saved (a change point, Page 1955). None where steps save as much later.

    Args:
        gains: nanoseconds that are saved in each segment, in order.
        lengths: how long each of them was before.
        steps: numbers of the steps in which the segments end, in order; 0 is before the first one,
            and what follows the last one counts as a further one.
    """
    of = int(steps[-1]) - 1 if len(steps) else 0
    if of < 2:
        return None
    place = np.clip(steps, 1, of)
    reached = np.cumsum(np.bincount(place, gains, of + 1))
    first, whole = np.arange(1, of), float(reached[of])
    beyond = np.maximum(reached[1:of] - first * (whole / of), 0.0)
    if whole <= 0 or not beyond.any():
        return None
    found = 1 + int(np.argmax(beyond**2 / (first * (of - first))))
    gain = float(reached[found])
    return Early(
        steps=found,
        of=of,
        gain_s=NS * gain,
        rest_s=NS * (whole - gain),
        rest_length_s=NS * float(lengths[place > found].sum()),
    )
