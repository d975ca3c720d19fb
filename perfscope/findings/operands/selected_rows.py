"""Rows that a layer computes, of which only some are selected behind it."""

from collections.abc import Mapping
from typing import Any

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, passed
from perfscope.findings.facts.backward_passes import has_passes
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.shorter_phases import without_share
from perfscope.metrics.results import Results
from perfscope.schema.enums import Confidence, PhaseKind
from perfscope.structures import dataclass
from perfscope.trace.counts import whole
from perfscope.trace.model import Frame
from perfscope.trace.operands import MOST_AXES, frame_of
from perfscope.units import counted, format_share


@dataclass(frozen=True)
class _Selected:
    """What a rank's backward passes were seen to compute and drop, on average."""

    rank: int
    looks: int
    rows: int
    used: int
    layer: tuple[int, ...]  # shape of the parameters of the last layer
    share: float  # of the passes that were looked at, for rows that are dropped


def judge(run: Facts) -> Outcome:
    """How much of the passes goes to rows that are dropped, and what it costs."""
    results = run.results
    found = [one for rank in results.trace.ranks if (one := _of(rank.number, rank.frameworks))]
    if not found:
        return passed("No layer was seen to compute rows that a selection behind it drops.")
    passes = [phase for phase in results.phases if phase.kind is PhaseKind.BACKWARD]
    worst = max(found, key=lambda one: one.share)
    gain = without_share(run, passes, {one.rank: _both_ways(one.share) for one in found})
    status = thresholds.deserved(gain)
    if not status.is_fault:
        return passed(
            f"Rows that a layer computes and nothing reads take {format_share(worst.share)} of the "
            "backward passes at most."
        )
    where = _where(results)
    saving = wording.saving(results, gain.seconds, is_bound=gain.is_bound)
    return Finding(
        status=status,
        title=f"Of {worst.rows:,} rows that a layer computes, the loss needs {worst.used:,}",
        summary=(
            f"In the {counted(worst.looks, 'backward pass', 'backward passes')} that were looked "
            f"at, all that takes the result of a layer of {_shape(worst)} parameters selects "
            f"{worst.used:,} of its {worst.rows:,} rows. {format_share(worst.share)} of the time "
            "of these passes went to the others, whose gradients are zero; forwards a layer takes "
            f"half as long as backwards. Unless the program reads the others as well, computing "
            f"only those that are selected would save {saving}."
        ),
        gain=gain,
        confidence=Confidence.MEDIUM,
        ranks=tuple(one.rank for one in found),
        where=(where,) if where else (),
        evidence=tuple(map(_evidence, found)),
        actions=(_action(where, worst),),
        overlaps=("unused_gradients", "alike_operations"),
    )


def _both_ways(share: float) -> float:
    """With what a layer takes forwards, for one product where it takes two backwards."""
    return min(share + share / 2, 1.0)


def _shape(one: _Selected) -> str:
    return " × ".join(f"{size:,}" for size in one.layer)


def _evidence(one: _Selected) -> Evidence:
    told = f"{format_share(one.share)} ({one.used:,} of {one.rows:,} rows are used)"
    return Evidence(f"Of the backward pass of rank {one.rank}, for rows that are dropped", told)


def _action(where: Frame | None, worst: _Selected) -> str:
    at = f"At {wording.place(where)}: select" if where else "Select"
    return (
        f"{at} the rows that are used from what the layer of {_shape(worst)} parameters is given, "
        "and not from its result (`layer(x[:, -1])` in place of `layer(x)[:, -1]`): each row of "
        "the result is made of one row."
    )


def _where(results: Results) -> Frame | None:
    """The call whose result loses rows, where the program's files hold a single one."""
    for rank in results.trace.ranks:
        places = rank.metadata.get("selections")
        if isinstance(places, list) and len(places) == 1:
            return frame_of(places[0])
    return None


def _of(rank: int, frameworks: Mapping[str, Mapping[str, Any]]) -> _Selected | None:
    told = frameworks.get("torch", {}).get("selected_rows")
    if not isinstance(told, Mapping):
        return None
    names = "looks", "rows", "used", "chain_ns", "whole_ns"
    looks, rows, used, part, spent = (whole(told.get(name)) for name in names)
    layer = told.get("layer")
    if not looks or not 0 < used < rows or not 0 < part <= spent or not isinstance(layer, list):
        return None
    share = (1.0 - used / rows) * part / spent
    sizes = tuple(map(whole, layer[:MOST_AXES]))
    return _Selected(rank, looks, round(rows / looks), max(round(used / looks), 1), sizes, share)


DIAGNOSIS = Diagnosis(
    id="selected_rows",
    title="A layer computes rows that a selection behind it drops",
    description=(
        "The graphs of a few backward passes of PyTorch on CPUs are walked before they begin. "
        "Where all that takes the result of a layer only selects rows of it (`layer(x)[:, -1]`), "
        "the others were computed for nothing, forwards and backwards, as were those of layers "
        "before it that make each row of one row alone. A line is named where the program's files "
        "hold a single call of a `Linear` layer whose result is only read to select from it."
    ),
    judge=judge,
    applies=has_passes,
    intact=RANK_BY_RANK,
    passed="No layer was seen to compute rows that a selection behind it drops",
    evidence="how many rows are computed and used, and the share of the backward passes",
    gain_from="replay of backward passes shorter by one and a half times that share",
    rank=273,
    of_work=True,
    references=(
        "PyTorch, autograd mechanics: https://docs.pytorch.org/docs/stable/notes/autograd.html",
    ),
)
