"""The efficiency tree: what each factor says, and how they multiply."""

from perfscope.report.formats import percent, ratio
from perfscope.report.labels import band, focus_words, formula_words, useful_words
from perfscope.report.sections import whole_run
from perfscope.report.sections.breakdown import OF_WORK
from perfscope.report.sections.section import Context, Section
from perfscope.schema.analysis import Analysis
from perfscope.schema.common import Metric
from perfscope.schema.efficiency import EFFICIENCIES
from perfscope.schema.enums import Account, LossKind, Status
from perfscope.schema.time import Metrics
from perfscope.units import NS_PER_S

NOT_WORK = {
    LossKind.WAITING,
    LossKind.TRANSFER,
    LossKind.COMMUNICATION,
    LossKind.UNKNOWN,
    LossKind.OUTSIDE,
}
"""What parallel efficiency counts as lost already, or not at all."""

OTHER_WORK = "other_work"
"""The check of what processes outside the job used."""

LITTLE_LOST = 0.95
"""Of a factor: it loses a twentieth of the time at most."""

OF_ALL_WORK = {"parallel_efficiency", "training_efficiency"}
"""Their factors compare ranks, or times of one kind, and are what they are."""

IN_STEPS = {Account.TRAINING, None}
"""What is lost there training efficiency counts as training; None is of work that is held up."""

SPLIT = {
    "input": "input wait",
    "evaluation": "evaluation",
    "checkpoint": "checkpoints",
    "io": "file I/O",
    "device_wait": "waiting for a device",
    "other": "other computation",
}


def _context(result: Analysis) -> Context:
    metrics = result.metrics
    headline = metrics.parallel_efficiency
    return {
        "root": node(result, "training_efficiency"),
        "useful": useful_words(headline.useful or ""),
        "focus": focus_words(headline.foa or ""),
        "formula": formula_words(headline.formula or ""),
        "takeaway": ". ".join(filter(None, (_takeaway(metrics), of_others(result)))),
        "whole": whole_run.context(result.whole_run),
        "split": [
            f"{SPLIT.get(name, name)} {percent(share)}"
            for name, share in metrics.productive_split.items()
            if share
        ],
    }


def node(result: Analysis, identity: str) -> Context:
    """One node of the tree with its children; no word rates what counts lost time as useful."""
    metrics, word = result.metrics, EFFICIENCIES[identity]
    own = metric_of(metrics, identity)
    is_unrated = identity in OF_ALL_WORK and is_contradicted(result, identity)
    return {
        "label": word.label,
        "meaning": word.meaning,
        "value": None if own.value is None else ratio(own.value),
        "width": None if own.value is None else round(min(max(own.value, 0.0), 1.0) * 100, 2),
        "band": None if is_unrated else band(own.value),
        "reason": own.reason,
        "formula": _formula(metrics, identity),
        "children": [node(result, child) for child in word.children],
    }


def metric_of(metrics: Metrics, identity: str) -> Metric:
    """One factor of the tree."""
    found = getattr(metrics, identity)
    assert isinstance(found, Metric)
    return found


def is_contradicted(result: Analysis, identity: str) -> bool:
    """Whether an efficiency is in a better band than it would be without what was lost in it.

    Parallel efficiency counts all work as useful, and training efficiency all time in steps: a
    good one says nothing of a run that spends them on something else.
    """
    value = metric_of(result.metrics, identity).value
    is_of_steps = identity == "training_efficiency"
    lost_ns = sum(
        one.own_ns
        for one in result.losses.entries
        if one.kind not in NOT_WORK and (not is_of_steps or one.account in IN_STEPS)
    )
    work_s = sum(one.seconds for one in result.breakdown if one.id == OF_WORK)
    if value is None or not (lost_ns or work_s):
        return False
    lost_share = (lost_ns + work_s * NS_PER_S) / max(result.losses.window_ns, 1)
    return band(value - lost_share) != band(value)


def _formula(metrics: Metrics, identity: str) -> str:
    """The product that makes this node, in numbers; "" when a factor is missing."""
    children = EFFICIENCIES[identity].children
    figures = [metric_of(metrics, name) for name in (identity, *children)]
    if not children or not all(found.is_measured for found in figures):
        return ""
    own, *factors = (ratio(found.value) for found in figures)
    return f"{own} = {' × '.join(factors)}"


def _takeaway(metrics: Metrics) -> str:
    leaves = {
        word.label: value
        for word in EFFICIENCIES.values()
        if not word.children and (value := metric_of(metrics, word.id).value) is not None
    }
    if not leaves:
        return ""
    label = min(leaves, key=lambda name: leaves[name])
    if leaves[label] >= LITTLE_LOST:
        return "No factor loses more than a twentieth of the time"
    return f"Lowest factor: {label.lower()}, {ratio(leaves[label])}"


def of_others(result: Analysis) -> str:
    """That other work on the host is in what ranks lose by communication; "" where it is not."""
    spread = result.metrics.communication_efficiency.value
    is_busy = any(one.id == OTHER_WORK and one.status is Status.WARN for one in result.quality)
    if not is_busy or spread is None or spread >= LITTLE_LOST:
        return ""
    return (
        "Other work on the host is in these efficiencies: a rank without a CPU moves no data, and "
        "the others wait for it"
    )


SECTION = Section("efficiency", "Efficiency", "efficiency.html", _context, is_folded=True)
