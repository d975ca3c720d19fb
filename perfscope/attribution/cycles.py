"""The period of a repeating sequence of events, and the event that marks each repetition."""

import numpy as np

from perfscope.arrays import Bools, Floats, Ints
from perfscope.judging import MAIN, NEGLIGIBLE
from perfscope.matching.pool import dense

MIN_PERIODS = 5
"""Fewer repetitions are no pattern."""


BETWEEN_SHARE = 0.2
"""Equal calls in a row are steps if the work between them has this share of that before them."""

NO_WORK = BETWEEN_SHARE**2
"""The same of events that are one: beside an evaluation in every few steps, they have more."""

LIKE_ITSELF = 0.6
"""Of the events beyond what chance gives, those that are again what they were a period before."""

NEAR_BEST = 0.9
"""Of the best period's likeness: a shorter one that has less leaves something unexplained."""

MOST_EVENTS, MOST_LAG = 1 << 14, 1 << 11
"""What of a long run is compared to find the period."""

MOST_CONTEXT = 64
"""Events before one that may be needed to tell it from others of its kind in the period."""

SPREAD = 0.8
"""Of the median distance, the middle half of the distances; of events by chance it is more."""

NO_CHANCE = 2.2
"""Kolmogorov's statistic, which chance exceeds once in ten thousand times."""

CHANCE = 1.6
"""The same, which chance exceeds once in a hundred times: below it events may be drawn by lot."""

NONE: Ints = np.empty(0, np.int64)


def marks(token: Ints, work: Ints) -> Ints:
    """The event that marks each period, in order; empty where nothing repeats.

    Args:
        token: what each event is; equal numbers are the same.
        work: nanoseconds of work before each event.
    """
    often = np.flatnonzero(np.bincount(token)[token] >= MIN_PERIODS) if len(token) else NONE
    if not len(often):
        return NONE
    # what comes once before or after the loop is no part of it
    begin, end = int(often[0]), int(often[-1]) + 1
    return begin + _inside(token[begin:end], work[begin:end])


def _inside(token: Ints, work: Ints) -> Ints:
    """The marks of events of which the first and the last are of kinds that come often."""
    behind = np.append(work[1:], 0)
    if not np.any(token != token[0]):
        return _ends_of_groups(behind)
    _, lag = _loops(token)
    if lag == 1 or _is_one_kind(token, lag):
        alike = np.flatnonzero(token == np.argmax(np.bincount(token)))
        return alike[_ends_of_groups(behind[alike])]
    found = _once_each(token, behind, lag) if lag else NONE
    return found if len(found) else _even(token, behind)


def _is_one_kind(token: Ints, lag: int) -> bool:
    """Whether events are of one kind but for a few, between which it makes the steps."""
    is_most = np.bincount(token).max() >= NEAR_BEST * len(token)
    return bool(is_most and not (lag and outer_is_step(len(token) // lag, lag)))


def _ends_of_groups(behind: Ints) -> Ints:
    """Of equal events the last one of each group; each is one where work follows all alike.

    A group has no work inside: one exchange that sends there and back.
    """
    every, place = longest_of(behind)
    if not every:
        return np.arange(len(behind))
    at = np.arange(len(behind)) % every == place
    is_group = np.median(behind[~at]) < NO_WORK * np.median(behind[at])
    return np.flatnonzero(at) if is_group else np.arange(len(behind))


def longest_of(lengths: Ints | Floats) -> tuple[int, int]:
    """After how many lengths the longest one comes back, and at which place; (0, 0): after none.

    The place is the same in more periods than chance would have it.
    """
    most = len(lengths) // MIN_PERIODS
    tried = [n for n in range(2, most + 1) if outer_is_step(len(lengths) // n, n)]
    shares, places = [], []
    for every in tried:
        whole = lengths[: len(lengths) // every * every].reshape(-1, every)
        two = np.partition(whole, -2, axis=1)[:, -2:]
        alone = two[:, 1] > two[:, 0]  # where two are as long, neither is the longest
        longest = np.bincount(whole.argmax(axis=1)[alone], minlength=every)
        places.append(int(longest.argmax()))
        shares.append(float(longest.max()) / len(whole))
    best = max(shares, default=0.0)
    for every, share, place in zip(tried, shares, places, strict=True):
        if share >= max(LIKE_ITSELF, NEAR_BEST * best):
            periods = len(lengths) // every
            is_sure = periods * surprise(share, 1.0 / every) > 2.0 * np.log(len(lengths))
            return (every, place) if is_sure else (0, 0)
    return 0, 0


def heaviest_marks(token: Ints, sent: Ints, work: Ints) -> Ints:
    """The collectives that end the steps, in order; empty where nothing repeats.

    Equal neighbors are one run. Of the runs that occur often, the one that carries most bytes marks
    the step, or each of its calls does where work lies between them, unless these are of one step:
    the first half of a run ends one, and the second begins the next, where layers mirror each other
    (a b b a), and there is no work inside a group of calls.
    """
    found = _heaviest(token, sent, work)
    if len(found) < MIN_PERIODS:
        return found
    worked = np.append(np.cumsum(work), work.sum())
    behind = np.diff(worked[found], append=worked[-1])
    return found[_ends_of_groups(behind)]


def _heaviest(token: Ints, sent: Ints, work: Ints) -> Ints:
    """The calls that mark the steps, of which several may be of one."""
    if len(token) < MIN_PERIODS:
        return NONE
    ends = np.flatnonzero(np.append(token[1:] != token[:-1], [True]))
    lengths = np.diff(ends, prepend=-1)
    longest = int(np.argmax(lengths))
    if 2 * lengths[longest] >= len(token):
        return np.arange(ends[longest] + 1 - lengths[longest], ends[longest] + 1)
    run = dense(token[ends], lengths)
    counts = np.bincount(run)
    carried = np.zeros(len(counts), np.int64)
    carried[run] = sent[ends] * lengths
    frequent = counts >= max(MIN_PERIODS, MAIN * (counts.max() - 2))  # cut at both ends
    if not np.any(frequent) or by_chance(token):
        return NONE
    marked = run == int(np.argmax(np.where(frequent, carried, -1)))
    members = np.repeat(marked, lengths)
    found: Ints = ends[marked]
    if _works_between(work, found, lengths[marked], members):
        is_kind = token[ends] == token[found[0]]
        half = int(lengths[marked][0]) // 2
        if _is_mirrored(run, lengths, np.flatnonzero(is_kind), sent[ends] * lengths):
            # a half alone begins the first step, or ends the last
            is_kind[0] &= lengths[0] > half
            halves: Ints = (ends - lengths + half)[is_kind]
            return halves
        # each is a step, also of a shorter run that is the last or comes between two others
        found = np.flatnonzero(token == token[found[0]])
    return found


def _is_mirrored(run: Ints, lengths: Ints, heavy: Ints, carried: Ints) -> bool:
    """Whether what is exchanged between two runs is the same there and back, in pairs.

    So it is where layers mirror each other (a b b a, and again): of two equal calls in a row the
    first is of one step, the second of the next. Single figures are no layers.
    """
    inner = heavy[(heavy > 0) & (heavy < len(run) - 1)]
    if len(inner) < MIN_PERIODS or np.any(lengths[inner] % 2):
        return False
    apart = int(np.median(np.diff(inner)))
    between = np.minimum(inner[:-1, None] + np.arange(1, apart), len(run) - 1)
    block = run[between[0]]
    is_back = np.array_equal(block, block[::-1]) and lengths[between[0]].sum() % 2 == 0
    is_more = np.all(carried[between[0]] >= NEGLIGIBLE * carried[inner[0]])
    alike = np.mean((run[between] == block).all(axis=1) & (np.diff(inner) == apart))
    return bool(apart > 1 and is_back and is_more and alike >= NEAR_BEST)


def _works_between(work: Ints, ends: Ints, lengths: Ints, members: Bools) -> bool:
    """Whether the calls of a run are steps of their own, not the parts of one.

    Those of one step have little work between them, beside that before the first, or all of them
    together little beside what comes before other calls: the gradients of equal layers, between
    those of others.
    """
    firsts = ends - lengths + 1
    worked = np.cumsum(work)
    of_run = worked[ends] - worked[firsts] + work[firsts]
    if len(ends) > 1 and np.median(of_run) < BETWEEN_SHARE * np.median(np.diff(worked[ends])):
        return False
    inner = members.copy()
    inner[firsts] = False
    before = firsts[firsts > 0]
    if not np.any(inner) or not len(before):
        return False
    return bool(np.median(work[inner]) >= BETWEEN_SHARE * np.median(work[before]))


def are_by_lot(places: Ints, length: int) -> bool:
    """Whether places in a sequence may have been drawn by lot, by their distances."""
    return len(places) < MIN_PERIODS or _statistic(places, length) < CHANCE


def by_chance(token: Ints) -> bool:
    """Whether events follow each other as if each had been drawn by lot."""
    often = np.flatnonzero(np.bincount(token) >= 4 * MIN_PERIODS).tolist()
    spaced = [_statistic(np.flatnonzero(token == one), len(token)) for one in often]
    return len(often) > 1 and max(spaced) < CHANCE


def outer_is_step(outer_times: int, inner_times: float) -> bool:
    """Of two loops, one in the other, whether a step is a turn of the outer one.

    Few parts in each of many steps, or few epochs of many steps each: the steps are the many.
    """
    return outer_times >= MIN_PERIODS and outer_times >= inner_times


def is_steady(distances: Ints) -> bool:
    """Whether most of the distances between marks are alike."""
    low, middle, high = np.percentile(distances, [25, 50, 75])
    return bool(high - low <= SPREAD * middle)


def fixed_marks(token: Ints, work: Ints) -> Ints:
    """The same where every period has as many events and no loop lies in it, else empty."""
    if len(token) < MIN_PERIODS or 2 * np.count_nonzero(token[1:] == token[:-1]) >= len(token):
        return NONE
    inner, lag = _loops(token)
    return _once_each(token, np.append(work[1:], 0), lag) if 1 < lag == inner else NONE


def surprise(share: float, expected: float) -> float:
    """How unlikely a share of many draws is, as Chernoff bounds it: exp(-n times this) at most."""
    rest = (1.0 - share) * np.log((1.0 - share) / (1.0 - expected)) if share < 1.0 else 0.0
    return float(share * np.log(share / expected) + rest)


def _loops(token: Ints) -> tuple[int, int]:
    """Events to a turn of the innermost loop and to a step, 0 where they explain too little."""
    if len(token) > MOST_EVENTS:
        begin = (len(token) - MOST_EVENTS) // 2
        token = token[begin : begin + MOST_EVENTS]
    chance = float(np.sum((np.bincount(token) / len(token)) ** 2))
    if chance == 1.0:
        return 1, 1  # all are alike: no likeness is beyond chance, and each is a turn
    lags = np.arange(1, min(MOST_LAG, len(token) // MIN_PERIODS) + 1)
    same = np.array([np.mean(token[lag:] == token[:-lag]) for lag in lags.tolist()])
    likeness = (same - chance) / (1.0 - chance)
    best = float(likeness.max(initial=0.0))
    if best < LIKE_ITSELF:
        return 0, 0
    whole = int(lags[np.argmax(likeness >= NEAR_BEST * best)])
    inner = int(lags[np.argmax(likeness >= LIKE_ITSELF)])
    return inner, whole if outer_is_step(len(token) // whole, whole / inner) else inner


def _once_each(token: Ints, behind: Ints, lag: int) -> Ints:
    """The places of an event that comes once in each period: where most work follows."""
    wanted, told, context = len(token) / lag, token, 1
    while context <= MOST_CONTEXT:
        counts = np.bincount(told)
        fits = np.flatnonzero((counts >= 0.8 * wanted) & (counts <= 1.25 * wanted))
        if len(fits):
            follows = [float(np.median(behind[told == one])) for one in fits.tolist()]
            return np.flatnonzero(told == fits[int(np.argmax(follows))])
        shifted = np.concatenate([np.full(context, -1), told[:-context]])
        told, context = dense(told, shifted), 2 * context
    return NONE


def _even(token: Ints, behind: Ints) -> Ints:
    """The places of an event that returns evenly where the number of others varies.

    As many events lie between two of them, or as much work.
    """
    counts, worked = np.bincount(token), np.cumsum(behind)
    best, most = NONE, -1.0
    for one in np.flatnonzero(counts >= MIN_PERIODS).tolist():
        places = np.flatnonzero(token == one)
        apart = np.diff(places)
        alone = np.mean(apart == 1) <= 1.0 / len(apart)
        steady = is_steady(apart) or is_steady(np.diff(worked[places]))
        if not alone or not steady or _statistic(places, len(token)) < NO_CHANCE:
            continue
        # also behind those that come with it each time, such as a send with its receive
        ends = np.flatnonzero((counts[token] != counts[one]) | (token == one))
        ends = np.append(ends, len(token))[np.searchsorted(ends, places, side="right")]
        follows = float((worked[ends - 1] - worked[places] + behind[places]).sum())
        if follows > most:
            best, most = places, follows
    return best


def _statistic(places: Ints, length: int) -> float:
    """How far the distances are from those of places drawn by lot, by Kolmogorov and Smirnov."""
    apart = np.diff(places)
    share = len(places) / length
    values, counts = np.unique(apart, return_counts=True)
    below = np.concatenate([[0.0], np.cumsum(counts) / len(apart)])
    by_lot = 1.0 - (1.0 - share) ** values
    before = 1.0 - (1.0 - share) ** (values - 1)
    most = max(np.abs(below[1:] - by_lot).max(), np.abs(below[:-1] - before).max())
    return float(most * np.sqrt(len(apart)))
