"""The functions that compute most, for the verdict."""

from collections import Counter, defaultdict
from collections.abc import Collection

from perfscope.attribution.activity_names import UNDECIDED_CALLS
from perfscope.findings.core.wording import place
from perfscope.findings.losses.unclaimed import AT_START
from perfscope.judging import MAIN
from perfscope.losses.account import TAKES_PART
from perfscope.metrics.host.activities import ActivityRow
from perfscope.metrics.host.interpreter_lock import RESTING
from perfscope.metrics.results import Results
from perfscope.trace.model import Frame
from perfscope.units import format_share

MOST = 3
"""Functions that are named."""

OPERATOR = ".operator"
"""What the agent writes behind a type whose operators a line uses."""

NOT_JUDGED = (
    "perfscope cannot tell whether all of this work is needed: look there for results worth "
    "caching, padded or unbatched input, and results that nothing uses."
)

NO_COMPUTING = RESTING.union(AT_START)


def hottest(results: Results, named: Collection[Frame], *, is_alone: bool) -> str:
    """The few functions that hold the main part of the computing, as a sentence.

    Where it stands alone, as no finding says what to change, it says what to look for. "" where
    three do not hold it, where computing is not the main part of the ranks' time, and where all of
    them are `named` already.
    """
    own: defaultdict[tuple[str, str], list[ActivityRow]] = defaultdict(list)
    spent: Counter[tuple[str, str]] = Counter()
    for row in results.activities.rows:
        if row.where is not None and row.activity not in NO_COMPUTING:
            function = row.where.function, row.where.file
            own[function].append(row)
            spent[function] += row.ns
    whole_ns = results.focus.length_ns * len(results.trace.ranks)
    computing_ns = sum(spent.values())
    most = spent.most_common(MOST)
    first = [one for one, ns in most if ns >= TAKES_PART * most[0][1]]
    is_most = sum(spent[one] for one in first) > MAIN * computing_ns > MAIN**2 * whole_ns
    if not is_most or {one.key for one in named}.issuperset(first):
        return ""
    shares = [format_share(spent[one] / whole_ns) for one in first]
    shares[0] += " of the ranks' time in the analyzed window, computing or waiting for a CPU"
    parts = [f"{_where(own[one])} takes {share}" for share, one in zip(shares, first, strict=True)]
    leads = f" {NOT_JUDGED}" if is_alone else ""
    return f" {'; '.join(parts)}.{leads}"


def _where(rows: Collection[ActivityRow]) -> str:
    """A function at the line in which it spends most, and what it calls there."""
    lines: Counter[Frame] = Counter()
    calls: Counter[tuple[Frame, str]] = Counter()
    for row in rows:
        assert row.where is not None
        lines[row.where] += row.ns
        calls[row.where, row.calls] += row.ns
    line = max(lines, key=lambda one: (lines[one], -one.line))
    called = max((one for one in calls if one[0] == line), key=lambda one: (calls[one], one[1]))[1]
    if called in UNDECIDED_CALLS:  # of a thread whose library computes in others meanwhile
        return f"{place(line)}, which waits for threads of its library,"
    called = called.strip("?.")  # names without a type begin with a dot, untold ones are none
    of_type = called.removesuffix(OPERATOR)
    does = f"uses operators of {of_type}" if of_type != called else f"calls {called}"
    return f"{place(line)}{f', which {does},' if called else ''}"
