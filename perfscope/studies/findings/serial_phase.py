"""A part of the run that more ranks do not shorten, and that bounds what they can give."""

from perfscope.findings.core.finding import Evidence, Quiet, not_applicable, not_measured, passed
from perfscope.schema.enums import Confidence, Status
from perfscope.schema.scaling import Amdahl
from perfscope.schema.time import Phase
from perfscope.structures import dataclass
from perfscope.studies.findings import thresholds
from perfscope.studies.findings.catalog import StudyDiagnosis, StudyFinding
from perfscope.studies.scaling.scaling import Scaling
from perfscope.studies.scaling.series import Point
from perfscope.units import format_seconds, format_share


@dataclass(frozen=True)
class _Serial:
    """A phase that stays as long as it was, communication inside it not counted."""

    label: str  # of the phase
    ranks: int  # that enter it at the largest size
    seconds: float  # at the largest size, of the rank that works longest in it
    share: float  # at the largest size, of the rank that works longest in it
    gained: float  # its own speed-up


def judge(study: Scaling) -> StudyFinding | Quiet:
    """Whether time that does not shrink takes enough of the largest run to bound it."""
    if len(study.points) < 2:
        return not_applicable("Runs of a single size cannot show what does not scale.")
    if not study.growth.is_strong:
        grows = "grows" if study.growth.is_weak else "is uneven"
        return not_applicable(f"Where the work {grows}, no phase is expected to become shorter.")
    if len(study.fitting) < 2 or study.fitting[0] != 0:
        return not_measured(
            "Threads share CPUs at all sizes but one, or at the smallest one: what takes long "
            "there may be waiting for a CPU."
        )
    names = [part.id for part in study.phases]
    serial = [found for name in names if (found := _serial(study, name)) is not None]
    law = study.whole.amdahl
    bound = _bound_share(study, law)
    if not serial and bound < thresholds.SERIAL_SHARE_WARN:
        return passed("No phase that takes time fails to scale with the ranks.")
    worst = max(serial, key=lambda found: found.share) if serial else None
    share = worst.share if worst else bound
    if share < thresholds.SERIAL_SHARE_WARN:
        whole = _run(_largest(study).representative.focus_s)
        return passed(f"What does not scale takes {format_share(share)} of {whole}.")
    return _finding(study, worst, share)


def _serial(study: Scaling, identity: str) -> _Serial | None:
    """The phase if it gains hardly anything; what waits inside it waits for another one."""
    last = _largest(study).representative
    before, after = study.points[0].representative.phase(identity), last.phase(identity)
    if before is None or after is None:
        return None
    first_s, last_s = work_s(before), work_s(after)
    if first_s <= 0 or last_s <= 0:
        return None
    ideal, gained = study.ratio(study.fitting[-1]), first_s / last_s
    if gained - 1 > thresholds.CONSTANT_SPEEDUP * (ideal - 1):
        return None
    return _Serial(after.label, len(after.ranks), last_s, last_s / last.focus_s, gained)


def _largest(study: Scaling) -> Point:
    """The largest size at which no thread waits for the CPU of another."""
    return study.points[study.fitting[-1]]


def work_s(phase: Phase) -> float:
    """Seconds of a phase outside communication, of the rank that works longest in it."""
    spent = phase.communication_s_by_rank or (0.0,) * len(phase.seconds_by_rank)
    return max((a - b for a, b in zip(phase.seconds_by_rank, spent, strict=False)), default=0.0)


def _bound_share(study: Scaling, law: Amdahl | str) -> float:
    """Share of the largest run that the law calls serial, by the end of its interval that is sure.

    A run that grows slower in communication looks serial to the law as well: where communication
    is what does not shrink, it is not called so here.
    """
    place = study.fitting[-1]
    whole = study.whole.values[place].time_s
    if isinstance(law, str) or whole is None or law.serial_interval is None:
        return 0.0
    serial_s = law.serial_interval[0] * (law.constant_s + law.parallel_s)
    exchange = next((part for part in study.phases if part.id == "communication"), None)
    spent = exchange.values[place].time_s if exchange else None
    return max(serial_s - (spent.median if spent else 0.0), 0.0) / whole.median


def _finding(study: Scaling, worst: _Serial | None, share: float) -> StudyFinding:
    last = _largest(study)
    size = study.axis.count(last.size)
    what = f"“{worst.label}”" if worst else "Work in no phase"
    summary = (
        f"{what} takes {format_share(share)} of {_run(last.representative.focus_s)} with {size}"
    )
    if worst:
        first = study.axis.count(study.points[0].size)
        summary += f", {format_seconds(worst.seconds)}, {_pace(worst.gained)} with {first}"
    evidence = [Evidence(f"Share of the run with {size}", share, "share")]
    if worst:
        ideal = study.ratio(study.fitting[-1])
        evidence.append(Evidence(f"Time with {size}", worst.seconds, "s"))
        evidence.append(Evidence("Its own speed-up", worst.gained, "", f"up to {ideal:.3g}"))
    limit, figures = _limit(study)
    alone = worst is not None and worst.ranks == 1 and last.ranks > 1
    who = "one rank does it while the others wait" if alone else "every rank does all of it"
    return StudyFinding(
        status=Status.FAIL if share >= thresholds.SERIAL_SHARE_FAIL else Status.WARN,
        title=f"{what} does not scale and limits the speed-up",
        summary=f"{summary}{limit}.",
        confidence=Confidence.HIGH if len(study.fitting) > 2 and worst else Confidence.MEDIUM,
        evidence=(*evidence, *figures),
        actions=(
            f"Split it across all ranks ({who}), or run it alongside training.",
            "Do it less often if that suffices.",
            (
                "Until then, additional ranks cost more than they gain: choose the size from the "
                "table."
            ),
        ),
        runs=(last.representative.label,),
    )


def _pace(gained: float) -> str:
    """How the time of a phase went on with the size: `1.20 times as fast as`, `as long as`."""
    how, times = ("fast", gained) if gained > 1 else ("long", 1 / gained)
    told = f"{times:.2f}"
    return "as long as" if told == "1.00" else f"{told} times as {how} as"


def _run(seconds: float) -> str:
    return f"the {format_seconds(seconds)} run"


def _limit(study: Scaling) -> tuple[str, tuple[Evidence, ...]]:
    """What Amdahl's law says of the speed-up, and its figures."""
    law = study.whole.amdahl
    if isinstance(law, str):
        return f". The limit itself is not known: {law}", ()
    if law.most_speedup is None:
        return "", ()
    text = (
        f". By Amdahl's law (serial share {format_share(law.serial_share)}) no size is more than "
        f"{law.most_speedup:.3g} times as fast as {study.axis.count(study.points[0].size)}"
    )
    share = Evidence("Amdahl: serial share", law.serial_share, "share")
    return text, (share, Evidence("Amdahl: speed-up at most", law.most_speedup, ""))


DIAGNOSIS = StudyDiagnosis(
    "serial_phase",
    "scaling",
    "A serial part limits the speed-up",
    (
        "Looks in strong scaling for phases whose time does not shrink with the job, and fits "
        "Amdahl's law to the run time: with a serial share s no size is more than 1/s times as "
        "fast."
    ),
    judge,
    passed="No serial part limits the speed-up",
    references=(
        (
            "G. Amdahl, AFIPS spring joint computer conference, 1967: "
            "https://doi.org/10.1145/1465482.1465560"
        ),
    ),
)
