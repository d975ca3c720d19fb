"""The functions that compute most, for the verdict."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from perfscope.attribution.activity_names import UNDECIDED_CALLS
from perfscope.document.headline import whole
from perfscope.findings.core.wording import place
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import shape_of
from perfscope.findings.facts.transform_lengths import transformed, unknown_lengths
from perfscope.findings.losses.claims import AT_START
from perfscope.judging import MAIN, MAJOR
from perfscope.losses.account import TAKES_PART
from perfscope.metrics.host.activities import ActivityRow
from perfscope.metrics.host.hot_lines import HotLine
from perfscope.metrics.host.interpreter_lock import RESTING
from perfscope.metrics.host.resource_use import busy_ns
from perfscope.trace.model import Frame
from perfscope.trace.operands import NEAR_CACHE_BYTES
from perfscope.units import NS, format_seconds, format_share, listed

MOST = 3
"""Functions that are named."""

OPERATOR = ".operator"
"""What the agent writes behind a type whose operators a line uses."""

AS_THEY_COST = " As far as was seen, these cost what such operations do."
"""That hot spots are no hints, where none of them says what is wasted."""

JOINS = {"cat", "concat", "concatenate", "append", "vstack", "hstack"}
"""Functions that make an array of several, however little is added to one."""

SINGLE = "single precision, if exact enough, halves its bytes."

NO_COMPUTING = RESTING.union(AT_START)


def hottest(run: Facts, named: Collection[Frame], room: int, *, is_alone: bool) -> str:
    """The few functions that hold the main part of the computing, as a sentence.

    `room` is how many characters it may have: with long names fewer of the functions are told.
    Where it stands alone, as no finding says what to change, it also says what is in double
    precision, and which transforms may have a slow length. "" where three do not hold it, where
    computing is not the main part of the ranks' time, and where all of them are `named` already.
    """
    results, lines = run.results, run.hot_lines
    own: defaultdict[tuple[str, str], list[ActivityRow]] = defaultdict(list)
    spent: Counter[tuple[str, str]] = Counter()
    busy = {rank.number: busy_ns(rank, results.focus) for rank in results.trace.ranks}
    for row in results.activities.rows:
        if row.where is not None and row.activity not in NO_COMPUTING:
            function = row.where.function, row.where.file
            own[function].append(row)
            may_rest = row.calls in UNDECIDED_CALLS
            spent[function] += min(row.ns, busy[row.rank]) if may_rest else row.ns
    ranks, (whole_s, name) = len(results.trace.ranks), whole(results)
    focus_ns, whole_ns = results.focus.length_ns * ranks, whole_s * ranks / NS
    computing_ns = sum(spent.values())
    most = spent.most_common(MOST)
    first = [one for one, ns in most if ns >= TAKES_PART * most[0][1]]
    is_most = sum(spent[one] for one in first) > MAIN * computing_ns > MAIN**2 * focus_ns
    if not is_most or {one.key for one in named}.issuperset(first):
        return ""
    shares = [format_share(spent[one] / whole_ns) for one in first]
    shares[0] += f" of the {format_seconds(whole_s)} {name}, computing or waiting for a CPU"
    seen = [_where(own[one], lines, whole_ns) for one in first]
    told_of = zip(shares, seen, strict=True)
    parts = [f"{where} takes {share}{on_what}" for share, (where, on_what, _) in told_of]
    cost = "" if any(is_copied for *_, is_copied in seen) else AS_THEY_COST
    unknown = unknown_lengths([one for one in transformed(run) if one.line.function in first])
    leads = f"{cost}{unknown}{_doubles(first, lines)}" if is_alone else ""
    told = [f"{'; '.join(parts[:count])}.{leads}" for count in range(len(parts), 0, -1)]
    return next((one for one in told if len(one) <= room), "")


def _operands(frame: Frame, lines: Sequence[HotLine], *, is_joining: bool) -> tuple[str, bool]:
    """What a line works on where it spends most, as far as that was looked at.

    With whether it copies all of an array to add little to it, which is then told.
    """
    found = next((one for one in lines if one.site.frame == frame and one.seconds > 0), None)
    arrays = [one for one in found.site.operands if one.elements > 1][:2] if found else []
    told = [f"`{one.name}` of {shape_of(one)}" for one in arrays]
    if is_joining and len(arrays) == 2:
        sizes = [one.elements for one in arrays]
        large, small = told[sizes.index(max(sizes))], told[sizes.index(min(sizes))]
        if min(sizes) < MAJOR * max(sizes):
            return f"copies all of {large} to add {small}", True
    return f"works on {listed(told)}" if told else "", False


def _doubles(functions: Collection[tuple[str, str]], lines: Sequence[HotLine]) -> str:
    """That large arrays are in double precision, which not all work needs."""
    for line in lines:
        for one in line.site.operands if line.function in functions else ():
            size = one.elements * one.value_bytes
            if one.dtype == "float64" and size > NEAR_CACHE_BYTES and line.seconds > 0:
                what = f"`{one.name}` in {place(line.site.frame)}"
                return f" A choice: {what} is float64; {SINGLE}"
    return ""


def _where(
    rows: Collection[ActivityRow], looked_at: Sequence[HotLine], whole_ns: float
) -> tuple[str, str, bool]:
    """A function at the line in which it spends most, and how much it spends there in what.

    With whether it copies all of an array there to add little to it.
    """
    lines: Counter[Frame] = Counter()
    calls: Counter[tuple[Frame, str]] = Counter()
    for row in rows:
        assert row.where is not None
        lines[row.where] += row.ns
        calls[row.where, row.calls] += row.ns
    line = max(lines, key=lambda one: (lines[one], -one.line))
    most = max((one for one in calls if one[0] == line), key=lambda one: (calls[one], one[1]))
    called = most[1]
    on, is_copied = _operands(line, looked_at, is_joining=called.rpartition(".")[2] in JOINS)
    if called in UNDECIDED_CALLS:  # of a thread whose library computes in others meanwhile
        return place(line), " (it waits for threads of its library)", False
    called = called.strip("?.")  # names without a type begin with a dot, untold ones are none
    of_type = called.removesuffix(OPERATOR)
    does = f"in operators of {of_type}" if of_type != called else f"in {called}"
    share = f"{format_share(calls[most] / whole_ns)} {does}" if called else ""
    said = [one for one in (share, on) if one]
    return place(line), f" ({'; it '.join(said)})" if said else "", is_copied
