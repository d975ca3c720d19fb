"""Methods of Keras models that are called in a loop and build an input pipeline in each call."""

from perfscope.findings.core import thresholds
from perfscope.findings.facts.growth_causes import PIPELINES
from perfscope.metrics.host.framework_calls import FrameworkCalls
from perfscope.metrics.results import Results
from perfscope.structures import dataclass

ONE_BATCH = 1.5  # compiled functions in a call: a call of more works on several batches
CURES = {"predict": "predict_on_batch", "evaluate": "test_on_batch", "fit": "train_on_batch"}


@dataclass(frozen=True)
class Loop:
    """One method on one rank: seconds of a call, and of them what need not be.

    `cure` are the calls of the on_batch method on the same rank, None where there are none, or
    where setting up is not most of the difference, so that both may get unequal batches. Without
    them a call is needless at most as a whole where setting up is most of it (what iterates over
    the pipeline and calls back goes with it), else what it sets up.
    """

    calls: FrameworkCalls
    each_s: float
    needless_s: float
    cure: FrameworkCalls | None

    @property
    def saved_s(self) -> float:
        """Of all its calls."""
        return self.needless_s * self.calls.calls


def loops_of_calls(results: Results) -> list[Loop]:
    """Every such method that a rank calls often, in recordings that tell what it sets up."""
    found = []
    for calls in results.framework_calls:
        often = calls.name in PIPELINES and calls.steady_calls >= thresholds.PREDICTS_OFTEN
        if not often or not calls.seconds or not calls.set_up_s:
            continue
        cure = _cure(results, calls)
        needless_s = calls.seconds - ((cure.seconds or 0.0) if cure is not None else 0.0)
        if calls.set_up_s < needless_s / 2:  # mostly other work: the batches may not be alike
            needless_s, cure = calls.set_up_s, None
        found.append(Loop(calls, calls.seconds, min(max(0.0, needless_s), calls.seconds), cure))
    return found


def _cure(results: Results, calls: FrameworkCalls) -> FrameworkCalls | None:
    """The calls to compare with; None as well where a call works on several batches."""
    if calls.compiled > ONE_BATCH:
        return None
    wanted = CURES[calls.name]
    same = (o for o in results.framework_calls if (o.rank, o.name) == (calls.rank, wanted))
    return next((one for one in same if one.steady_calls >= thresholds.PREDICTS_OFTEN), None)
