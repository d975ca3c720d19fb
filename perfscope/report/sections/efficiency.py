"""The efficiency tree: what each factor says, and how they multiply."""

from __future__ import annotations

from perfscope.report.access import Document, figure, mapping, number
from perfscope.report.formats import percent, ratio
from perfscope.report.labels import band, focus_words, formula_words, useful_words
from perfscope.report.sections.section import Context, Section
from perfscope.schema.efficiency import EFFICIENCIES

SPLIT = {
    "input": "input wait",
    "evaluation": "evaluation",
    "checkpoint": "checkpoints",
    "io": "file I/O",
    "device_wait": "waiting for a device",
    "other": "other computation",
}


def _context(document: Document) -> Context:
    headline = figure(document, "metrics", "parallel_efficiency")
    split = mapping(document, "metrics", "productive_split")
    return {
        "root": node(mapping(document, "metrics"), "training_efficiency"),
        "useful": useful_words(headline.useful),
        "focus": focus_words(headline.focus),
        "formula": formula_words(headline.formula),
        "takeaway": _takeaway(document),
        "split": [
            f"{SPLIT.get(name, name)} {percent(share)}"
            for name, value in split.items()
            if (share := number(value))
        ],
    }


def node(metrics: object, identity: str) -> Context:
    """One node of the tree with its children, from an object that holds the metrics."""
    word = EFFICIENCIES[identity]
    own = figure(metrics, identity)
    return {
        "label": word.label,
        "meaning": word.meaning,
        "value": None if own.value is None else ratio(own.value),
        "width": None if own.value is None else round(min(max(own.value, 0.0), 1.0) * 100, 2),
        "band": band(own.value),
        "reason": own.reason,
        "formula": _formula(metrics, identity),
        "children": [node(metrics, child) for child in word.children],
    }


def _formula(metrics: object, identity: str) -> str:
    """The product that makes this node, in numbers; "" when a factor is missing."""
    word = EFFICIENCIES[identity]
    figures = [figure(metrics, identity), *(figure(metrics, child) for child in word.children)]
    if not word.children or not all(found.is_measured for found in figures):
        return ""
    own, *factors = (ratio(found.value) for found in figures)
    return f"{own} = {' × '.join(factors)}"


def _takeaway(document: Document) -> str:
    leaves = {
        word.label: value
        for word in EFFICIENCIES.values()
        if not word.children and (value := figure(document, "metrics", word.id).value) is not None
    }
    if not leaves:
        return ""
    label = min(leaves, key=lambda name: leaves[name])
    if leaves[label] >= 0.95:
        return "No factor loses more than a twentieth of the time"
    return f"Lowest factor: {label.lower()}, {ratio(leaves[label])}"


SECTION = Section("efficiency", "Efficiency", "efficiency.html", _context, is_folded=True)
