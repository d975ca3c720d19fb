"""What time is lost to at each size, and the law by which each loss grows."""

from collections.abc import Sequence
from statistics import median

from perfscope.schema.scaling import ScaledLoss
from perfscope.structures import dataclass
from perfscope.studies.common import spent
from perfscope.studies.common.run import StudyRun
from perfscope.studies.common.spent import LEAST_SHARE, MOST_LOSSES
from perfscope.studies.scaling.growth import Growth
from perfscope.studies.scaling.laws import model_of, sizes_of
from perfscope.studies.scaling.models import fitted
from perfscope.studies.scaling.series import Point


@dataclass(frozen=True)
class _Piece:
    label: str
    seconds: float  # of a mean rank
    share: float


_NOTHING = _Piece("", 0.0, 0.0)


def scaled_losses(points: Sequence[Point], grown: Growth) -> tuple[ScaledLoss, ...]:
    """Training work first, then the losses that are largest at the largest size.

    Empty where a run has no loss account.
    """
    found = [[_pieces(run) for run in point.runs] for point in points]
    if not all(pieces for runs in found for pieces in runs):
        return ()
    labels = {name: piece.label for runs in found for own in runs for name, piece in own.items()}
    rows = []
    for name, label in labels.items():
        here = [[own.get(name, _NOTHING) for own in runs] for runs in found]
        rows.append(_row(name, label, here, points, grown))
    training, *losses = rows
    told = [row for row in losses if max(row.shares) >= LEAST_SHARE]
    return (training, *sorted(told, key=lambda row: -row.seconds[-1])[:MOST_LOSSES])


def _pieces(run: StudyRun) -> dict[str, _Piece]:
    """By id what a run spent its time on, without what happens once."""
    parts = [part for part in spent.losses(run) if not part.is_once]
    whole = sum(part.seconds for part in parts)
    return {
        part.id: _Piece(
            part.label, run.of_mean_rank(part.seconds), part.seconds / whole if whole else 0.0
        )
        for part in parts
    }


def _row(
    name: str, label: str, found: Sequence[Sequence[_Piece]], points: Sequence[Point], grown: Growth
) -> ScaledLoss:
    values = [[piece.seconds for piece in runs] for runs in found]
    return ScaledLoss(
        name,
        label,
        seconds=tuple(median(group) for group in values),
        shares=tuple(median(piece.share for piece in runs) for runs in found),
        model=fitted(model_of(sizes_of(points, grown), values)),
    )
