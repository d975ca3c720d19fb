"""A made-up timeline, of round times, for the tests of the report: steps, waits, one evaluation."""

from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any

from perfscope.schema.enums import Account

Json = dict[str, Any]
START_S, LENGTH_S = 1.2, 26.9
TRAINING, EVALUATION, WAIT, TRANSFER, NOBODY = "acef."
MOST_ROWS = 64


def timeline(hosts: Sequence[str]) -> Json:
    """Rank 0 evaluates in the second half of the run while others wait; the last one ends early.

    Args:
        hosts: of each rank.
    """
    last = len(hosts) - 1
    ranks = list(range(len(hosts)))
    if last >= MOST_ROWS:
        ranks = [n * last // (MOST_ROWS - 1) for n in range(MOST_ROWS)]
    levels = (256, 2048, 16384)[: 3 if last < 16 else 2]
    return {
        "reason": None,
        "start_s": START_S,
        "length_s": LENGTH_S,
        "accounts": _accounts(),
        "rows": [{"rank": rank, "host": hosts[rank]} for rank in ranks],
        "ranks_left_out": len(hosts) - len(ranks),
        "levels": [
            {
                "bins": bins,
                "bin_s": LENGTH_S / bins,
                "rows": [_row(rank, bins, last) for rank in ranks],
            }
            for bins in levels
        ],
    }


def _row(rank: int, bins: int, last: int) -> str:
    """The letters of one rank."""
    step = TRAINING * 13 + WAIT * (1 + rank % 2) + TRANSFER * (2 - rank % 2)
    cells = step * (bins // len(step))
    first, behind = bins // 2, bins * 5 // 8
    own = EVALUATION if rank == 0 else WAIT
    cells = cells[:first] + own * (behind - first) + cells[behind:]
    if rank == last > 0:
        gone = bins // 32
        cells = cells[: bins - gone] + NOBODY * gone
    return cells


def _accounts() -> list[Json]:
    return [
        {"letter": letter, "id": account.value, "label": account.label}
        for letter, account in zip(ascii_lowercase, Account, strict=False)
    ]
