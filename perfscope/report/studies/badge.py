"""A badge for a README, as SVG made here: no service is asked and nothing is loaded."""

from markupsafe import escape

from perfscope.report.text import shortened, visible
from perfscope.schema.history import History

BADGE_FILE = "badge.svg"
HEIGHT, LETTER, MARGIN = 20, 6.6, 7
LONGEST = 48
# White text has a contrast of at least 5 on each.
COLORS = {"pass": "#1a6338", "fail": "#a8201a", "warn": "#7a4f00", "info": "#1f5592"}
OTHER, LABEL = "#4b5260", "#3a404b"
SIGNS = {"pass": "▲ ", "fail": "▼ "}


def badge_svg(history: History) -> str:
    """The badge of a history: what is measured at the left, its level and last change at the right.

    Better and worse have a sign besides their color.
    """
    found = history.badge
    label = _clean(found.label or "training")
    value = SIGNS.get(found.status, "") + _clean(found.text or "unknown")
    left, right = (round(len(part) * LETTER + 2 * MARGIN) for part in (label, value))
    color = COLORS.get(found.status, OTHER)
    name = escape(f"{label}: {value}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{HEIGHT}" '
        f'role="img" aria-label="{name}"><title>{name}</title>'
        f'<rect width="{left}" height="{HEIGHT}" fill="{LABEL}"/>'
        f'<rect x="{left}" width="{right}" height="{HEIGHT}" fill="{color}"/>'
        f'<g fill="#fff" text-anchor="middle" '
        f'font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">'
        f"{_written(label, left / 2, left)}{_written(value, left + right / 2, right)}</g></svg>\n"
    )


def _clean(value: str) -> str:
    return shortened(visible(value), LONGEST)


def _written(value: str, middle: float, width: int) -> str:
    # the length is fixed, so that another font of the reader does not leave the box
    return (
        f'<text x="{middle:g}" y="14" textLength="{width - 2 * MARGIN}" '
        f'lengthAdjust="spacingAndGlyphs">{escape(value)}</text>'
    )
