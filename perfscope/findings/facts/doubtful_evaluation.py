"""A model that is set to evaluation before anything is trained: it may act for the training."""

from perfscope.attribution.acting import DOUBTFUL_ID
from perfscope.findings.core import wording
from perfscope.findings.core.diagnosis import Outcome
from perfscope.findings.core.finding import passed
from perfscope.findings.facts.serial_work import own_seconds
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence
from perfscope.units import NS, counted


def doubtful_evaluation(results: Results, least: float) -> Outcome | None:
    """What is said of it where it takes more than a share of the run; None: nothing."""
    phase = next((one for one in results.phases if one.id == DOUBTFUL_ID), None)
    share = max(own_seconds(phase), default=0.0) / (results.focus.length_ns * NS) if phase else 0.0
    if phase is None or share <= least:
        return None
    times = counted(round(phase.count / max(1, len(phase.entering_ranks))), "time")
    return passed(
        f"A model is set to evaluation {times}, which takes {wording.of_window(share)}. "
        "As it first is before anything is trained, that may be evaluation, which could be done "
        "less often, or collecting of experience that training needs.",
        Confidence.LOW,
    )
