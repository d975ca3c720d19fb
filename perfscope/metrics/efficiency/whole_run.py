"""The whole of a run of which only some steps are there in detail (docs/metrics.md, section 12)."""

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.attribution.ledger import ACCOUNTS, IS_COMMUNICATION
from perfscope.attribution.preparation import Prepared
from perfscope.matching.intervals import Cumulative
from perfscope.schema.enums import FigureSource, PhaseKind, WindowUnit
from perfscope.schema.whole_run import SlowStep, StepSums, WholeAccount, WholeFactor, WholeRun
from perfscope.student_t import student_95
from perfscope.trace.model import Rank, Trace
from perfscope.trace.operations import OperationClass, codes_mask
from perfscope.trace.splicing import common_windows
from perfscope.trace.thinning import UNUSUAL_WINDOWS, Kept, WindowSource, is_selected
from perfscope.units import NS


def slowest(whole: Prepared, kept: Kept) -> tuple[SlowStep, ...]:
    """The longest steps that all ranks kept, longest first, and what was unusual about them.

    Start-up lies in front of the first windows and is none of them.
    """
    numbers, begins, ends = common_windows(whole.trace, kept.source)
    # what was not told of the beginning is no part of a step
    inside = (begins > whole.focus.start_ns).all(axis=0)
    numbers, begins, ends = numbers[inside], begins[:, inside], ends[:, inside]
    by_chance = is_selected(numbers, kept.level)
    if not by_chance.any():
        return ()
    lengths = (ends - begins).max(axis=0) * NS
    usual_s = float(lengths[by_chance].mean())
    chosen = [
        place
        for place in np.argsort(-lengths)[:UNUSUAL_WINDOWS].tolist()
        if lengths[place] > usual_s
    ]
    if not chosen:
        return ()
    accounts = np.array(
        [_seconds_in_windows(whole, rank, begins[rank], ends[rank]) for rank in range(len(begins))]
    )
    usual = accounts[:, by_chance].mean(axis=1)
    more = np.where(IS_COMMUNICATION, -1.0, accounts - usual[:, None, :])
    first_ns = min(rank.start_ns for rank in whole.trace.ranks)
    found = []
    for place in chosen:
        rank, account = np.unravel_index(int(np.argmax(more[:, place])), more[:, place].shape)
        begin, end = int(begins[rank, place]), int(ends[rank, place])
        found.append(
            SlowStep(
                number=int(numbers[place]),
                at_s=(int(begins[:, place].min()) - first_ns) * NS,
                seconds=float(lengths[place]),
                usual_s=usual_s,
                account=ACCOUNTS[account],
                label=ACCOUNTS[account].label,
                more_s=max(0.0, float(more[rank, place, account])),
                rank=whole.trace.ranks[rank].number,
                phase=_phase(whole, int(rank), int(account), (begin, end)),
            )
        )
    return tuple(found)


def _seconds_in_windows(whole: Prepared, rank: int, begins: Ints, ends: Ints) -> Floats:
    """Seconds of a rank by window and account, shape (windows, accounts)."""
    timeline = whole.timelines[rank]
    spent = np.zeros((len(begins), len(ACCOUNTS)))
    for account in range(len(ACCOUNTS)):
        inside = Cumulative.of(timeline.boundaries, timeline.accounts == account)
        spent[:, account] = inside.between(begins, ends) * NS
    return spent


def _phase(whole: Prepared, rank: int, account: int, span: tuple[int, int]) -> str:
    """The phase that was open longest while a rank spent its time in an account; "" unknown."""
    timeline = whole.timelines[rank]
    starts, ends = timeline.boundaries[:-1], timeline.boundaries[1:]
    spent = np.minimum(ends, span[1]) - np.maximum(starts, span[0])
    here = (spent > 0) & (timeline.accounts == account) & (timeline.phases >= 0)
    if not here.any():
        return ""
    sums = np.bincount(timeline.phases[here], spent[here])
    return whole.catalog.ids[int(np.argmax(sums))]


UNITS = {
    WindowSource.STEP: WindowUnit.STEPS,
    WindowSource.COLLECTIVE: WindowUnit.COLLECTIVES,
    WindowSource.TIME: WindowUnit.TIME,
}
NO_COMMUNICATION = codes_mask(
    {
        OperationClass.INIT,
        OperationClass.FINALIZE,
        OperationClass.ABORT,
        OperationClass.FILE,
    }
)


def whole_run(prepared: Prepared) -> WholeRun | None:
    """What totals and kept steps tell of all of a run; None where all of it is there."""
    kept, whole = prepared.trace.kept, prepared.whole
    if kept is None or whole is None:
        return None
    analyzed_ns, run_ns = prepared.focus.length_ns, whole.focus.length_ns
    return WholeRun(
        unit=UNITS[kept.source],
        kept=kept.windows,
        ended=kept.ended,
        run_s=run_ns / 1e9,
        analyzed_s=analyzed_ns / 1e9,
        residue_share=max(kept.residue_ns) / analyzed_ns if analyzed_ns else 0.0,
        stands_for=_stands_for(prepared, kept, run_ns),
        calls=sum(total[0] for rank in whole.trace.ranks for total in rank.totals.values()),
        calls_not_sorted=sum(
            rank.thinning.calls_not_sorted for rank in whole.trace.ranks if rank.thinning
        ),
        efficiencies=_factors(whole),
        accounts=_accounts(prepared, kept),
        steps=_steps(whole.trace),
        slowest=slowest(whole, kept),
    )


def _stands_for(prepared: Prepared, kept: Kept, run_ns: int) -> float:
    """Time of the run for that of the kept windows; start-up and end are there once, in full.

    What stands between the windows for want of the others is no part of the run.
    """
    focus = prepared.focus
    starts, ends = kept.starts_ns[:, [0, -1]], kept.ends_ns[:, [0, -1]]
    inside = np.minimum(ends, focus.end_ns) - np.maximum(starts, focus.start_ns)
    once_ns = float(np.maximum(inside, 0).sum(axis=1).mean())
    windows_ns = focus.length_ns - once_ns - float(np.mean(kept.residue_ns))
    return max(1.0, (run_ns - once_ns) / windows_ns) if windows_ns > 0 else 1.0


def _factors(whole: Prepared) -> tuple[WholeFactor, ...]:
    """Parallel efficiency and its first two factors, from totals over the focus of analysis.

    What a rank communicates before the focus begins, while others still start, is counted as if it
    were inside.
    """
    length = float(whole.focus.length_ns)
    spent = np.array([_communication_ns(rank) for rank in whole.trace.ranks], np.float64)
    outside = np.maximum(length - spent, 0.0)
    longest = float(outside.max(initial=0.0))
    if length <= 0 or longest <= 0:
        return ()
    balance, spread = float(outside.mean()) / longest, longest / length
    found = {
        "parallel_efficiency": balance * spread,
        "load_balance": balance,
        "communication_efficiency": spread,
    }
    return tuple(WholeFactor(name, v, v, v, FigureSource.TOTALS) for name, v in found.items())


def _communication_ns(rank: Rank) -> int:
    """Time of the main thread inside calls that communicate, and in phases that do.

    Calls that are told by operation alone count as the main thread's.
    """
    every = rank.call_totals[~rank.call_totals["is_phase"]]
    sorted_ns = np.zeros(len(NO_COMMUNICATION), np.int64)
    np.add.at(sorted_ns, every["op"], every["ns"])
    not_sorted_ns = sum(
        total[1] - int(sorted_ns[code])
        for code, total in rank.totals.items()
        if not NO_COMMUNICATION[code]
    )
    rows = rank.call_totals[rank.call_totals["is_main"]]
    phases = rows["is_phase"] & (rows["op"] == PhaseKind.COMMUNICATION)
    calls = ~rows["is_phase"] & ~NO_COMMUNICATION[np.where(rows["is_phase"], 0, rows["op"])]
    return int(rows["ns"][phases | calls].sum()) + max(0, not_sorted_ns)


def _accounts(prepared: Prepared, kept: Kept) -> tuple[WholeAccount, ...]:
    """Time of all ranks by account: start-up, end, and the windows times their number."""
    spent = _by_piece(prepared, kept)
    windows, ended = kept.windows, kept.ended
    ends = spent[0] + spent[-1]
    inner = spent[1:-1]
    seconds = ends + ended * inner.mean(axis=0)
    missing = 1.0 - windows / max(ended, windows)
    spread = inner.std(axis=0, ddof=1) * np.sqrt(missing / windows)
    margin = student_95(windows - 1) * ended * spread
    total = float(seconds.sum())
    return tuple(
        WholeAccount(
            account=account,
            label=account.label,
            seconds=float(seconds[place]),
            low_s=max(0.0, float(seconds[place] - margin[place])),
            high_s=float(seconds[place] + margin[place]),
            share=float(seconds[place]) / total if total else 0.0,
        )
        for place, account in enumerate(ACCOUNTS)
        if seconds[place] > 0
    )


def _by_piece(prepared: Prepared, kept: Kept) -> Floats:
    """Seconds of all ranks by piece of the run and account."""
    pieces = kept.starts_ns.shape[1]
    spent = np.zeros((pieces, len(ACCOUNTS)))
    for timeline, starts, ends in zip(
        prepared.timelines, kept.starts_ns, kept.ends_ns, strict=True
    ):
        edges = np.unique(np.concatenate([timeline.boundaries, starts[1:], ends[:-1]]))
        edges = edges[(edges >= timeline.boundaries[0]) & (edges <= timeline.boundaries[-1])]
        segment = np.searchsorted(timeline.boundaries, edges[:-1], side="right") - 1
        piece = np.maximum(np.searchsorted(starts, edges[:-1], side="right") - 1, 0)
        seconds = np.where(edges[:-1] < ends[piece], np.diff(edges), 0) / 1e9
        np.add.at(spent, (piece, timeline.accounts[segment]), seconds)
    return spent


def _steps(trace: Trace) -> StepSums | None:
    """All steps of all ranks; None where nothing told steps."""
    ranks = [rank for rank in trace.ranks if len(rank.step_blocks)]
    if not ranks:
        return None
    counts = [int(rank.step_blocks["count"].sum()) for rank in ranks]
    spent = sum(int(rank.step_blocks["ns"].sum()) for rank in ranks)
    slowest = max(ranks, key=lambda rank: int(rank.step_blocks["longest_ns"].max()))
    row = slowest.step_blocks[int(np.argmax(slowest.step_blocks["longest_ns"]))]
    return StepSums(
        count=max(counts),
        mean_s=spent / sum(counts) / 1e9,
        shortest_s=min(int(rank.step_blocks["shortest_ns"].min()) for rank in ranks) / 1e9,
        longest_s=int(row["longest_ns"]) / 1e9,
        longest=int(row["longest"]),
        longest_rank=slowest.number,
    )
