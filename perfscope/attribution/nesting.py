"""Loops in a sequence of events, found by folding what comes again and again into one symbol.

`a b c c a b c c c` is two turns of the loop `(a b (c)+)+`: however often an inner loop turns, its
symbol is the same, so that the loop around it repeats. Short bodies are folded first, then what
is longer and holds them: a greedy discovery of loop nests (Q. Xu, J. Subhlok and N. Hammen, MASCOTS
2010; of addresses: A. Ketterlin and P. Clauss, CGO 2008), here with any number of turns each time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfscope.arrays import Ints
from perfscope.matching.pool import dense

MOST_EVENTS, MOST_LAG = 1 << 15, 1 << 11
"""What of a long run is folded, and the longest body that is looked for in it."""

MOST_CONTEXT = 64
"""Events on each side of one that may be needed to tell it from others of its kind."""


class Loop:
    """A loop: the symbols of its body, and each time that it was entered."""

    def __init__(self, symbol: int, body: tuple[int, ...]) -> None:
        self.symbol, self.body = symbol, body
        self._entered: list[Ints] = []

    def enter(self, ends: Ints) -> None:
        """Adds turns: the last event of each symbol, shape (turns, symbols of the body)."""
        self._entered.append(ends)

    @property
    def entries(self) -> list[Ints]:
        """For each time that it was entered the last events of its symbols, by turn; in order."""
        return sorted(self._entered, key=lambda ends: int(ends[0, 0]))

    @property
    def turns(self) -> Ints:
        """How often it turned, each time that it was entered."""
        return np.array([len(entry) for entry in self.entries], np.int64)


class Nest:
    """A folded sequence: the symbols that are left, with their last events, and the loops."""

    def __init__(self, token: Ints) -> None:
        """Folds a sequence of tokens, which are symbols themselves."""
        self.symbols: Ints = token.astype(np.int64)
        self.ends = np.arange(len(token))
        self.loops: dict[int, Loop] = {}
        """By symbol; what is inside others comes before these."""
        self._known: dict[tuple[int, ...], Loop] = {}
        self._first_loop = int(token.max(initial=-1)) + 1
        while self._fold_shortest():
            pass

    @property
    def main(self) -> tuple[Loop | None, float]:
        """Of what is left the loop that most events are in, and the share that it has of them."""
        lengths = np.diff(self.ends, prepend=-1)
        size = np.bincount(self.symbols, lengths, 1)
        symbol = int(np.argmax(size))
        return self.loops.get(symbol), float(size[symbol] / max(1.0, size.sum()))

    def inside(self, loop: Loop) -> list[Loop]:
        """The loops that are directly in another one, those with most of its events first."""
        between = [np.diff(entry.ravel(), prepend=entry[0, 0]) for entry in loop.entries]
        size = np.concatenate(between).reshape(-1, len(loop.body)).sum(axis=0)
        order = np.argsort(-size, kind="stable").tolist()
        symbols = dict.fromkeys(loop.body[place] for place in order)
        return [self.loops[symbol] for symbol in symbols if symbol in self.loops]

    def tokens(self, loop: Loop) -> set[int]:
        """What events of a loop are, also of the loops in it."""
        inner = [self.tokens(self.loops[one]) for one in loop.body if one in self.loops]
        return {one for one in loop.body if one not in self.loops}.union(*inner)

    def _fold_shortest(self) -> bool:
        most = min(MOST_LAG, len(self.symbols) // 2)
        return any(self._fold(lag) for lag in range(1, most + 1))

    def _fold(self, lag: int) -> bool:
        """Folds all that repeats after so many symbols; whether anything did."""
        same = self.symbols[lag:] == self.symbols[:-lag]
        edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]])))
        begins, lengths = edges[::2], edges[1::2] - edges[::2]
        is_loop = lengths >= lag
        if not np.any(is_loop):
            return False
        found, free = list[tuple[Loop, int, int]](), 0
        for first, length in zip(begins[is_loop].tolist(), lengths[is_loop].tolist(), strict=True):
            begin, end = max(first, free), first + length + lag
            if end - begin < 2 * lag:
                continue
            loop, shift = self._loop(tuple(self.symbols[begin : begin + lag].tolist()), end - begin)
            begin += shift
            free = begin + (end - begin) // lag * lag
            found.append((loop, begin, free))
        self._replace(found)
        for loop in dict.fromkeys(one[0] for one in found):
            if np.ptp(loop.turns):
                self._replace(self._single_turns(loop))
        return True

    def _loop(self, body: tuple[int, ...], length: int) -> tuple[Loop, int]:
        """The loop of a body, and after how many symbols it begins; a known one that fits first."""
        for shift in range(min(len(body), length - 2 * len(body) + 1)):
            known = self._known.get(body[shift:] + body[:shift])
            if known is not None:
                return known, shift
        loop = Loop(self._first_loop + len(self.loops), body)
        self.loops[loop.symbol] = self._known[body] = loop
        return loop, 0

    def _replace(self, found: Sequence[tuple[Loop, int, int]]) -> None:
        """Puts a loop's symbol for its turns, which are told by their first and last place."""
        kept = np.ones(len(self.symbols), np.bool_)
        for loop, begin, end in found:
            loop.enter(self.ends[begin:end].reshape(-1, len(loop.body)))
            self.symbols[end - 1] = loop.symbol
            kept[begin : end - 1] = False
        self.symbols, self.ends = self.symbols[kept], self.ends[kept]

    def _single_turns(self, loop: Loop) -> list[tuple[Loop, int, int]]:
        """Where the body of a loop stands alone: one that turns as often as need be turned once."""
        size = len(loop.body)
        windows = np.lib.stride_tricks.sliding_window_view(
            np.append(self.symbols, [-1] * size), size
        )
        found, free = list[tuple[Loop, int, int]](), 0
        for place in np.flatnonzero(np.all(windows == loop.body, axis=1)).tolist():
            if place >= free:
                free = place + size
                found.append((loop, place, free))
        return found


def like(token: Ints, known: Ints, marked: Ints) -> Ints:
    """The events of a sequence that are where those are which are marked in a part of it.

    Each is known by as few of the events on both sides as tell marked ones there from others.

    Args:
        token: the whole sequence.
        known: the places that have been looked at.
        marked: some of them, in order.
    """
    places = np.flatnonzero(np.isin(token, token[marked]))
    is_marked = np.isin(places, marked)
    is_other = np.isin(places, known) & ~is_marked
    is_other &= (places > marked[0]) & (places < marked[-1])  # what folds is cut at its ends
    found, left, around = np.zeros(len(places), np.bool_), np.arange(len(places)), token[places]
    padded = np.concatenate([np.full(MOST_CONTEXT, -1), token, np.full(MOST_CONTEXT, -1)])
    for context in range(1, MOST_CONTEXT + 1):
        ours = np.bincount(around[is_marked[left]], minlength=int(around.max()) + 1)
        others = np.bincount(around[is_other[left]], minlength=len(ours))
        is_seen = (ours + others)[around] > 0
        found[left[is_seen]] = (ours > others)[around[is_seen]]
        is_open = np.minimum(ours, others)[around] > 0
        if not np.any(is_open):
            break
        left, around = left[is_open], around[is_open]
        at = places[left] + MOST_CONTEXT
        around = dense(around, padded[at - context], padded[at + context])
    return places[found]
