"""The first step of each epoch takes far longer than the others."""

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, passed
from perfscope.findings.core.gain import saved
from perfscope.findings.facts.epoch_starts import EpochStarts, epoch_starts, has_epochs
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.step_shift import LEAST_RATIO
from perfscope.schema.enums import Confidence
from perfscope.units import format_seconds, format_share

ACTIONS = (
    (
        "Begin once what begins anew with each epoch{place}. In an input pipeline, keep what comes "
        "out of costly steps that always give the same (tf.data: cache() behind such a map(), not "
        "before it), and change samples at random, or shuffle them, only after that."
    ),
    "Run over the data without a break: let the pipeline repeat, so that it works ahead.",
)


def judge(run: Facts) -> Outcome:
    """Whether first steps of epochs take so much that it matters."""
    results = run.results
    found = epoch_starts(results)
    if found is None:
        return passed("The first steps of epochs take no longer than others.")
    gain = saved(results, found.lost_s)
    status = thresholds.deserved(gain)
    if not status.is_fault:
        return passed(f"First steps of epochs take {format_seconds(found.lost_s)} more in all.")
    first, usual = format_seconds(found.first_s), format_seconds(found.usual_s)
    place = f" in {wording.place(found.frame)}" if found.frame else ""
    return Finding(
        status=status,
        title=f"The first step of each epoch takes {first} instead of {usual}",
        summary=(
            f"{found.count} epochs behind the first one begin so, on every rank: "
            f"{format_seconds(found.lost_s)} beyond other steps, in time that counts as training "
            "work."
        ),
        gain=gain,
        confidence=Confidence.MEDIUM,
        ranks=tuple(rank.number for rank in results.trace.ranks),
        where=(found.frame,) if found.frame else (),
        evidence=_evidence(found),
        actions=(ACTIONS[0].format(place=place), ACTIONS[1]),
        overlaps=("data_stall", "repeated_work", "frequent_evaluation"),
    )


def _evidence(found: EpochStarts) -> tuple[Evidence, ...]:
    seen = (
        (Evidence(f"Seen in {wording.called(found.frame)}", format_share(found.share)),)
        if found.frame
        else ()
    )
    return (
        Evidence("Median first step of an epoch", found.first_s, "s", "as the others"),
        Evidence("Median of the other steps", found.usual_s, "s"),
        Evidence("Epochs that begin so, without the first one", found.count),
        *seen,
    )


DIAGNOSIS = Diagnosis(
    id="slow_epoch_start",
    title="The first step of each epoch takes long",
    description=(
        "Compares training work in the first step of each epoch but the first one with that of "
        "other steps, where a framework or a mark tells epochs. What a pipeline inside a compiled "
        "function, or the program itself, does anew for each epoch shows there."
    ),
    judge=judge,
    applies=has_epochs,
    passed="First steps of epochs are like others",
    evidence="median first and other step, how many epochs begin so, and where that was seen",
    gain_from="upper bound: training work of these steps beyond that of the median other step",
    counts_from=(
        f"as most do, where most epochs begin with a step {LEAST_RATIO:g} times as long as nearly "
        "all others"
    ),
    rank=65,
    of_work=True,
)
