"""Numbers on the command line that are numbers: nan passes every comparison of a range."""

import math
from typing import Any

import click


class FiniteRange(click.FloatRange):
    """A range that refuses nan."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number; fails where it is none."""
        found = float(super().convert(value, param, ctx))
        if not math.isfinite(found):
            self.fail(f"{value!r} is no finite number.", param, ctx)
        return found
