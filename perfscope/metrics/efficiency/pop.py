"""POP efficiencies of a run: how much of the ranks' time was useful, and what the rest was lost to.

Source of the formulas: docs/metrics.md, section 1 (POP Centre of Excellence, multiplicative model).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from perfscope.attribution.ledger import ACCOUNTS, INDEX, IS_COMMUNICATION
from perfscope.attribution.preparation import Prepared
from perfscope.attribution.soundness import why_spoiled
from perfscope.metrics.efficiency.factors import Efficiency
from perfscope.metrics.efficiency.hybrid import has_threads, over_all_threads
from perfscope.metrics.efficiency.ideal_network import ideal_network
from perfscope.schema.common import Metric
from perfscope.schema.enums import Account
from perfscope.trace.damage import Need
from perfscope.trace.model import Format, Rank, Trace

USEFUL_OUTSIDE = "outside_communication"
USEFUL_TRAINING = "training_work"
FORMULA = "pop"
OWN_FORMULA = "perfscope"
"""Of the share of work that is training, and of training efficiency: not POP's."""
EMPTY = "the window is empty"
ONE_PROCESS = (
    "there is only one process and the recording contains no communication, so waiting on other "
    "ranks cannot be measured"
)
NO_COMMUNICATION = (
    "no communication of the ranks' hosts is in the files: how long they waited is unknown"
)
NONE_RECORDED = (
    "no communication between the ranks was recorded: how long they waited for each other is "
    "unknown"
)
INDEPENDENT = "the ranks never communicate, each is a task of its own that waits for no other"

NO_TRAINING = (
    "nothing tells what training work is: no framework was recognized, no marker is set, and no "
    "sampled function is named like training (name one with --phase train='...')"
)

_SPLIT = {
    "input": Account.INPUT_WAIT,
    "evaluation": Account.EVALUATION,
    "checkpoint": Account.CHECKPOINT,
    "io": Account.IO,
    "device_wait": Account.DEVICE_WAIT,
}


def efficiency(prepared: Prepared) -> Efficiency:
    """The efficiency tree of the run over its focus of analysis."""
    focus = prepared.focus
    inside = [timeline.spent(focus)[0] for timeline in prepared.timelines]
    by_account = np.stack(inside) if inside else np.zeros((0, len(ACCOUNTS)), np.int64)
    by_account = _without_device_waits(prepared, by_account)
    lost = _lost_detail(prepared)
    spoiled = why_spoiled(prepared.damage, Need.EVERY_RANK)
    known = lost is None and spoiled is None
    ideal = ideal_network(prepared) if known else Metric(None, "s", spoiled or lost)
    found = tree(
        ranks=tuple(rank.number for rank in prepared.trace.ranks),
        window_ns=focus.length_ns if lost is None else 0,
        account_ns=by_account if lost is None else np.zeros_like(by_account),
        foa=focus.kind,
        ideal=ideal,
        has_training=prepared.has_training,
        why_empty=lost or EMPTY,
    )
    if has_threads(prepared.trace):
        found = over_all_threads(found, prepared.trace, focus)
    found = without_unseen(found, prepared.trace)
    return found if spoiled is None else withheld(found, spoiled)


def without_unseen(whole: Efficiency, trace: Trace) -> Efficiency:
    """The tree, without what compares ranks where no communication of any was traced.

    They would seem to have worked all the time. Threads beside them are told by themselves.
    """
    reason = None if has_threads(trace) else _why_unseen(trace)
    if reason is None or whole.parallel_efficiency.value is None:
        return whole
    return _without(whole, reason, kept=("productive_share",))


def _why_unseen(trace: Trace) -> str | None:
    if any(map(_communicates, trace.ranks)):
        return None
    if len(trace.ranks) == 1:
        return ONE_PROCESS
    if are_independent(trace):
        return INDEPENDENT
    return NONE_RECORDED if trace.format is Format.PERFSCOPE else NO_COMMUNICATION


def are_independent(trace: Trace) -> bool:
    """Whether the ranks are tasks that were started together and never communicate.

    Devices communicate out of the hosts' sight, and what other tools record may leave it out.
    """
    return (
        trace.format is Format.PERFSCOPE
        and len(trace.ranks) > 1
        and "communication" not in trace.not_recorded
        and not any(
            _communicates(rank) or rank.init_exit_ns is not None or rank.devices is not None
            for rank in trace.ranks
        )
    )


def _communicates(rank: Rank) -> bool:
    """Whether a call of it that communicates was recorded."""
    return bool(len(rank.operations) or len(rank.background) or rank.totals)


def _without(whole: Efficiency, reason: str, kept: Sequence[str] = ()) -> Efficiency:
    unknown: dict[str, Any] = {
        name: replace(found, value=None, reason=reason)
        for name, found in vars(whole).items()
        if isinstance(found, Metric) and name not in kept
    }
    return replace(whole, **unknown)


def _without_device_waits(
    prepared: Prepared, account_ns: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Where the devices were measured, a host that waits for one is not at work."""
    focus = prepared.focus
    measured = [
        rank.devices is not None
        and bool(rank.devices.numbers)
        and rank.devices.covers(focus.start_ns, focus.end_ns)
        for rank in prepared.trace.ranks
    ]
    result = account_ns.copy()
    result[np.array(measured, np.bool_), INDEX[Account.DEVICE_WAIT]] = 0
    return result


def _lost_detail(prepared: Prepared) -> str | None:
    """Why nothing can be said: a rank whose communication is not recorded seems to work."""
    if absent := prepared.trace.not_recorded.get("communication"):
        return absent
    lost = [
        rank.number
        for rank in prepared.trace.ranks
        if rank.detail_end_ns is not None and rank.detail_end_ns < prepared.focus.end_ns
    ]
    if not lost:
        return None
    return f"the records of rank {lost[0]} are lost from before every rank had started"


def tree(
    *,
    ranks: tuple[int, ...],
    window_ns: int,
    account_ns: npt.NDArray[np.int64],
    foa: str,
    ideal: Metric,
    has_training: bool,
    why_empty: str = EMPTY,
) -> Efficiency:
    """The efficiency tree of some ranks over a window.

    `window_ns` is T and `ideal` T_id in seconds; `account_ns` is the time of each rank in each
    account inside the window, shape (ranks, accounts).
    """
    outside = account_ns[:, ~IS_COMMUNICATION].sum(axis=1)
    useful = account_ns[:, INDEX[Account.TRAINING]]
    total, longest = float(outside.sum()), float(outside.max(initial=0))
    balance = total / (len(ranks) * longest) if longest else None
    spread = longest / window_ns if window_ns > 0 else None
    parallel = spread if not spread or balance is None else balance * spread
    productive = float(useful.sum()) / total if has_training and total else None
    trained = None if parallel is None or productive is None else parallel * productive
    empty = why_empty if window_ns <= 0 else "no rank worked outside communication"

    def metric(
        value: float | None, reason: str, useful: str = USEFUL_OUTSIDE, formula: str = FORMULA
    ) -> Metric:
        return Metric(value, "ratio", None if value is not None else reason, useful, foa, formula)

    serialization, transfer = _ideal_factors(ideal, longest / 1e9, window_ns / 1e9)
    no_productive = NO_TRAINING if not has_training else empty
    return Efficiency(
        ranks=ranks,
        window_s=window_ns / 1e9,
        outside_s=tuple((outside / 1e9).tolist()),
        useful_s=tuple((useful / 1e9).tolist()),
        parallel_efficiency=metric(parallel, empty),
        load_balance=metric(balance, empty),
        communication_efficiency=metric(spread, empty),
        serialization_efficiency=metric(serialization, ideal.reason or empty),
        transfer_efficiency=metric(transfer, ideal.reason or empty),
        productive_share=metric(productive, no_productive, USEFUL_TRAINING, OWN_FORMULA),
        training_efficiency=metric(trained, no_productive, USEFUL_TRAINING, OWN_FORMULA),
        productive_split=_split(account_ns, total),
    )


def withheld(whole: Efficiency, reason: str) -> Efficiency:
    """The seconds of each rank, without the ratios over all ranks, which may not be told."""
    return replace(_without(whole, reason), productive_split={})


def _ideal_factors(
    ideal: Metric, longest_s: float, window_s: float
) -> tuple[float | None, float | None]:
    if ideal.value is None or window_s <= 0:
        return None, None
    return longest_s / ideal.value if ideal.value else None, ideal.value / window_s


def _split(account_ns: npt.NDArray[np.int64], total: float) -> dict[str, float]:
    if not total:
        return {}
    known = {name: float(account_ns[:, INDEX[a]].sum()) for name, a in _SPLIT.items()}
    training = float(account_ns[:, INDEX[Account.TRAINING]].sum())
    known["other"] = total - training - sum(known.values())
    return {name: ns / total for name, ns in known.items()}
