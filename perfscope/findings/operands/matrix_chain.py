"""Products of matrices that are formed only to be multiplied by a vector."""

from collections.abc import Iterator, Sequence
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
from perfscope.metrics.host.hot_lines import HotLine
from perfscope.schema.enums import Confidence
from perfscope.structures import dataclass
from perfscope.trace.operands import Multiplied, Operand, WorkedOn
from perfscope.units import format_share

ACTION = (
    "In {where}: multiply from the side of `{by}`, so that no product of two matrices is formed: "
    "{now} becomes {then}. What scales rows or columns in between goes to the vector that is "
    "there then, as a diagonal matrix would."
)


@dataclass(frozen=True)
class Chain:
    """A line that multiplies three factors in the dearer order."""

    line: HotLine
    told: Multiplied
    factors: tuple[Operand, Operand]
    share: float  # of its multiplications, those that the other order does not need

    @property
    def orders(self) -> tuple[str, str]:
        """Both orders, as a program writes them."""
        left, right = (_named(names) for names in (self.told.left, self.told.right))
        by = self.told.by
        if self.told.is_first:
            return f"`({left} @ {right}) @ {by}`", f"`{left} @ ({right} @ {by})`"
        return f"`{by} @ ({left} @ {right})`", f"`({by} @ {left}) @ {right}`"


def judge(run: Facts) -> Outcome:
    """Whether products that the other order does not need take enough of the run to act on."""
    worst = costliest((chain.line.site.frame, chain) for chain in _chains(run))
    if not worst:
        return passed("No product of matrices was seen that another order does not need.")
    lines = [one.line for one in worst]
    gain = saved_at_most(run.results, lines)
    status = thresholds.deserved(gain)
    if not status.is_fault:
        return passed("Products of matrices that another order does not need take little time.")
    first = worst[0]
    frame, (now, then) = first.line.site.frame, first.orders
    saving = wording.saving(run.results, gain.seconds, is_bound=True)
    matrices = {one.name: one for one in first.factors}
    share = format_share(first.share)
    return Finding(
        status=status,
        title=f"{wording.place(frame)} multiplies two matrices where `{first.told.by}` alone is "
        "to be multiplied by both",
        summary=(
            f"{now} forms the product of the matrices each time. The other order, {then}, does "
            f"without {share} of the multiplications, and yields the same but for rounding: it "
            f"would save {saving}. A product that is used more often than "
            "it has columns is better formed once, and kept."
        ),
        gain=gain,
        confidence=Confidence.MEDIUM,
        ranks=ranks_of(lines),
        where=frames_of(lines),
        evidence=(
            *(Evidence(f"`{one.name}` is", shape_of(one)) for one in matrices.values()),
            Evidence(f"`{first.told.by}` is", " × ".join(map(str, first.told.by_shape))),
            Evidence("Multiplications that the other order does not need", share),
            *seen_on(lines),
        ),
        actions=(ACTION.format(where=wording.place(frame), by=first.told.by, now=now, then=then),),
        overlaps=("repeated_work",),
    )


def _named(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"({' … '.join(names)})"


def _chains(run: Facts) -> Iterator[Chain]:
    """Hot lines whose product is dearer than multiplying from the other side."""
    for line in run.hot_lines:
        told = line.site.multiplied
        factors = None if told is None else _matrices(line.site, told)
        if told is None or factors is None:
            continue
        share = _spared(factors[0].shape, factors[1].shape, told)
        if share > 0.0:
            less = replace(line, seconds=line.part_s * share)
            yield Chain(less, told, factors, share)


def _matrices(site: WorkedOn, told: Multiplied) -> tuple[Operand, Operand] | None:
    """The matrices of both factors, which are as large as the largest that they are made of."""
    found = []
    for names in (told.left, told.right):
        own = [one for one in site.operands if one.name in {_stored(name) for name in names}]
        if not own or max(len(one.shape) for one in own) != 2:
            return None
        found.append(max(own, key=lambda one: (len(one.shape), one.elements)))
    return found[0], found[1]


def _stored(name: str) -> str:
    """The variable behind a name: `feats` of `feats.T`, as looks tell it."""
    return name.removesuffix(".T")


def _spared(left: tuple[int, ...], right: tuple[int, ...], told: Multiplied) -> float:
    """What share of the multiplications the other order does not need; 0 where it needs more.

    A transposed matrix is told as it is stored, and so each axis may be the one that both have: of
    what fits, the least counts.
    """
    size = 1
    for one in told.by_shape:
        size *= one
    found = []
    for common in {*left} & {*right}:
        rows, columns = _other(left, common), _other(right, common)
        inner, outer = (columns, rows) if told.is_first else (rows, columns)
        if len(told.by_shape) > 2 or inner not in told.by_shape:
            continue
        width = size // inner
        now = rows * common * columns + rows * columns * width
        then = common * inner * width + outer * common * width
        found.append(max(0.0, 1.0 - then / now) if now else 0.0)
    return min(found, default=0.0)


def _other(shape: tuple[int, ...], common: int) -> int:
    return shape[1] if shape[0] == common else shape[0]


DIAGNOSIS = Diagnosis(
    id="matrix_chain",
    title="Matrices are multiplied where a vector would do",
    description=(
        "Looks at products of matrices whose result is multiplied at once by something smaller, "
        "as a vector (`a @ b @ v`), and counts the multiplications of both orders by the shapes "
        "of all three: `a @ (b @ v)` forms no matrix."
    ),
    judge=judge,
    applies=has_operands,
    intact=RANK_BY_RANK,
    passed="No product of matrices was seen that another order does not need",
    evidence="the shapes of all three, and the share of multiplications that are not needed",
    gain_from=(
        "upper bound: that share of the time of the product, on the rank that spends most in it"
    ),
    rank=276,
    of_work=True,
    references=(
        "T. H. Cormen et al., Introduction to Algorithms, 4th ed., 2022, ch. 14.2 (matrix chains)",
    ),
)
