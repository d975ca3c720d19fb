"""Makes matplotlib's SVG part of the page: classes for colors, no styles, no dates."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from markupsafe import Markup, escape

from perfscope.schema.enums import Account

ACCOUNT_ROLES = tuple(account.value for account in Account)
SERIES_ROLES = tuple(f"series-{n}" for n in range(1, 9))
PHASE_ROLES = tuple(f"phase-{n}" for n in range(1, 9))  # the series' colors, with patterns
ROLES = ("ink", "muted", "grid", "band", "band-inner", *SERIES_ROLES, *PHASE_ROLES, *ACCOUNT_ROLES)
_FIRST_SENTINEL = 0xA5_10_00
_SENTINELS = {f"#{_FIRST_SENTINEL + n:06x}": role for n, role in enumerate(ROLES)}
_COLORS = {role: color for color, role in _SENTINELS.items()}
_KEPT_PROPERTIES = frozenset(
    {
        "stroke-width",
        "stroke-dasharray",
        "stroke-linecap",
        "text-anchor",
        "font-size",
        "font-weight",
    }
)
_DROPPED_ELEMENTS = frozenset({"metadata", "style"})
_DECIMALS = re.compile(r"-?\d+\.\d+")
_NO_TURN = re.compile(r"rotate\(-?0 ")
_SPACE = re.compile(r"\s+")


def color(role: str) -> str:
    """The stand-in color that matplotlib draws with for a role of the page's palette."""
    return _COLORS[role]


def inline(svg: str, *, prefix: str, label: str) -> Markup:
    """The drawing as an inline SVG element without ids, styles or fixed colors.

    Args:
        svg: what matplotlib wrote; colors are those of `color`.
        prefix: makes the ids unique within the page.
        label: the text alternative.
    """
    root = ET.fromstring(svg)
    names = {
        reference: f"{prefix}-{n}" for n, reference in enumerate(dict.fromkeys(_references(root)))
    }
    body = "".join(_element(child, names) for child in root)
    return Markup('<svg class="chart" role="img" aria-label="{}" viewBox="{}">{}</svg>').format(
        label, root.get("viewBox", ""), Markup(body)
    )


def _references(root: ET.Element) -> Iterator[str]:
    for element in root.iter():
        for name, value in element.attrib.items():
            if _local(name) == "href" and value.startswith("#"):
                yield value[1:]


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _element(element: ET.Element, names: dict[str, str]) -> str:
    tag = _local(element.tag)
    if tag in _DROPPED_ELEMENTS:
        return ""
    inner = escape(element.text or "") if tag == "text" else ""
    inner += Markup("").join(Markup(_element(child, names)) for child in element)
    attributes = _attributes(element, names)
    holds_marker = tag == "defs" and any(_local(child.tag) == "path" for child in element)
    if tag in ("g", "defs") and not (attributes and inner) and not holds_marker:
        return inner
    return f"<{tag}{attributes}>{inner}</{tag}>"


def _attributes(element: ET.Element, names: dict[str, str]) -> str:
    out: dict[str, str] = {}
    for qualified, value in element.attrib.items():
        name = _local(qualified)
        if name == "style":
            out |= _from_style(value)
        elif name == "id":
            if value in names:
                out["id"] = names[value]
        elif name == "href":
            out["href"] = "#" + names.get(value[1:], "")
        elif not (name == "transform" and _NO_TURN.match(value)):
            out[name] = _DECIMALS.sub(_rounded, _SPACE.sub(" ", value)).strip()
    return "".join(f' {name}="{escape(value)}"' for name, value in out.items())


def _rounded(match: re.Match[str]) -> str:
    return f"{float(match.group()):.1f}".removesuffix(".0")


def _from_style(style: str) -> dict[str, str]:
    """A style attribute as presentation attributes and classes, which a strict policy allows."""
    out: dict[str, str] = {}
    classes = []
    for declaration in style.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name in ("fill", "stroke"):
            role = _SENTINELS.get(value.lower())
            if role:
                classes.append(f"{name[0]}-{role}")
            else:
                out[name] = "none"
        elif name in _KEPT_PROPERTIES:
            out[name] = value.removesuffix("px")
    if classes:
        out["class"] = " ".join(classes)
    return out
