"""Settings that are there for debugging and make training slow, as frameworks were given them."""

from __future__ import annotations

import sys

from .. import metadata
from ..kinds import Any

_noted: set[str] = set()


def of_keras(model: Any) -> None:
    """How compile() had a model's steps run, of the first model that trains."""
    if "keras" in _noted:
        return
    _noted.add("keras")
    try:
        value = getattr(model, "run_eagerly", None)
    except Exception:  # a property, perhaps of the program's own
        value = None
    if isinstance(value, bool):
        metadata.framework("keras", run_eagerly=value)
    of_tensorflow()


def of_tensorflow() -> None:
    """Whether tf.function is told to run its functions operation by operation."""
    definition = sys.modules.get("tensorflow.python.eager.polymorphic_function.eager_function_run")
    runs = getattr(definition, "functions_run_eagerly", None)
    if runs is not None:
        metadata.framework("tensorflow", functions_run_eagerly=bool(runs()))


def at_backward() -> None:
    """Whether PyTorch looks for the operation behind each NaN, at the first backward pass."""
    torch = sys.modules.get("torch")
    if "torch" in _noted or torch is None:
        return
    _noted.add("torch")
    is_enabled = getattr(torch, "is_anomaly_enabled", None)
    if is_enabled is not None:
        metadata.framework("torch", anomaly_mode=bool(is_enabled()))


def finish() -> None:
    """At exit: what JAX and PyTorch were told that concerns all that runs."""
    config = getattr(sys.modules.get("jax"), "config", None)
    for name, fact in (("jax_disable_jit", "disable_jit"), ("jax_debug_nans", "debug_nans")):
        value = getattr(config, name, None)
        if isinstance(value, bool):
            metadata.framework("jax", **{fact: value})
    is_on = getattr(sys.modules.get("torch"), "are_deterministic_algorithms_enabled", None)
    if is_on is not None and ("torch" in _noted or is_on()):
        metadata.framework("torch", deterministic=bool(is_on()))
