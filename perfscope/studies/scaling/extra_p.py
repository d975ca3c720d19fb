"""The model that Extra-P chooses, where the package `extrap` is installed, to stand beside ours.

Extra-P (BSD-3-Clause) brings a graphical interface, scikit-learn and numpy below 2 with it, so it
is an extra of its own and nothing depends on it: pip install 'perfscope-hpc[models]'.
"""

import importlib
import importlib.util
import math
import re
import warnings
from collections.abc import Sequence
from typing import Any

from perfscope.schema.scaling import ExtraP, ExtraPForecast

_NUMBER = re.compile(r"[0-9]+\.[0-9]+(?:e[+-]?[0-9]+)?")
MISSING = "Extra-P is not installed: pip install 'perfscope-hpc[models]'"


def is_installed() -> bool:
    """Whether the package is there; it takes two seconds to load, so it is not loaded for this."""
    return importlib.util.find_spec("extrap") is not None


def extra_p(
    sizes: Sequence[int], values: Sequence[float], forecast: Sequence[int], *, falls: bool
) -> ExtraP | str:
    """Extra-P's single-parameter model, or why there is none.

    Runs of one size are repetitions. Where times fall, as in strong scaling, Extra-P has to be told
    to try negative exponents.
    """
    if not is_installed():
        return MISSING
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _model(sizes, values, forecast, falls=falls)
    except Exception as error:  # noqa: BLE001 - somebody else's package must not cost the study
        return f"Extra-P failed: {type(error).__name__}: {error}"


def _model(
    sizes: Sequence[int], values: Sequence[float], forecast: Sequence[int], *, falls: bool
) -> ExtraP | str:
    modeler = _part("modelers.single_parameter.basic").SingleParameterModeler()
    modeler.allow_negative_exponents = falls
    measurement, size_of = _part("entities.measurement"), _part("entities.coordinate").Coordinate
    callpath = _part("entities.callpath").Callpath("part")
    metric = _part("entities.metric").Metric("time")
    measurements = [
        measurement.Measurement(
            size_of(size),
            callpath,
            metric,
            [value for own, value in zip(sizes, values, strict=True) if own == size],
        )
        for size in sorted(set(sizes))
    ]
    hypothesis = modeler.create_model(measurements).hypothesis
    function = hypothesis.function
    found = tuple(ExtraPForecast(size, float(function.evaluate(float(size)))) for size in forecast)
    error = float(hypothesis.SMAPE) / 100
    if not all(math.isfinite(number) for number in (error, *(one.value for one in found))):
        return "Extra-P gave a model without finite values"
    text = _NUMBER.sub(lambda match: f"{float(match[0]):.3g}", str(function))
    return ExtraP(text, None, error, found)


def _part(name: str) -> Any:
    return importlib.import_module(f"extrap.{name}")
