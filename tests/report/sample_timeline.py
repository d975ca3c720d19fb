"""A made-up timeline for documents of the report's tests: steps, waits, and one evaluation."""

from string import ascii_lowercase

from perfscope.schema.enums import Account
from tests.report import sample_parts as parts
from tests.report.sample_parts import Json, Shape

TRAINING, EVALUATION, WAIT, TRANSFER, NOBODY = "acef."
MOST_ROWS = 64


def timeline(shape: Shape, window_s: float) -> Json:
    """Rank 0 evaluates in the second half of the run while others wait; the last one ends early."""
    ranks = list(range(shape.ranks))
    if shape.ranks > MOST_ROWS:
        ranks = [n * (shape.ranks - 1) // (MOST_ROWS - 1) for n in range(MOST_ROWS)]
    levels = (256, 2048, 16384)[: 3 if shape.ranks <= 16 else 2]
    return {
        "reason": None,
        "start_s": 1.2,
        "length_s": window_s,
        "accounts": _accounts(),
        "rows": [{"rank": rank, "host": parts.host(rank, shape)} for rank in ranks],
        "ranks_left_out": shape.ranks - len(ranks),
        "levels": [
            {
                "bins": bins,
                "bin_s": window_s / bins,
                "rows": [row(rank, bins, shape) for rank in ranks],
            }
            for bins in levels
        ],
    }


def row(rank: int, bins: int, shape: Shape) -> str:
    """The letters of one rank."""
    step = TRAINING * 13 + WAIT * (1 + rank % 2) + TRANSFER * (2 - rank % 2)
    cells = step * (bins // len(step))
    if shape.evaluation_s:
        first, behind = bins // 2, bins * 5 // 8
        own = EVALUATION if rank == 0 else WAIT
        cells = cells[:first] + own * (behind - first) + cells[behind:]
    if rank == shape.ranks - 1 > 0:
        gone = bins // 32
        cells = cells[: bins - gone] + NOBODY * gone
    return cells


def _accounts() -> list[Json]:
    return [
        {"letter": letter, "id": account.value, "label": account.label}
        for letter, account in zip(ascii_lowercase, Account, strict=False)
    ]
