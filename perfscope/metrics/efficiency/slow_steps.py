"""The longest steps of a thinned run: kept for their length, and no part of any estimate."""

import numpy as np

from perfscope.arrays import Floats, Ints
from perfscope.attribution.ledger import ACCOUNTS, IS_COMMUNICATION
from perfscope.attribution.preparation import Prepared
from perfscope.matching.intervals import Cumulative
from perfscope.schema.whole_run import SlowStep
from perfscope.trace.splicing import common_windows
from perfscope.trace.thinning import UNUSUAL_WINDOWS, Kept, is_selected
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
        [_accounts(whole, rank, begins[rank], ends[rank]) for rank in range(len(begins))]
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


def _accounts(whole: Prepared, rank: int, begins: Ints, ends: Ints) -> Floats:
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
