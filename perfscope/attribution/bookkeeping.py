"""Adds the timelines of the ranks up to the ledger and to seconds per function."""

import numpy as np

from perfscope.arrays import Ints
from perfscope.attribution.ledger import ACCOUNTS, INDEX, IS_COMMUNICATION, Ledger
from perfscope.attribution.preparation import Prepared
from perfscope.schema.enums import Account
from perfscope.schema.time import FunctionShare
from perfscope.trace.model import Function

_IS_OUTSIDE_FOCUS = np.isin(
    np.arange(len(ACCOUNTS)), [INDEX[Account.START_UP], INDEX[Account.SHUTDOWN]]
)


def ledger(prepared: Prepared) -> Ledger:
    """The ledger: where every nanosecond of every rank's life went."""
    ranks = prepared.trace.ranks
    ns = np.zeros((len(ACCOUNTS), len(ranks)), np.int64)
    for column, timeline in enumerate(prepared.timelines):
        ns[:, column] = timeline.spent()[0]
    return Ledger(
        ranks=tuple(rank.number for rank in ranks),
        ns=ns,
        life_ns=np.array([rank.end_ns - rank.start_ns for rank in ranks], np.int64),
        unlabeled_ns=ns[INDEX[Account.UNTRACED]].copy(),
        functions=function_shares(prepared),
    )


def function_shares(prepared: Prepared) -> tuple[FunctionShare, ...]:
    """Seconds outside communication in the focus by the user's function and account, most first."""
    labels, trace = prepared.labels, prepared.trace
    if not trace.frames:
        return ()
    function_of, functions = _functions(prepared)
    spans = len(ACCOUNTS), len(trace.frames)
    seconds: dict[tuple[int, int], dict[int, float]] = {}
    lines: dict[tuple[int, int], dict[int, float]] = {}
    for rank, timeline in zip(trace.ranks, prepared.timelines, strict=True):
        known = (timeline.stacks >= 0) & ~IS_COMMUNICATION[timeline.accounts]
        known &= ~_IS_OUTSIDE_FOCUS[timeline.accounts]
        frame = labels.user_frame[timeline.stacks[known]]
        pair = timeline.accounts[known].astype(np.int64) * spans[1] + frame
        spent = np.bincount(pair, timeline.lengths[known]) / 1e9
        keys = np.flatnonzero(np.bincount(pair))
        for key, amount in zip(keys.tolist(), spent[keys].tolist(), strict=True):
            account, level = divmod(key, spans[1])
            group = (int(function_of[level]), account)
            by_rank = seconds.setdefault(group, {})
            by_rank[rank.number] = by_rank.get(rank.number, 0.0) + amount
            by_line = lines.setdefault(group, {})
            line = trace.frames[level].line
            by_line[line] = by_line.get(line, 0.0) + amount
    life_s = sum(rank.end_ns - rank.start_ns for rank in trace.ranks) * 1e-9
    shares = [
        FunctionShare(
            function=functions[function][0],
            file=functions[function][1],
            line=max(lines[function, account].items(), key=lambda item: (item[1], -item[0]))[0],
            seconds=sum(by_rank.values()),
            share=sum(by_rank.values()) / life_s if life_s else 0.0,
            account=ACCOUNTS[account],
            seconds_by_rank=tuple(by_rank.get(rank.number, 0.0) for rank in trace.ranks),
        )
        for (function, account), by_rank in seconds.items()
    ]
    return tuple(sorted(shares, key=lambda s: (-s.seconds, s.file, s.function, s.account.value)))


def _functions(prepared: Prepared) -> tuple[Ints, list[Function]]:
    """Frames as functions: which function each frame is, whatever its line."""
    known: dict[Function, int] = {}
    index = [known.setdefault(frame.key, len(known)) for frame in prepared.trace.frames]
    return np.array(index, np.int64), list(known)
