"""Folding a sequence of events into loops."""

import random

import numpy as np
import pytest

from perfscope.attribution.nesting import Nest, like


def written(nest: Nest, symbol: int) -> str:
    loop = nest.loops.get(symbol)
    return chr(97 + symbol) if loop is None else f"({''.join(written(nest, s) for s in loop.body)})"


def folded(text: str) -> str:
    nest = Nest(np.array([ord(one) - 97 for one in text], np.int64))
    return "".join(written(nest, symbol) for symbol in nest.symbols.tolist())


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("", ""),
        ("abc", "abc"),
        ("aaaa", "(a)"),
        ("xababab", "x(ab)"),
        ("abccabccc", "(ab(c))"),
        ("abcabccabccc", "(ab(c))"),
        ("abbabbcabbabbabbc", "((a(b))c)"),
        ("ababcabababdababcabababd", "((ab)c(ab)d)"),
        ("dabab", "d(ab)"),
    ],
)
def test_loops_of_a_text(text: str, loops: str) -> None:
    assert folded(text) == loops


def test_turns_and_their_events() -> None:
    nest = Nest(np.array([3, 0, 1, 1, 2, 0, 1, 1, 1, 2, 4], np.int64))
    inner, outer = nest.loops.values()
    assert (inner.body, inner.turns.tolist()) == ((1,), [2, 3])
    assert outer.body == (0, inner.symbol, 2)
    assert [entry.tolist() for entry in outer.entries] == [[[1, 3, 4], [5, 8, 9]]]
    assert (nest.inside(outer), nest.inside(inner)) == ([inner], [])
    assert nest.tokens(outer) == {0, 1, 2}
    main, share = nest.main
    assert main is outer
    assert share == pytest.approx(9 / 11)


def unfolded(nest: Nest, symbol: int, turns: dict[int, list[int]]) -> list[int]:
    loop = nest.loops.get(symbol)
    if loop is None:
        return [symbol]
    often = turns[symbol].pop(0)
    return [one for _ in range(often) for part in loop.body for one in unfolded(nest, part, turns)]


@pytest.mark.parametrize("seed", range(30))
def test_a_folded_sequence_unfolds_to_itself(seed: int) -> None:
    """Also where it is drawn by lot; the turns of loops are told in the order of their events."""
    draw = random.Random(seed)
    tokens = list[int]()
    for _ in range(draw.randint(1, 60)):
        tokens += [draw.randrange(3) for _ in range(draw.randint(1, 3))] * draw.randint(1, 4)
    nest = Nest(np.array(tokens, np.int64))
    turns = {symbol: loop.turns.tolist() for symbol, loop in nest.loops.items()}
    found = [one for symbol in nest.symbols.tolist() for one in unfolded(nest, symbol, turns)]
    assert found == tokens
    assert nest.ends.tolist() == sorted(nest.ends.tolist())


def test_places_like_those_that_are_known() -> None:
    """The first of two alike in each turn, of which some were looked at."""
    token = np.array([5, 7, 7, 6] * 100, np.int64)
    marked = np.arange(1, 80, 4)
    assert like(token, np.arange(80), marked).tolist() == list(range(1, 400, 4))
