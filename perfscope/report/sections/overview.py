"""The first screen: what ran, the verdict, the time, what to fix first, and whether to trust it."""

import shlex
from collections.abc import Sequence
from datetime import datetime, timezone

from perfscope.report.formats import decimal, ratio, seconds, whole_percent
from perfscope.report.labels import BUSY_HOST, STEP_SOURCES, band, formula_words
from perfscope.report.sections import breakdown, efficiency, nothing_found
from perfscope.report.sections.busy_host import is_host_told, own_sentence
from perfscope.report.sections.combined import together
from perfscope.report.sections.efficiency import metric_of
from perfscope.report.sections.findings import (
    finding_view,
    is_placed,
    next_step,
    noted_text,
    verdict_word,
    view_text,
    wholes,
)
from perfscope.report.sections.quality import doubts_in_short, not_passed, recording, trust
from perfscope.report.sections.rests_on import rests_on, seen_in
from perfscope.report.sections.section import Context, Section
from perfscope.report.sections.sureness import answer, is_up_to_checks, saving_sentence
from perfscope.report.sections.unexplained import unexplained
from perfscope.report.sections.what_to_do import details, what_to_do
from perfscope.report.sections.where import who
from perfscope.report.text import sentences, stopped
from perfscope.schema.analysis import Analysis
from perfscope.schema.common import TOLD_STEPS
from perfscope.schema.devices import Devices
from perfscope.schema.efficiency import DEVICE_FACTORS, EFFICIENCIES
from perfscope.schema.enums import Status
from perfscope.schema.findings import FindingRow
from perfscope.schema.run import Run, Throughput
from perfscope.schema.time import Steps
from perfscope.structures import dataclass
from perfscope.units import counted

BUSY_HOST_ID = "busy_host"
"""The finding that tells what processes outside the job cost, which a verdict tells as well."""

UNKNOWN_SIZE = "unknown_size"
"""What damage is called where nobody knows how many ranks the job had (analysis.json)."""

LABELED_FROM = 0.09  # a narrower part of the bar has no room for its share
KEYED_FROM = 0.02  # and one narrower than this none for its letter
MOST_ARGUMENTS = 40
MOST_SEEN = 2  # findings that are no problem, where there is none
ALONE = "direct"
IN_STEPS = "Counts all time in training steps as training, including what was lost there."


def _context(result: Analysis) -> Context:
    verdict, command = result.verdict, result.run.command
    named, spent = _named(result), breakdown.rows(result)
    top, of = _blocks(result, named), wholes(result)
    has_first = bool(top) and not is_of_damage(result)
    return {
        "action": verdict.action,
        "unfound": nothing_found.rows(result),
        "hot_spots": verdict.hot_spots,
        "seen": [
            finding_view(row, place, of) | {"noted": noted_text(row, of)}
            for row, place in also_seen(result)
        ],
        "command": [shlex.quote(part) for part in command[:MOST_ARGUMENTS]],
        "arguments_left_out": max(len(command) - MOST_ARGUMENTS, 0),
        "facts": _facts(result.run),
        "busy_host": BUSY_HOST,
        "host": verdict.host if is_host_told(verdict) else "",
        "verdict": own_sentence(verdict) or "There is no verdict on this run.",
        "status": verdict_word(result),
        "tiles": _tiles(result),
        "segments": _segments(spent),
        "accounts": breakdown.table(spent, result.run.recorded_ranks),
        "first": top[0] if has_first else None,
        "others": top[has_first:],
        "of_verdict": breakdown.of_verdict(result),
        "saved": breakdown.saved_in_rows(result),
        "of_others": breakdown.of_others(result),
        "means": breakdown.explained(result),
        "unmade": nothing_found.unmade(result),
        "together": together(verdict, result.findings),
        "sureness": how_sure(result),
        "is_answered": bool(named or verdict.assurance),
        "trust": trust(result.quality),
        "recording": recording(result),
    }


def _blocks(result: Analysis, named: Sequence[tuple[FindingRow, int]]) -> list[Context]:
    """The findings that have a block of their own, each with those that are another view of it."""
    of = wholes(result)
    views = [
        (
            row,
            finding_view(row, place, of)
            | {
                "ranks": who(result, row),
                "steps": what_to_do(result, row),
                "details": details(row),
            },
        )
        for row, place in named
    ]
    return [
        {
            **view,
            "views": [
                {**other, "next_step": next_step(one, row), "view": view_text(one, of, row)}
                for one, other in views
                if one.seen_with == row.id
            ],
        }
        for row, view in views
        if not row.seen_with
    ]


def also_seen(result: Analysis) -> list[tuple[FindingRow, int]]:
    """What was found and is no problem, where there is none: why nothing of it is to be fixed.

    Those come first that name what they are about, and not a time which other work may have made.
    """
    told = BUSY_HOST_ID if result.verdict.others_s is not None else None
    known = {told, *(one.note for one in unexplained(result))}
    noted = [
        (row, n)
        for n, row in enumerate(result.findings)
        if row.status is Status.INFO and row.id not in known
    ]
    noted.sort(key=lambda one: not is_placed(one[0]))
    return [] if result.verdict.top else noted[:MOST_SEEN]


def is_of_damage(result: Analysis) -> bool:
    """Whether the verdict is that the recording is damaged, and no finding says what to do."""
    first = next((row for row, _ in _named(result)), None)
    return bool(result.run.damage and first and first.title in result.verdict.sentence)


def how_sure(result: Analysis) -> list[str]:
    """How sure the finding is that the verdict leads with, one thing a paragraph.

    Nothing of a damaged run. Without a finding: what the verdict rests on.
    """
    named = _named(result)
    if result.run.damage:
        return []
    if not named:
        told = rests_on(result, None) if result.verdict.efficiency.value is not None else ""
        answered, *more = sentences(result.verdict.assurance)
        return [one for one in (answered, " ".join(more), told) if one]
    blocks = sum(not row.seen_with for row, _ in named)
    first = named[0][0]
    what = "" if blocks == 1 else "the first problem"
    doubts = doubts_in_short(result) if _names_doubts(result) else []
    told = answer(first, what, seen=seen_in(result, first), doubts=doubts)
    saving = saving_sentence(first, result.verdict.track_record)
    return [one for one in (told, saving, rests_on(result, first)) if one]


def of_checks(result: Analysis) -> str:
    """Which checks of the recording did not pass, or how many passed, as a sentence."""
    told = not_passed(result)
    return told or f"{trust(result.quality)}."


def _names_doubts(result: Analysis) -> bool:
    """Whether the answer names the checks that did not pass, as only they stand against it."""
    named = _named(result)
    return bool(named) and not result.run.damage and is_up_to_checks(named[0][0])


def _facts(run: Run) -> list[str]:
    """What ran."""
    facts = [on_ranks(run)]
    if hosts := on_hosts(run):
        facts.append(hosts)
    if run.launcher:
        facts.append(launched(run))
    facts.append(length(run))
    if run.batch_size is not None:
        facts.append(f"batch size {run.batch_size:,}")
    if started := started_at(run):
        facts.append(f"started {started}")
    if run.exit_code is not None:
        facts.append(f"exit code {run.exit_code}")
    if run.missing_ranks:
        facts.append(f"{counted(len(run.missing_ranks), 'rank')} without a recording")
    return facts


def length(run: Run) -> str:
    """How long the run is: what shares on the first screen are of."""
    return f"ran for {seconds(run.wall_s)}" if run.wall_s else "unknown length"


def on_ranks(run: Run) -> str:
    """How many ranks there are; one that nobody launched as a rank is a process.

    Where nobody knows how many the job had, it had those of the files at least. A report of which
    neither a length nor others are known, as an account of jobs, tells of none.
    """
    if run.ranks == 1 and not run.wall_s and not run.launcher:
        return "unknown number of ranks"
    if any(one.id == UNKNOWN_SIZE for one in run.damage):
        return f"at least {counted(run.ranks or run.recorded_ranks, 'rank')}"
    return "1 process" if run.ranks == 1 and run.launcher == ALONE else counted(run.ranks, "rank")


def launched(run: Run) -> str:
    """What started the ranks."""
    return "launched directly" if run.launcher == ALONE else run.launcher


def on_hosts(run: Run) -> str:
    """The host by name, or how many there are; "" where none is named."""
    names = [host.name for host in run.hosts if host.name]
    if len(names) == 1:
        return f"host {names[0]}"
    return f"{len(names):,} hosts" if names else ""


def started_at(run: Run) -> str:
    """When the run started, in UTC; "" when that is not known."""
    if run.start_unix_s is None:
        return ""
    try:
        start = datetime.fromtimestamp(run.start_unix_s, timezone.utc)
    except (ValueError, OverflowError, OSError):
        return ""
    return start.strftime("%Y-%m-%d %H:%M UTC")


def _tiles(result: Analysis) -> list[Context]:
    """The headline figures: throughput, step time, and the two efficiencies with their factors."""
    throughput = result.run.throughput
    speed, step = throughput.samples_per_s, throughput.step_s_median
    return [
        {
            "label": "Throughput",
            "value": None if speed.value is None else decimal(speed.value),
            "unit": "samples/s",
            "band": None,
            "formula": "",
            "reason": speed.reason,
            "note": "",
            "meaning": "Training samples that all ranks finished, per second of training: from the "
            "second step on, where steps were told, and without evaluation and checkpoints.",
        },
        {
            "label": "Step time",
            "value": None if step.value is None else seconds(step.value),
            "unit": "median",
            "band": None,
            "formula": "",
            "reason": step.reason,
            "note": _step_note(throughput, result.steps),
            "meaning": "A step is one iteration of the training loop.",
        },
        *([_device_tile(result.devices)] if result.devices.value is not None else []),
        {
            **_efficiency_tile(result, "parallel_efficiency"),
            "note": stopped(breakdown.useful_sentence(result)),
        },
        _efficiency_tile(result, "training_efficiency"),
    ]


_LEFT_OUT = " Inferred from repeating patterns; the first step is not timed."


def _step_note(throughput: Throughput, steps: Steps) -> str:
    p95 = throughput.step_s_p95.value
    if p95 is None or throughput.steps == 1:
        return ""
    is_told = throughput.step_source not in STEP_SOURCES or throughput.step_source in TOLD_STEPS
    timed = steps.count if is_told else steps.count - 1
    of = f"the {timed:,} steps" if throughput.steps else "the steps"
    # long runs are thinned
    is_whole = len(steps.max_seconds) == timed and throughput.steps == steps.count
    longest = max(steps.max_seconds, default=0.0) if is_whole else 0.0
    beyond = f"; the longest took {seconds(longest)}" if longest > p95 else ""
    together = f" Total: {seconds(steps.spent_s)}." if is_whole and steps.spent_s else ""
    most = f"95 % of {of} took {seconds(p95)} or less"
    if throughput.step_kinds:
        (short, long) = throughput.step_kinds
        most = f"Two kinds: {short.count:,} steps take {seconds(short.median_s)}, {long.count:,} "
        most += f"take {seconds(long.median_s)} (medians)"
    return f"{most}{beyond}.{together}{'' if is_told else _LEFT_OUT}"


def _efficiency_tile(result: Analysis, identity: str) -> Context:
    """An efficiency with its factors; no word rates one that counts what was lost as useful."""
    metrics, is_contradicted = result.metrics, efficiency.is_contradicted(result, identity)
    word, own = EFFICIENCIES[identity], metric_of(metrics, identity)
    factors = [
        f"{EFFICIENCIES[child].label.lower()} {ratio(found.value)}"
        for child in word.children
        if (found := metric_of(metrics, child)).is_measured
    ]
    return {
        "label": word.label,
        "value": None if own.value is None else ratio(own.value),
        "unit": "" if is_contradicted else band(own.value).word,
        "band": None if is_contradicted else band(own.value),
        "reason": own.reason,
        "formula": " × ".join(factors) if len(factors) == len(word.children) else "",
        "variant": formula_words(own.formula or ""),
        "note": IN_STEPS if is_contradicted and own.value is not None else "",
        "meaning": word.meaning,
    }


def _device_tile(found: Devices) -> Context:
    """The device tree, which leads where devices were measured."""
    tree = found.efficiency.bsc
    own = tree.parallel_efficiency
    part = ", in the steps that a profiler watched" if found.is_part else ""
    factors = [
        f"{label.lower()} {ratio(getattr(tree, name).value)}"
        for name, label in DEVICE_FACTORS.items()
    ]
    return {
        "label": "Device efficiency",
        "value": ratio(own.value),
        "unit": band(own.value).word,
        "band": band(own.value),
        "reason": "",
        "formula": " × ".join(factors),
        "variant": formula_words(own.formula or ""),
        "note": "",
        "meaning": f"Share of the devices' time in kernels that compute{part}.",
    }


@dataclass(frozen=True)
class _Segment:
    """A part of the bar, `x`, `width` and `middle` in percent of its width."""

    role: str
    key: str
    label: str
    share: float
    x: float
    width: float
    middle: float

    @property
    def label_text(self) -> str:
        """Its share."""
        return whole_percent(self.share)

    @property
    def is_labeled(self) -> bool:
        """Whether there is room for it."""
        return self.share >= LABELED_FROM

    @property
    def is_keyed(self) -> bool:
        """Whether there is room for its letter."""
        return self.share >= KEYED_FROM


def _segments(rows: Sequence[breakdown.Row]) -> list[_Segment]:
    """The rows that add up to the run as parts of one bar."""
    start = 0.0
    out = []
    for row in rows:
        width = row.share * 100 if row.role else 0.0
        if width > 0:
            sizes = (round(start, 3), round(width, 3), round(start + width / 2, 2))
            out.append(_Segment(row.role, row.key, row.label, row.share, *sizes))
        start += width
    return out


def _named(result: Analysis) -> list[tuple[FindingRow, int]]:
    """The findings that the verdict names, most seconds first, with their places."""
    places = {row.id: (row, n) for n, row in enumerate(result.findings)}
    return [places[name] for name in result.verdict.top if name in places]


SECTION = Section("overview", "Overview", "overview.html", _context, is_summary=True)
