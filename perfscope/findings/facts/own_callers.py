"""In whose name some ranks do more of what all do: the caller that the others do not have."""

from collections import Counter, defaultdict
from collections.abc import Collection
from itertools import pairwise

from perfscope.attribution.activity_names import NEUTRAL
from perfscope.attribution.activity_rules import module_of
from perfscope.judging import FEWEST_SAMPLES, MAIN
from perfscope.metrics.results import Results
from perfscope.trace.model import Frame, Function, Rank

SELDOM = 0.1
"""Of the samples of one rank: what others are seen in less often is that rank's own."""


def own_caller(results: Results, ranks: Collection[int], callee: Frame) -> Frame | None:
    """The nearest caller of a function that most of its time on some ranks is spent for.

    Validation calls the same layers as training does: where one rank alone validates, it works
    longer in them, and what makes it do so is further out on its stack.

    Args:
        results: the run.
        ranks: numbers of those that work longer.
        callee: the user's function in which they do.

    Returns:
        None where most of the time is spent for what the other ranks do as well.
    """
    main = callee.key
    own = _callers(results, [one for one in results.trace.ranks if one.number in ranks], main)
    rest = [one for one in results.trace.ranks if one.number not in ranks]
    others = _callers(results, rest, main)
    elsewhere = _seen_in(results, rest)
    part = len(ranks) / max(1, len(rest))
    whole = len(own[main])
    if whole < FEWEST_SAMPLES or not rest:
        return None
    beyond = whole - part * len(others[main])
    found = {
        name: lines
        for name, lines in own.items()
        if name != main and len(lines) > MAIN * beyond
        if part * elsewhere[name] < SELDOM * len(lines)
    }
    if not found:
        return None
    nearest = max(found, key=lambda name: len(found[name]))  # of as many, the one seen first
    return Frame(*nearest, Counter(found[nearest]).most_common(1)[0][0])


def called_by_library(results: Results, callee: Frame) -> str:
    """The package whose code calls a function directly in most samples of it; "" where none does.

    Such a function was given to the package: the program's own code does not call it. What only
    passes calls on, as decorators do, stands for its caller; an optimizer calls what it minimizes.
    """
    found = Counter[str]()
    for rank in results.trace.ranks:
        rows = results.focus.within(rank.main_stacks)
        for place, count in Counter(rows["stack"].tolist()).items():
            frames = [results.trace.frames[one] for one in results.trace.stacks[place]]
            callers = [one for one in frames if module_of(one.file) not in NEUTRAL]
            for caller, frame in pairwise(callers):
                if frame.key == callee.key:
                    found[_package(module_of(caller.file))] += count
    name, count = max(found.items(), key=lambda one: one[1], default=("", 0))
    return name if count > MAIN * found.total() else ""


def _package(module: str) -> str:
    """The package of a module to which functions may be given; "" of the user's, or an optimizer's.

    `torch.optim` and `scipy.optimize` call the function again and again that they are to minimize.
    """
    parts = module.split(".")
    return "" if any(one.startswith("optim") for one in parts) else parts[0]


def _seen_in(results: Results, ranks: Collection[Rank]) -> Counter[Function]:
    """By function, the samples that show it, whatever it calls: a main program is in all of them.

    Where others call the same and are through with it sooner, the caller is not one rank's own.
    """
    trace, found = results.trace, Counter[Function]()
    for rank in ranks:
        rows = results.focus.within(rank.main_stacks)
        for place, count in Counter(rows["stack"].tolist()).items():
            for name in {trace.frames[one].key for one in trace.stacks[place]}:
                found[name] += count
    return found


def _callers(
    results: Results, ranks: Collection[Rank], callee: Function
) -> defaultdict[Function, list[int]]:
    """By function, the line in each sample that shows it with the callee; nearest callers first."""
    trace = results.trace
    users = {one.key for one in results.ledger.functions}
    found = defaultdict[Function, list[int]](list)
    for rank in ranks:
        rows = results.focus.within(rank.main_stacks)
        for place, count in Counter(rows["stack"].tolist()).items():
            frames = [trace.frames[one] for one in reversed(trace.stacks[place])]
            lines = {one.key: one.line for one in reversed(frames)}
            names = list(dict.fromkeys(one.key for one in frames))
            if callee not in lines:
                continue
            for name in names[names.index(callee) :]:
                if name in users:
                    found[name] += [lines[name]] * count
    return found
