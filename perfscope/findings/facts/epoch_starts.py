"""What the first steps of epochs take beyond other steps."""

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.attribution.ledger import INDEX
from perfscope.attribution.timeline import Timeline
from perfscope.findings.facts.step_shift import LEAST_RATIO, UPPER
from perfscope.judging import MAIN
from perfscope.metrics.results import Results
from perfscope.schema.enums import Account
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Rank, Table
from perfscope.units import NS


@dataclass(frozen=True)
class EpochStarts:
    """First steps of epochs that train far longer than others, on every rank."""

    count: int  # of those that are long; the first epoch of the run is none
    first_s: float  # median training work in such a step
    usual_s: float  # and in the others
    lost_s: float  # beyond usual steps, in all, of the rank that lost least
    frame: Frame | None  # the user's function in which most of it was seen
    share: float = 0.0  # of it in that function


def epoch_starts(results: Results) -> EpochStarts | None:
    """The long first steps of the epochs; None where those are none, or not on every rank."""
    pairs = zip(results.trace.ranks, results.timelines, strict=True)
    found = [_of_rank(results, rank, timeline) for rank, timeline in pairs]
    if not found or None in found:
        return None
    return min((one for one in found if one), key=lambda one: one.lost_s)


def has_epochs(results: Results) -> bool:
    """Whether a framework or a mark tells in which epoch each step is."""
    return any((rank.steps["epoch"] >= 0).any() for rank in results.trace.ranks)


def _of_rank(results: Results, rank: Rank, timeline: Timeline) -> EpochStarts | None:
    focus, steps = results.focus, rank.steps
    rows = steps[(steps["t0"] >= focus.start_ns) & (steps["t1"] <= focus.end_ns)]
    epochs: Ints = rows["epoch"]
    begins = np.flatnonzero(np.diff(epochs, prepend=epochs[:1]))
    if not 0 < len(begins) <= MAIN * len(rows):
        return None
    seconds = _trained_s(results, timeline, rows)
    others = np.delete(seconds, begins)
    usual_s = float(np.median(others))
    long = begins[seconds[begins] > LEAST_RATIO * float(np.quantile(others, UPPER))]
    if len(long) < 2 or len(long) <= MAIN * len(begins):
        return None
    frame, share = _main_frame(results, timeline, rows[long])
    return EpochStarts(
        count=len(long),
        first_s=float(np.median(seconds[long])),
        usual_s=usual_s,
        lost_s=float((seconds[long] - usual_s).sum()),
        frame=frame,
        share=share,
    )


def _trained_s(results: Results, timeline: Timeline, rows: Table) -> Floats:
    """Seconds of training work in each step of a rank."""
    chosen = timeline.inside(results.focus) & (timeline.accounts == INDEX[Account.TRAINING])
    before = timeline.before(chosen)
    begins: Floats = np.interp(rows["t0"], timeline.boundaries, before)
    ends: Floats = np.interp(rows["t1"], timeline.boundaries, before)
    return (ends - begins) * NS


def _main_frame(results: Results, timeline: Timeline, rows: Table) -> tuple[Frame | None, float]:
    """The user's function that was seen most in some steps, and its share of what was seen."""
    labels = results.labels
    if labels is None:
        return None, 0.0
    starts: Ints = timeline.boundaries[:-1]
    step = np.searchsorted(rows["t0"], starts, "right") - 1
    inside = (step >= 0) & (starts < rows["t1"][np.maximum(step, 0)])
    by_stack = timeline.by_stack(inside, len(labels.user_frame))
    spent = np.bincount(labels.user_frame + 1, by_stack, minlength=1)  # at 0 what is no user's
    place = int(spent.argmax()) - 1
    if place < 0:
        return None, 0.0
    return results.trace.frames[place], float(spent[place + 1] / spent.sum())
