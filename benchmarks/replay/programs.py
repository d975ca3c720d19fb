"""Programs of any size to replay, with work and transfer drawn at random."""

from collections.abc import Iterator

import numpy as np

from benchmarks.replay.windows import Window
from perfscope.arrays import Ints
from perfscope.replay.program import Fixed, Needs, Program, Work

WORK_NS, TRANSFER_NS = 1_000_000.0, 50_000.0
START, SEND, RECEIVE, PAIR, CUT, END = range(6)


def collectives(ranks: int, count: int, *, seed: int = 0) -> Window:
    """Ranks that meet all together so many times, the last meeting being the end of the window."""
    rng = np.random.default_rng(seed)
    rows = ranks * (count + 1)
    return Window(
        cut_rows=np.arange(count + 1)[:, None] + np.arange(ranks) * (count + 1),
        needs=Needs.none(rows),
        gap_ns=rng.random(rows) * (2 * WORK_NS),
        transfer_ns=rng.random(rows) * (2 * TRANSFER_NS),
    )


def collective_windows(ranks: int, count: int, *, at_once: int) -> Iterator[Window]:
    """A run of `count` meetings, made window by window when it is asked for the next."""
    for first in range(0, count, at_once):
        yield collectives(ranks, min(at_once, count - first), seed=first)


def exchanging(ranks: int, steps: int, *, cut_every: int, seed: int = 0) -> Window:
    """Ranks that in each step send to the right, receive from the left, and meet in pairs.

    Args:
        ranks: an even number.
        steps: of the program.
        cut_every: after so many steps all ranks meet.
        seed: of work and transfer.
    """
    rng = np.random.default_rng(seed)
    step = [np.array([SEND, RECEIVE, PAIR])] * (cut_every - 1)
    block = np.concatenate([*step, [SEND, RECEIVE, PAIR, CUT]])
    kinds = np.concatenate([[START], np.tile(block, steps // cut_every), [END]])
    rows = ranks * len(kinds)
    base = np.arange(ranks) * len(kinds)
    cuts = np.flatnonzero((kinds == CUT) | (kinds == START) | (kinds == END))
    return Window(
        cut_rows=cuts[:, None] + base,
        needs=_needs(kinds, base),
        gap_ns=rng.random(rows) * (2 * WORK_NS),
        transfer_ns=rng.random(rows) * (2 * TRANSFER_NS),
    )


def _needs(kinds: Ints, base: Ints) -> Needs:
    ranks = len(base)
    received, met = np.flatnonzero(kinds == RECEIVE), np.flatnonzero(kinds == PAIR)
    needs = np.zeros((ranks, len(kinds)), np.int64)
    needs[:, received] = np.roll(base, 1)[:, None] + received - 1
    needs[:, met] = ~(np.arange(ranks)[:, None] // 2 * len(met) + np.arange(len(met)))
    has_need = np.zeros((ranks, len(kinds)), np.bool_)
    has_need[:, received] = has_need[:, met] = True
    members = base.reshape(-1, 1, 2) + met[:, None]  # pairs, meetings, the two
    return Needs(
        hub_starts=np.arange(0, members.size + 1, 2),
        hub_rows=members.ravel(),
        hub_parent=np.full(members.size // 2, -1),
        need_starts=np.concatenate([[0], np.cumsum(has_need)]).astype(np.int32),
        needs=needs[has_need].astype(np.int32),
    )


def program_of(window: Window) -> Program:
    """A window as a whole program, as the plain Python replay takes it."""
    ranks = window.cut_rows.shape[1]
    sizes = window.cut_rows[-1] - window.cut_rows[0] + 1
    none = np.empty(0, np.int32)
    return Program(
        ranks=tuple(range(ranks)),
        row_rank=np.repeat(np.arange(ranks, dtype=np.int32), sizes),
        row_op=none,
        segment_kind=np.empty(0, np.int64),
        work=Work(none, np.empty(0, np.uint8), np.empty(0)),
        phase=none,
        stack=none,
        fixed=Fixed.of(window.gap_ns),
        transfer_ns=window.transfer_ns,
        cut_rows=window.cut_rows,
        needs=window.needs,
        waits_at_end=np.zeros(ranks, np.bool_),
    )
