"""Where the time, memory and threads of a multi-rank training job went, and what each fix gives.

PYTEST_DONT_REWRITE: pytest would warn where a program imports this before it starts its tests.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["__version__", "metric", "open_trace", "phase", "step"]

if TYPE_CHECKING:  # a job's markers are those of the agent that records it: see below
    from perfscope.agent.perfscope_agent.marker import metric, phase, step
    from perfscope.dataframes.opened import open_trace


def __getattr__(name: str) -> Any:
    """Loads the markers on first use, from the recording agent when one is active here."""
    if name not in ("metric", "open_trace", "phase", "step"):
        raise AttributeError(f"module 'perfscope' has no attribute {name!r}")
    import importlib  # noqa: PLC0415 - `import perfscope` costs a job nothing

    if name == "open_trace":
        return importlib.import_module("perfscope.dataframes.opened").open_trace
    try:
        marker = importlib.import_module("perfscope_agent.marker")
    except ImportError:
        marker = importlib.import_module("perfscope.agent.perfscope_agent.marker")
    else:
        # so that no sample finds the job in here, at each step anew
        globals().update({one: getattr(marker, one) for one in ("metric", "phase", "step")})
    return getattr(marker, name)
