"""Samples per second that scale while the run does not become shorter."""

from perfscope.findings.core.finding import Evidence, Quiet, not_applicable, not_measured, passed
from perfscope.schema.enums import Confidence, Status
from perfscope.studies.common.spent import is_no_training
from perfscope.studies.findings import thresholds
from perfscope.studies.findings.catalog import StudyDiagnosis, StudyFinding
from perfscope.studies.scaling.scaling import Scaling
from perfscope.units import format_seconds


def judge(study: Scaling) -> StudyFinding | Quiet:
    """Whether the throughput of the largest size promises what its run time does not keep."""
    if len(study.points) < 2:
        return not_applicable("Runs of a single size cannot show it.")
    rate, whole = study.throughput[-1], study.whole.values[-1]
    known = [value for value in (rate.step_speedup, rate.speedup) if value is not None]
    if not known or whole.speedup is None:
        return not_measured(
            "The samples of a step are not known in every run: report them with "
            "perfscope.step(samples=N), or use a framework that does."
        )
    shown = max(known)
    behind = shown / whole.speedup
    ratio = study.ratio(len(study.points) - 1)
    if shown / ratio < thresholds.THROUGHPUT_SCALES or behind < thresholds.TIME_BEHIND_WARN:
        more = (
            " Of the same work, as more ranks do more; --strong judges a job that was to finish "
            "earlier."
            if not study.growth.is_strong and study.growth.basis != "option"
            else ""
        )
        return passed(
            f"At the largest size throughput is {shown:.2f} times, and the run "
            f"{whole.speedup:.2f} times as fast.{more}"
        )
    # what the table of the study calls throughput is samples per second of the whole run
    name = "throughput" if shown == rate.speedup else "the step rate"
    return _finding(study, name, shown, whole.speedup)


def _finding(study: Scaling, name: str, shown: float, gained: float) -> StudyFinding:
    size, first = (study.axis.count(study.points[n].size) for n in (-1, 0))
    last = study.points[-1].representative
    grown = study.growth.work_ratio
    is_more_work = (
        study.growth.is_strong and grown is not None and grown >= thresholds.TIME_BEHIND_WARN
    )
    why = (
        f"The job trains on {grown:.2f} times as many samples as with {first}."
        if is_more_work
        else "The time is lost outside the steps: in evaluation, input or the start of epochs."
    )
    actions = (
        ("Give each rank its own part of the data, or divide the steps by the number of ranks.",)
        if is_more_work
        else (_what_stays(study),)
    )
    return StudyFinding(
        status=Status.FAIL if shown / gained >= thresholds.TIME_BEHIND_FAIL else Status.WARN,
        title=f"With {size} {name} is {shown:.2f} times as high, but the run is only "
        f"{gained:.2f} times as fast",
        summary=f"Against {first}. {why}",
        confidence=Confidence.HIGH,
        evidence=(
            Evidence(f"Speed-up of {name.removeprefix('the ')}", shown, ""),
            Evidence("Speed-up of the run time", gained, "", "the same"),
        ),
        actions=(*actions, "Judge sizes by time to result, not by samples per second."),
        runs=(last.label,),
    )


def _what_stays(study: Scaling) -> str:
    """What is no training of which ideal scaling would have spared a rank most.

    Losses of training, and of exchange, are in the steps: these would be no faster with them.
    """
    ideal = study.ratio(len(study.points) - 1)
    added = [
        (one.seconds[-1] - one.seconds[0] / ideal, one.label)
        for one in study.losses[1:]
        if is_no_training(one.id)
    ]
    seconds, label = max(added, default=(0.0, ""))
    if seconds <= 0:
        return "Shorten what takes as long at each size: “Where the time goes” names it."
    size = study.axis.count(study.points[-1].size)
    more = f"{format_seconds(seconds)} per rank more than ideal scaling would leave"
    return f"Shorten “{label}”: with {size} it takes {more}."


DIAGNOSIS = StudyDiagnosis(
    "throughput_without_time",
    "scaling",
    "Throughput scales but run time does not",
    (
        "Compares the speed-up of the throughput that a log shows (samples of a step over its "
        "median time, or samples per second) with that of the run time: they part where time is "
        "lost outside of steps, or where every rank trains on all of the data."
    ),
    judge,
    passed="Throughput and run time scale alike",
)
