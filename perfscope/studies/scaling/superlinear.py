"""Sizes whose speed-up is above ideal, with the factors that it is the product of, and why."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope.schema.scaling import Superlinear
from perfscope.studies.scaling.pop_table import PopTable
from perfscope.studies.scaling.series import Axis, Point

SUPERLINEAR = 1.02  # efficiency above which a speed-up is more than noise above ideal


def superlinear(
    points: Sequence[Point], axis: Axis, efficiencies: Sequence[float | None], table: PopTable
) -> tuple[Superlinear, ...]:
    """The sizes whose efficiency is above ideal, of one efficiency by size."""
    found = []
    for point, efficiency, column in zip(points, efficiencies, table.columns, strict=True):
        if efficiency is None or efficiency <= SUPERLINEAR:
            continue
        own = column.parallel_efficiency.value
        first = table.columns[0].parallel_efficiency.value
        row = Superlinear(
            size=point.size,
            efficiency=efficiency,
            computation=column.computation_scalability.value,
            parallel_ratio=own / first if own is not None and first else None,
            ipc=column.ipc_scalability.value,
            instructions=column.instruction_scalability.value,
            frequency=column.frequency_scalability.value,
            sentence="",
        )
        found.append(replace(row, sentence=_why(axis, row)))
    return tuple(found)


def _why(axis: Axis, found: Superlinear) -> str:
    """Why a size is faster than ideal."""
    text = f"{axis.count(found.size)} are faster than ideal (efficiency {found.efficiency:.3f})"
    if axis is not Axis.RANKS:
        return f"{text}; computation scalability, which would explain it, counts ranks."
    if found.computation is None:
        return f"{text}; computation scalability, which would explain it, is not known."
    text += f": computation scalability {found.computation:.3f} x change of parallel efficiency "
    if found.parallel_ratio is None:
        text += "that is not known, as no communication of one of the two sizes was traced."
    else:
        text += f"{found.parallel_ratio:.3f}."
    if found.computation > 1:
        text += " The ranks together computed for a shorter time than at the smallest size"
        factors = (("IPC", found.ipc), ("instructions", found.instructions))
        known = [f"{name} {value:.3f}" for name, value in factors if value is not None]
        if known and found.frequency is not None:
            return f"{text}: {', '.join(known)}, frequency {found.frequency:.3f}."
        return (
            f"{text}. Usually the data of a rank then fit into a cache, less work was done, or the "
            "smallest run was disturbed; counters would tell (IPC and instructions)."
        )
    return f"{text} The smallest size lost more in communication or imbalance."
