"""What the first screen tells where no finding says what to change."""

from perfscope.places import place
from perfscope.report.formats import seconds
from perfscope.report.sections import unexplained
from perfscope.report.sections.where import RANKS, TO_OPEN
from perfscope.report.views import rank_list
from perfscope.schema.analysis import Analysis
from perfscope.units import listed

NO_RANK = "none: no problem was found on any rank"
NOTHING_TO_CHANGE = "none: no line to change was found"
MOST_NAMED = 2  # checks that could not be made, in one line


def rows(result: Analysis) -> list[tuple[str, str]]:
    """What to do, and where, each with its label."""
    verdict = result.verdict
    told = [
        *nowhere(result),
        ("Saving", _nothing_saved(result)),
        ("First action", verdict.action),
        ("Hot spots", verdict.hot_spots),
        ("To look at", unexplained.text(unexplained.unexplained(result))),
    ]
    return [one for one in told if one[1]]


def unmade(result: Analysis) -> str:
    """What could not be checked for, by name as far as there is room; "" for nothing."""
    titles = [f"“{row.title}”" for row in result.findings if row.status.is_unmade]
    if not titles:
        return ""
    return listed(titles if len(titles) <= MOST_NAMED else [titles[0], "others"])


def _nothing_saved(result: Analysis) -> str:
    """That no change is known that saves anything; what an idle host would, is none of it."""
    verdict = result.verdict
    if not verdict.assurance:
        return ""
    by_host = verdict.others_s
    idle = f"; an idle host would save {seconds(by_host)}" if by_host is not None else ""
    return f"none known in the program{idle}"


def nowhere(result: Analysis) -> list[tuple[str, str]]:
    """That there is no rank to look at, and no line to open; nothing where nobody can say that."""
    if not result.verdict.assurance:
        return []
    ranks, line, is_placed = _of_largest(result)
    told = [(RANKS, f"{NO_RANK}{ranks}")] if result.run.recorded_ranks > 1 else []
    look = unexplained.lines(unexplained.unexplained(result))
    # what is lost in no one line leaves room for another loss that has one
    line += f"; to look at: {look}" if look and not is_placed else ""
    return [*told, (TO_OPEN, f"{NOTHING_TO_CHANGE}{line}")]


def _of_largest(result: Analysis) -> tuple[str, str, bool]:
    """On which ranks, and where, the largest loss is that the verdict names without a cure.

    The last tells whether it is in a place that is known.
    """
    named, entries = result.verdict.largest_loss, result.losses.entries
    first = entries[named] if named is not None and 0 <= named < len(entries) else None
    if first is None or not first.ranks:
        return "", "", False
    many = len(first.ranks) + first.ranks_left_out
    which = "all ranks" if many == result.run.recorded_ranks else rank_list(first.ranks)
    on = f" (the largest loss is on {which})"
    if first.where is None:
        return on, " (the largest loss is in no one line)", False
    at = place(first.where.function, first.where.file, first.where.line)
    return on, f" (the largest loss is in {at})", True
