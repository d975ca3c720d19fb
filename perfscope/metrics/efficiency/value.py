"""A number that knows its unit, its variant, and why it is missing when it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Metric:
    """One figure of the result, as it appears in analysis.json.

    `value` is None exactly when `reason` says why. `useful`, `foa` and `formula` name what counts,
    over which time, and which published variant, as docs/metrics.md defines them; None where the
    figure has no variants.
    """

    value: float | None
    unit: str
    reason: str | None = None
    useful: str | None = None
    foa: str | None = None
    formula: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The JSON object: value and unit always, the rest where it says something."""
        out: dict[str, Any] = {"value": self.value, "unit": self.unit}
        for key in ("reason", "useful", "foa", "formula"):
            if (text := getattr(self, key)) is not None:
                out[key] = text
        return out
