"""Quality of the measurement: every check of the recording itself, and the replay's error."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.report.formats import seconds
from perfscope.report.labels import StatusWord, status_word
from perfscope.report.sections.section import Context, Section
from perfscope.report.table import Column, Kind, Table
from perfscope.schema.analysis import Analysis
from perfscope.schema.enums import Status
from perfscope.schema.findings import QualityRow
from perfscope.structures import dataclass
from perfscope.units import counted, format_share, inside

OTHER_WORK = "other_work"
"""The check that tells what other processes used of the host's CPUs (analysis.json)."""

HOST_TOLD = "The host was busy"
"""What that check found, where the verdict told how busy."""

NOT_ALL_PASSED = "not all recording checks passed"
"""What an answer says of others, which are named below it."""

SMALL = "too small to matter"
"""What is said of checks that did not pass, and are about less than the saving is unsure by."""

CHECKS = (
    Column("Check", "title", kind=Kind.TEXT, longest=120),
    Column("Outcome", lambda check: status_word(check.status.value), kind=Kind.SIGN),
    Column("Detail", "detail", kind=Kind.CODED, longest=500),
)


def _context(result: Analysis) -> Context:
    replay = result.replay
    error, ideal = replay.relative_error, replay.ideal_runtime_s
    return {
        "checks": Table(
            "quality-table", "Checks of the recording", CHECKS, result.quality, has_caption=False
        ),
        "is_replayed": replay.available,
        "replay_reason": replay.reason or "the result does not hold a replay",
        "replay_error": "" if error is None else format_share(error),
        "ideal": "" if ideal is None else seconds(ideal),
        "assumptions": replay.edits_assumptions,
        "takeaway": trust_and_doubts(result.quality),
    }


def trust(checks: Sequence[QualityRow]) -> str:
    """How many checks of the recording passed; "" without checks."""
    made = [one.status for one in checks if one.status is not Status.INFO]
    passed, absent = made.count(Status.PASS), made.count(Status.NOT_MEASURED)
    if not made:
        return ""
    said = f"{passed} of {counted(len(made), 'recording check')} passed"
    return f"{said}, {absent} could not run" if absent else said


def doubted(checks: Sequence[QualityRow], *, is_host_told: bool = False) -> list[QualityRow]:
    """The checks that did not pass and may change an answer.

    `is_host_told` says that what the one of other work on the host found was told before.
    """
    faults = [one for one in checks if one.status.is_fault and not one.is_small]
    return [
        replace(one, title=HOST_TOLD) if is_host_told and one.id == OTHER_WORK else one
        for one in faults
    ]


def small(checks: Sequence[QualityRow]) -> str:
    """The checks that did not pass and change no answer, in one clause; "" without any.

    Beside others, which may change one, they are only counted.
    """
    titles = [inside(one.title) for one in checks if one.is_small]
    if titles and doubted(checks):
        return f"{counted(len(titles), 'other')} {SMALL}"
    return f"{SMALL}: {', '.join(titles)}" if titles else ""


def _told(result: Analysis) -> list[QualityRow]:
    """The checks that raise a doubt, in short where the first screen tells of the host."""
    return doubted(result.quality, is_host_told=bool(result.verdict.host))


def doubts_in_short(result: Analysis) -> list[str]:
    """That checks raise a doubt, as a clause beside which they are named; none where none does."""
    is_host_told = bool(result.verdict.host)
    is_of_host = [is_host_told and one.id == OTHER_WORK for one in doubted(result.quality)]
    return [inside(HOST_TOLD) if all(is_of_host) else NOT_ALL_PASSED] if is_of_host else []


@dataclass(frozen=True)
class Recording:
    """Which checks of the recording did not pass, in parts that a page shows differently."""

    failed: str  # how many did not pass; "" where all did
    checks: tuple[tuple[StatusWord, str], ...]  # those that raise a doubt, with what they found
    small: str  # those that change no answer, as a clause; "" without any


def recording(result: Analysis) -> Recording:
    """Which checks did not pass."""
    return Recording(
        failed(result.quality),
        tuple((status_word(one.status.value), inside(one.title)) for one in _told(result)),
        small(result.quality),
    )


def not_passed(result: Analysis) -> str:
    """The same as a sentence; "" where all passed."""
    found = recording(result)
    if not found.failed:
        return ""
    titles = "; ".join(title for _, title in found.checks)
    small_ones = f"{'; ' if found.checks else ', '}{found.small}" if found.small else ""
    return f"{found.failed}{f': {titles}' if titles else ''}{small_ones}."


def failed(checks: Sequence[QualityRow]) -> str:
    """How many of the checks that were made did not pass; "" where all did."""
    made = [one.status for one in checks if one.status is not Status.INFO]
    faults = sum(one.is_fault for one in made)
    return f"{faults} of {counted(len(made), 'check')} did not pass" if faults else ""


def trust_and_doubts(checks: Sequence[QualityRow], *, is_host_told: bool = False) -> str:
    """How many checks of the recording passed, and which ones raise a doubt; "" without checks."""
    titles = [inside(one.title) for one in doubted(checks, is_host_told=is_host_told)]
    which = "; ".join([*titles, *filter(None, [small(checks)])])
    return f"{trust(checks)}. Not passed: {which}" if which else trust(checks)


SECTION = Section("quality", "Quality of the measurement", "quality.html", _context, is_folded=True)
