"""Bandwidth of collectives, and what other ways of doing them would take."""

from collections.abc import Callable, Sequence

from perfscope.report.formats import bytes_, count, percent, seconds
from perfscope.report.sections.section import Context
from perfscope.report.table import Column, Kind, Table
from perfscope.schema.common import CostLine
from perfscope.schema.communication import AllreduceModel, CollectiveCost, CollectiveFit, Fusion
from perfscope.units import format_bandwidth

MOST_CLASSES = 20
WAYS = (
    ("Ring", "ring_s"),
    ("Recursive doubling", "recursive_doubling_s"),
    ("Rabenseifner", "rabenseifner_s"),
    ("Tree", "tree_s"),
    ("Hierarchical", "hierarchical_s"),
    ("Hierarchical, put", "hierarchical_put_s"),
)
MOST_TORI = 16
UNFIT = "no straight line fits the times of these calls by size"
MOST_FIT_ERROR = 0.5  # typical, of the seconds of a call


def collective_cost(cost: CollectiveCost | None) -> Context | None:
    """What the section shows of it; None where no collective of known size was recorded."""
    if cost is None or not cost.classes:
        return None
    models = cost.allreduce
    size = bytes_(models[0].size_bytes) if models else ""
    measured = seconds(cost.allreduce_measured_s)
    fits = [line for fit in cost.fits for line in _fit(fit)]
    return {
        "classes": Table(
            "bandwidth",
            "Collectives by size: median from the last arrival to the last exit",
            CLASSES,
            sorted(cost.classes, key=lambda row: -row.calls * row.seconds),
            MOST_CLASSES,
            "sizes",
            more=cost.classes_left_out,
        ),
        "fits": Table("latency-bandwidth", "Latency and bandwidth", FITS, fits),
        "reason": cost.reason or ("" if fits else UNFIT),
        "predictions": Table(
            "allreduce-ways",
            f"Models of an allreduce of {size}, by algorithm; measured: {measured}",
            PREDICTIONS,
            models,
        ),
        "assumptions": cost.assumptions,
        "tori": Table(
            "tori",
            f"Seconds of an allreduce of {size} on every torus of so many ranks",
            TORI,
            [model for model in models if model.tori],
        ),
        "fusion": _fusion(cost.fusion) if cost.fusion else None,
    }


def _fit(fit: CollectiveFit) -> list[Context]:
    """One line for each piece, from the smallest sizes on."""
    pieces: Sequence[CostLine | CollectiveFit] = fit.pieces or (fit,)
    edges = (fit.least_bytes, *fit.pieces_meet_at_bytes, fit.most_bytes)
    return [
        {
            "name": fit.name,
            "ranks": fit.ranks,
            "sizes": f"{bytes_(low)} to {bytes_(high)}",
            "latency": _with_interval(piece.latency_s, piece.latency_interval_s, seconds),
            "rate": _with_interval(piece.bytes_per_s, piece.bytes_per_s_interval, format_bandwidth),
            "error": piece.typical_error,
        }
        for piece, low, high in zip(pieces, edges, edges[1:], strict=False)
        if _holds(piece)
    ]


def _holds(piece: CostLine | CollectiveFit) -> bool:
    """Whether a line fits its calls: one that misses them by half tells nothing, as no slope."""
    return piece.bytes_per_s is not None and piece.typical_error <= MOST_FIT_ERROR


def _with_interval(
    value: float | None,
    interval: tuple[float | None, float | None],
    shown: Callable[[float | None], str],
) -> str:
    """A value and, in brackets, its interval."""
    low, high = interval
    spread = f"{shown(low)} or more" if high is None else f"{shown(low)} to {shown(high)}"
    return f"{shown(value)} ({spread})"


def _fusion(found: Fusion) -> Context:
    """What one allreduce in place of several would save."""
    return {
        "calls": count(found.calls),
        "groups": count(found.groups),
        "most": bytes_(found.most_bytes),
        "seconds": seconds(found.seconds),
        "latency": seconds(found.latency_s),
        "saved": seconds(found.saved_s),
        "is_dominant": found.is_dominant,
    }


def _fastest_torus(model: AllreduceModel) -> str | None:
    torus = model.torus
    return f"{seconds(torus.seconds)} ({torus.x} × {torus.y})" if torus else None


def _tori(model: AllreduceModel) -> str:
    """Every shape of the torus at one number of ranks."""
    cells = [f"{torus.x} × {torus.y}: {seconds(torus.seconds)}" for torus in model.tori]
    left = len(cells) - MOST_TORI
    return ", ".join(cells[:MOST_TORI]) + (f", and {left} more" if left > 0 else "")


CLASSES = (
    Column("Operation", "name", kind=Kind.CODE, longest=40),
    Column("Ranks", "ranks", count),
    Column("Size", "size_bytes", bytes_),
    Column("Calls", "calls", count),
    Column("Time", "seconds", seconds),
    Column("Size / time", "algorithm_bytes_per_s", format_bandwidth),
    Column("Bus bandwidth", "bus_bytes_per_s", format_bandwidth),
    Column("Of the best here", "of_best", percent),
)
FITS = (
    Column("Operation", "name", kind=Kind.CODE, longest=40),
    Column("Ranks", "ranks", count),
    Column("Sizes", "sizes"),
    Column("Latency (95 %)", "latency"),
    Column("Bandwidth (95 %)", "rate"),
    Column("Typical error", "error", percent),
)
PREDICTIONS = (
    Column("Ranks", "ranks", count),
    *(Column(label, key, seconds) for label, key in WAYS),
    Column("Fastest 2D torus", _fastest_torus),
)
TORI = (Column("Ranks", "ranks", count), Column("X × Y: time", _tori, kind=Kind.TEXT, longest=600))
