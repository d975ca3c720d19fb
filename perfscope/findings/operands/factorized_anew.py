"""Linear systems whose matrix stays, and is factorized again in each solve."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, passed
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import (
    costliest,
    frames_of,
    has_operands,
    ranks_of,
    saved_at_most,
    seen_on,
    shape_of,
)
from perfscope.judging import MAIN
from perfscope.metrics.host.hot_lines import HotLine
from perfscope.metrics.host.looks import FEWEST_LOOKS
from perfscope.schema.enums import Confidence
from perfscope.structures import dataclass
from perfscope.trace.model import Frame, Function
from perfscope.trace.operands import Operand

SOLVERS = re.compile(r"(sp)?solve|lstsq|solveh?_banded")
"""Functions that factorize a matrix and then substitute, as NumPy, SciPy and PyTorch name them.

Those that take factors and only substitute have names of their own (`lu_solve`).
"""

ACTION = {
    "spsolve": "`solve = scipy.sparse.linalg.splu({0}.tocsc()).solve`, then `solve(b)`",
    "lstsq": "`q, r = np.linalg.qr({0})`, then `scipy.linalg.solve_triangular(r, q.T @ b)`",
    "torch": "`lu = torch.linalg.lu_factor({0})`, then `torch.linalg.lu_solve(*lu, b)`",
    "": "`lu = scipy.linalg.lu_factor({0})`, then `scipy.linalg.lu_solve(lu, b)`",
}
"""How it is factorized once, by the function that does it each time, or its library."""


@dataclass(frozen=True)
class Solve:
    """A line that solves with a matrix that stays."""

    line: HotLine
    function: str  # of the library: `scipy.spsolve`
    matrix: Operand


def judge(run: Facts) -> Outcome:
    """Whether solves with matrices that stay take enough of the run to act on."""
    worst = costliest((solve.matrix.name, solve) for solve in _solves(run))
    if not worst:
        return passed("No matrix was seen to be factorized again while it stays as it is.")
    lines = [one.line for one in worst]
    gain = saved_at_most(run.results, lines)
    status = thresholds.deserved(gain)
    if not status.is_fault:
        return passed("Solves whose matrix stays as it is take little of the run.")
    first, who = worst[0], wording.called(worst[0].line.site.frame)
    name, told = first.matrix.name, {id(one.matrix): one.matrix for one in worst}.values()
    looks, most = sum(one.looks for one in told), max(one.contents for one in told)
    held = "the same" if most == 1 else f"one of {most}"
    saving = wording.saving(run.results, gain.seconds, is_bound=True)
    return Finding(
        status=status,
        title=f"{who} factorizes `{name}` again in each solve",
        summary=(
            f"{first.function} factorizes its matrix, and then substitutes. In {looks} looks at "
            f"these calls `{name}` was {held}, while the right-hand side changed. Factorized "
            f"once, with the factors kept, only the substitution is left: it would save {saving}, "
            "less what substituting takes."
        ),
        gain=gain,
        confidence=Confidence.MEDIUM,
        ranks=ranks_of(lines),
        where=frames_of(lines),
        evidence=(
            Evidence(f"Looks at `{name}` in these lines", looks),
            Evidence("Different contents of it", most),
            Evidence("It is", shape_of(first.matrix)),
            *seen_on(lines),
        ),
        actions=(_action(first, most),),
        overlaps=("repeated_work",),
    )


def _solves(run: Facts) -> Iterator[Solve]:
    """Hot lines whose time is a library's solve, with a matrix that other looks saw as well."""
    known: dict[Frame, tuple[str, float]] = {}
    seen = _seen(run)
    for line in run.hot_lines:
        frame, matrix = line.site.frame, _matrix(line, seen)
        if matrix is None:
            continue
        if frame not in known:
            known[frame] = _solver(run, frame)
        name, share = known[frame]
        if name:
            yield Solve(replace(line, seconds=line.part_s * share), name, matrix)


def _solver(run: Facts, frame: Frame) -> tuple[str, float]:
    """The solver that most samples of a line are in, and their share; "" where it is none."""
    ranks = run.results.trace.ranks
    name, most = run.line_samples.mostly_in(ranks, frame)
    if name is None or not SOLVERS.fullmatch(name.rpartition(".")[2]):
        return "", 0.0
    whole = sum(run.line_samples.counts(rank, [frame])[0] for rank in ranks)
    return name, min(1.0, most / whole) if whole else 0.0


def _seen(run: Facts) -> Mapping[tuple[Function, str], Sequence[Operand]]:
    """Each name in each function, at whichever line and on whichever rank."""
    sites = {id(line.site): line.site for line in run.hot_lines}  # ranks share what they tell
    found: defaultdict[tuple[Function, str], list[Operand]] = defaultdict(list)
    for site in sites.values():
        for one in site.operands:
            found[site.frame.key, one.name].append(one)
    return found


def _matrix(
    line: HotLine, seen: Mapping[tuple[Function, str], Sequence[Operand]]
) -> Operand | None:
    """The largest operand, if it stays, or is one of few, while another one changes."""
    if not line.site.operands:
        return None
    matrix, *others = sorted(line.site.operands, key=lambda one: -one.elements)
    if not _stays(seen[line.function, matrix.name]):
        return None
    return matrix if any(_changes(one) for one in others) else None


def _stays(told: Sequence[Operand]) -> bool:
    """Whether looks found the same again, several times and mostly."""
    looks, contents = sum(one.looks for one in told), sum(one.contents for one in told)
    again = looks - contents
    return again >= FEWEST_LOOKS and again >= MAIN * looks and all(one.contents for one in told)


def _changes(one: Operand) -> bool:
    """Whether it was mostly another one."""
    return one.contents > MAIN * one.looks and one.contents > 1


def _action(solve: Solve, contents: int) -> str:
    library, _, function = solve.function.rpartition(".")
    key = function if function in ACTION else "torch" if library == "torch" else ""
    name = solve.matrix.name
    each = "" if contents == 1 else f", for each of the {contents} that come by turns"
    return (
        f"Factorize `{name}` once where it is made{each}, keep the factors, and only substitute "
        f"in {wording.called(solve.line.site.frame)}: {ACTION[key].format(name)}."
    )


DIAGNOSIS = Diagnosis(
    id="factorized_anew",
    title="A matrix is factorized again in each solve",
    description=(
        "Lines whose samples lie in a direct solver of a linear system, with looks at what they "
        "take: where the matrix is the same each time, or one of a few that come by turns, and the "
        "right-hand side is not, factorizing it once leaves only the substitution."
    ),
    judge=judge,
    applies=has_operands,
    intact=RANK_BY_RANK,
    passed="No matrix was seen to be factorized again while it stays as it is",
    evidence="looks at the matrix, its different contents, and its shape",
    gain_from="upper bound: the time of the solver in these lines on the rank that spends most",
    rank=280,
    of_work=True,
    references=("G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., 2013, chapter 3.2",),
)
