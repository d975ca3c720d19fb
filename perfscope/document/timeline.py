"""What each rank did when: the `timeline` object of analysis.json."""

from collections.abc import Mapping, Sequence

import numpy as np

from perfscope.attribution.ledger import ACCOUNTS
from perfscope.attribution.spots import MOST_SPOTS, Spot, Spots
from perfscope.attribution.zoom import NOBODY, Cells
from perfscope.document.account_labels import account_labels
from perfscope.document.breakdown import LostInAccount, loss_label, useful_label
from perfscope.findings.core.finding import place_of
from perfscope.losses.by_bin import FIRST, Told, loss_levels
from perfscope.metrics.results import Results
from perfscope.schema.enums import Account
from perfscope.schema.time import (
    Timeline,
    TimelineAccount,
    TimelineLevel,
    TimelineRow,
    TimelineSpot,
    TimelineSpots,
)
from perfscope.units import NS_PER_S

MOST_STEPS = 1000
LETTERS = "abcdefghijklmn"
"""Of the accounts, in the order of the ledger."""

OF_CAUSES = "opqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Of the causes of losses, those of an account after those of the one before it."""

NOBODY_LETTER = "."
"""Of a bin in which the process was not there."""

_CODES = np.frombuffer((LETTERS + NOBODY_LETTER + OF_CAUSES).encode("ascii"), np.uint8)
assert len(LETTERS) == NOBODY
assert FIRST == NOBODY + 1
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_NAMES = np.array([*(a + b for a in _ALPHABET for b in _ALPHABET), NOBODY_LETTER * 2])
"""Of spots; the last one is where nothing is known."""
assert len(_NAMES) == MOST_SPOTS + 1


def timeline(results: Results, lost: Mapping[Account, Sequence[LostInAccount]]) -> Timeline:
    """What each rank did in each bin of the focus of analysis, or lost, at several zoom levels.

    `lost` is what `breakdown.lost_in_accounts` tells.
    """
    found, ranks = results.zoom, results.trace.ranks
    every = _causes(lost)
    causes = every[: len(OF_CAUSES)]
    told = [Told(account, None if one.is_small else one.cause) for account, one in causes]
    return Timeline(
        reason=None if found else "no rank left a recording of its time",
        start_s=found.start_ns / NS_PER_S if found else 0.0,
        length_s=found.length_ns / NS_PER_S if found else 0.0,
        accounts=_accounts(causes, account_labels(results.trace)),
        rows=tuple(
            TimelineRow(ranks[row].number, ranks[row].host) for row in (found.rows if found else ())
        ),
        ranks_left_out=len(ranks) - len(found.rows) if found else 0,
        levels=tuple(
            TimelineLevel(
                bins=level.cells.shape[1],
                bin_s=level.bin_ns / NS_PER_S,
                rows=tuple(_letters(cells) for cells in level.cells),
            )
            for level in loss_levels(results, told)
        ),
        steps=_steps(results),
        causes_left_out=len(every) - len(causes),
        behind=_behind(results, results.spots) if results.spots else None,
    )


def _causes(
    lost: Mapping[Account, Sequence[LostInAccount]],
) -> list[tuple[Account, LostInAccount]]:
    """The losses of the accounts that have a color of their own: one of each cause."""
    found = {
        (account, one.cause): (account, one) for account, inside in lost.items() for one in inside
    }
    return [*found.values()]


def _accounts(
    causes: Sequence[tuple[Account, LostInAccount]], labels: Mapping[Account, str]
) -> tuple[TimelineAccount, ...]:
    """What the letters of the rows stand for."""
    with_losses = {account for account, _ in causes}
    own = [
        TimelineAccount(
            letter, one.value, useful_label(labels[one]) if one in with_losses else labels[one]
        )
        for letter, one in zip(LETTERS, ACCOUNTS, strict=True)
    ]
    return (
        *own,
        *(
            TimelineAccount(letter, account.value, loss_label(labels[account], one), one.cause)
            for letter, (account, one) in zip(OF_CAUSES, causes, strict=False)
        ),
    )


def _behind(results: Results, found: Spots) -> TimelineSpots:
    """What stands behind the bins of a level."""
    return TimelineSpots(
        bin_s=found.bin_ns / NS_PER_S,
        spots=tuple(_spot(results, one) for one in found.spots),
        rows=tuple("".join(_NAMES[cells].tolist()) for cells in found.cells),
    )


def _spot(results: Results, found: Spot) -> TimelineSpot:
    return TimelineSpot(
        phase=results.phase_ids[found.phase] if found.phase >= 0 else "",
        operation=found.operation,
        awaited_rank=found.awaited,
        where=place_of(results.trace.frames[found.frame]) if found.frame >= 0 else None,
    )


def _steps(results: Results) -> tuple[tuple[int, float], ...]:
    """Number and start of the steps of the first rank, evenly chosen where they are many."""
    found = results.steps
    starts, numbers = found.starts_ns, found.start_numbers
    every = max(-(-len(starts) // MOST_STEPS), 1)
    pairs = zip(numbers[::every].tolist(), (starts[::every] / NS_PER_S).tolist(), strict=True)
    return tuple(pairs)


def _letters(cells: Cells) -> str:
    """One letter for each bin of a row."""
    return _CODES[cells].tobytes().decode("ascii")
