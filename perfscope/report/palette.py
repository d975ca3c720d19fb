"""The roles that color charts; the style sheet has a fill f-ROLE and a stroke s-ROLE for each."""

from perfscope.schema.enums import Account, Activity, LossKind
from perfscope.schema.time import SMALLER_CAUSE
from perfscope.structures import dataclass

ACCOUNT_ROLES = tuple(account.value for account in Account)
SERIES_ROLES = tuple(f"series-{n}" for n in range(1, 9))
PHASE_ROLES = tuple(f"phase-{n}" for n in range(1, 9))  # the series' colors, with patterns


@dataclass(frozen=True)
class Fill:
    """A pattern over a color: a mark that is repeated in squares of a size, turned by degrees."""

    role: str
    shade: str  # the role of its color
    size: int
    path: str
    turn: int = 0


_SHADES = tuple(f"lost-{n}" for n in range(1, 5))
_MARKS = (
    (7, "", 0),  # none
    (7, "M0 0h2v7h-2z", 45),
    (7, "M2 2h3v3h-3z", 0),
    (6, "M0 0h2v6h-2z", 135),
    (6, "M0 0h6v2h-6z", 0),
    (8, "M0 0h8v1.5h-8zM0 0h1.5v8h-1.5z", 0),
    (6, "M0 0h2v6h-2z", 0),
    (8, "M0 0h4v4h-4zM4 4h4v4h-4z", 0),
    (8, "M4 0l4 4l-4 4l-4-4z", 0),
)
_CAUSES = tuple(one.value for kind in (LossKind, Activity) for one in kind)
LOST_FILLS = {
    cause: Fill(f"lost-{cause}", _SHADES[place % len(_SHADES)], *_MARKS[place // len(_SHADES)])
    for place, cause in enumerate((*dict.fromkeys(_CAUSES), SMALLER_CAUSE))
}
"""What shows a loss, by its cause: the same on every page, and of no two causes the same.

Those of a kind stand together: of neighbors, the colors differ in lightness.
"""


def lost_rules() -> str:
    """The style sheet's rules of these: a page has the patterns that it shows."""
    return "".join(
        f".f-{one.role} {{ fill: url(#p-{one.role}); }}\n" for one in LOST_FILLS.values()
    )


def used_fills(html: str) -> list[Fill]:
    """The patterns of losses that something shows."""
    return [one for one in LOST_FILLS.values() if f'f-{one.role}"' in html]
