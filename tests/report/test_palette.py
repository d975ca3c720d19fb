"""The palette: readable on its background and told apart by people who see fewer colors."""

import re
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from perfscope.report.palette import ACCOUNT_ROLES, LOST_FILLS, PHASE_ROLES, SERIES_ROLES

REPORT = Path(__file__).parents[2] / "perfscope" / "report"
CSS = (REPORT / "assets" / "report.css").read_text(encoding="utf-8")
PATTERNED = set(
    re.findall(r'pattern\("([\w-]+)"', (REPORT / "templates" / "patterns.html").read_text("utf-8"))
)
# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB
DEFICIENCIES = {
    "none": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.01182, 0.04294, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.3039],
        ]
    ),
}
Color = npt.NDArray[np.float64]


def palettes() -> dict[str, dict[str, Color]]:
    """The linear RGB of every variable of the light and the dark palette."""
    light, dark = re.findall(r"color-scheme: (?:light|dark);\n(.*?)\}", CSS, re.DOTALL)[:2]
    return {
        name: {key: linear(value) for key, value in re.findall(r"--([\w-]+): (#\w{6});", block)}
        for name, block in (("light", light), ("dark", dark))
    }


def linear(value: str) -> Color:
    channels = np.array([int(value[n : n + 2], 16) / 255 for n in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(a: Color, b: Color) -> float:
    weights = np.array([0.2126, 0.7152, 0.0722])
    high, low = sorted((float(weights @ a), float(weights @ b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def difference(a: Color, b: Color) -> float:
    """Euclidean distance in OKLab, times 100."""
    return float(np.linalg.norm(oklab(a) - oklab(b))) * 100


def oklab(color: Color) -> Color:
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    axes = np.array(
        [
            [0.2104542553, 0.793617785, -0.0040720468],
            [1.9779984951, -2.428592205, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.808675766],
        ]
    )
    out: Color = axes @ np.cbrt(np.clip(cones @ color, 0, None))
    return out


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_graphics_stand_out_from_the_card(theme: str) -> None:
    palette = palettes()[theme]
    for role in ACCOUNT_ROLES:
        assert contrast(palette[role], palette["card"]) >= 3, role
    for role in SERIES_ROLES:  # also the colors of the labels at the lines' ends
        assert contrast(palette[role], palette["card"]) >= 4.5, role


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_plain_accounts_differ_for_every_eye(theme: str, deficiency: str) -> None:
    palette = palettes()[theme]
    seen = DEFICIENCIES[deficiency]
    plain = [role for role in ACCOUNT_ROLES if role not in PATTERNED]
    for a, b in combinations(plain, 2):
        assert difference(seen @ palette[a], seen @ palette[b]) >= 8, (a, b)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_the_two_lines_of_a_band_differ_for_every_eye(theme: str, deficiency: str) -> None:
    palette = palettes()[theme]
    seen = DEFICIENCIES[deficiency]
    assert difference(seen @ palette["series-1"], seen @ palette["series-2"]) >= 10


def test_every_role_of_a_drawing_has_its_class() -> None:
    drawn = (*ACCOUNT_ROLES, *SERIES_ROLES, *PHASE_ROLES)
    for role in (*drawn, "ink", "muted", "grid", "band", "band-inner"):
        assert f".f-{role} {{" in CSS, role
    assert set(PHASE_ROLES) - PATTERNED == {"phase-1"}  # the others carry a pattern
    for role in PATTERNED:
        assert f"url(#p-{role})" in CSS, role


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_neighboring_losses_differ_in_lightness(theme: str) -> None:
    palette = palettes()[theme]
    fills = list(LOST_FILLS.values())
    shades = sorted({one.shade for one in fills})
    for a, b in combinations(shades, 2):
        assert contrast(palette[a], palette[b]) >= 1.4, (a, b)
    for shade in shades:
        assert contrast(palette[shade], palette["card"]) >= 3.0, shade
    assert all(a.shade != b.shade for a, b in pairwise(fills))


def test_no_two_causes_look_alike() -> None:
    looks = [(one.shade, one.path, one.turn) for one in LOST_FILLS.values()]
    assert len(set(looks)) == len(looks)
    for shade, _, _ in looks:
        assert f".pf-{shade} {{" in CSS


def test_print_is_light_whatever_the_screen() -> None:
    printed = CSS[CSS.index("@media print") :]
    light = palettes()["light"]
    found = dict(re.findall(r"--([\w-]+): (#\w{6});", printed))
    assert {key: tuple(linear(value)) for key, value in found.items()} == {
        key: tuple(value) for key, value in light.items()
    }
