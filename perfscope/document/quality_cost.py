"""What recording cost: time, and steps dropped for lack of space."""

from perfscope.document.endings import speaks_mpi
from perfscope.metrics.results import Results
from perfscope.schema.enums import Status
from perfscope.schema.findings import QualityRow
from perfscope.trace.model import Format, Rank, Trace
from perfscope.trace.started import started
from perfscope.units import NS, counted, format_count, format_seconds, format_share

CALL_COST_NS = 100  # one MPI call: two clock readings and one record, `make bench-recorder`
EVENT_COST_NS = 2_000  # one phase, step or reported value, from Python
OVERHEAD_PASS, OVERHEAD_WARN = 0.01, 0.05
RESIDUE_WARN = 0.02  # of the window


def overhead(trace: Trace) -> QualityRow:
    """What recording cost the ranks, by how much they recorded."""
    if trace.format is not Format.PERFSCOPE:
        detail = "These files do not say what recording them cost."
        return QualityRow("overhead", Status.NOT_MEASURED, "Recording cost unknown", detail)
    ranks = (trace.whole or trace).ranks
    shares = [(_cost_ns(rank) / _life_ns(rank), rank) for rank in ranks if _life_ns(rank)]
    if not shares:
        return QualityRow(
            "overhead",
            Status.NOT_MEASURED,
            "Recording cost unknown",
            "No rank has a known lifetime.",
        )
    share, rank = max(shares, key=lambda pair: pair[0])
    status = Status.PASS if share < OVERHEAD_PASS else Status.WARN
    if share >= OVERHEAD_WARN:
        status = Status.FAIL
    detail = (
        f"{format_share(share)} of the lifetime of rank {rank.number}, an estimate for the rank "
        f"with the most: {counted(_calls(rank), _call_noun(rank))} at {CALL_COST_NS} ns, "
        f"{counted(_events(rank), 'other record')} at {format_seconds(EVENT_COST_NS * NS)}, "
        f"{_in_children(rank)}and "
        f"{format_seconds(rank.sampler_cpu_ns * NS)} of CPU time of the recorder's samplers. Not "
        "in it: the start of the recorder, what samplers displace from the caches of the CPUs, and "
        "the time that other ranks then wait or poll for longer."
    )
    title = (
        "Recording overhead is low"
        if status is Status.PASS
        else f"Recording took at least {format_share(share)} of a rank's time (limit "
        f"{100 * OVERHEAD_PASS:g} %)"
    )
    return QualityRow("overhead", status, title, detail, lost_s=_cost_ns(rank) * NS)


def _call_noun(rank: Rank) -> str:
    """What the recorded calls are: not every job speaks MPI."""
    return "MPI call" if speaks_mpi(rank) else "communication call"


def _calls(rank: Rank) -> int:
    return sum(total[0] for total in rank.totals.values())


def _events(rank: Rank) -> int:
    # not stacks: what they take is measured, with the samplers
    count = sum(len(table) for table in (rank.phases, rank.steps, rank.metrics))
    thinning = rank.thinning
    if thinning is None or thinning.level == 0 or not len(rank.windows):
        return count
    return round(count * max(1.0, sum(thinning.windows.values()) / len(rank.windows)))


def _cost_ns(rank: Rank) -> int:
    records_ns = _calls(rank) * CALL_COST_NS + _events(rank) * EVENT_COST_NS
    return records_ns + rank.sampler_cpu_ns + started(rank).cpu_ns


def _in_children(rank: Rank) -> str:
    """What the agent took in processes that a rank started; "" without any."""
    found = started(rank)
    if not found.processes:
        return ""
    whole, each = (format_seconds(ns * NS) for ns in (found.cpu_ns, found.cpu_ns / found.processes))
    processes = counted(found.processes, "Python process", "Python processes")
    return f"{whole} of CPU time at the start of {processes} below it, {each} each, "


def _life_ns(rank: Rank) -> int:
    return rank.end_ns - rank.start_ns


def thinned(results: Results) -> list[QualityRow]:
    """That only some parts of the run were kept in detail, and how well these fit together."""
    whole = results.whole_run
    if whole is None:
        return []
    parts = whole.unit.label
    shown = f"{format_count(whole.kept)} of {format_count(whole.ended)} {parts}"
    share = whole.residue_share
    detail = (
        f"At the bound of space (--max-size, or a disk that is full) {parts} were left out, the "
        f"same on all ranks; totals hold all of them. {format_share(share)} of the analyzed window "
        f"stands between the {parts}, because ranks reach their ends at different moments; it is "
        "counted as communication."
    )
    if whole.calls_not_sorted:
        detail += (
            f" {counted(whole.calls_not_sorted, 'call')} of {format_count(whole.calls)} are in the "
            "totals by operation alone: they were made on too many communicators in too many "
            "phases."
        )
    status = Status.INFO if share < RESIDUE_WARN else Status.WARN
    if status is Status.WARN:
        detail += " Go by the efficiencies of the whole run, or give --max-size more room."
    return [QualityRow("thinned", status, f"{shown} are analyzed in detail", detail)]
