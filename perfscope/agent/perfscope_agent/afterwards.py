"""What is looked up and measured once the program is over, of what it ran under."""

from __future__ import annotations

import sys

from . import metadata, notes
from .kinds import Callable
from .pace import Budget

_budget = Budget(4 * Budget.AT_ONCE_NS)
"""What may be spent on what is of use to few jobs, by how long the program has run."""


def finish() -> None:
    """At exit, when all else is written: what kills the process now costs nothing but this."""
    anomaly = sys.modules.get("%s.frameworks.torch_anomaly" % __package__)
    actions = [("lines that switch modes on", _note_lines), ("powers", _time_powers)]
    actions.append(("calls that work on little", _time_small_calls))
    actions.append(("lines that deal out work", _note_splits))
    actions.append(("lines that select rows", _note_selections))
    actions.append(("windows that are made anew", _note_windows))
    if anomaly is not None:
        actions.append(("searches for NaN", anomaly.measure))
    stacked = sys.modules.get("%s.frameworks.torch_stacked" % __package__)
    if stacked is not None:
        actions.append(("layers on stacked inputs", stacked.looker.measure))
    is_new = [_done(*one) for one in actions]
    if any(is_new):
        metadata.write()


def _done(name: str, action: Callable[[], bool]) -> bool:
    """Whether an action noted something."""
    try:
        return action()
    except Exception as error:
        notes.failure(name, error)
        return True


def _note_lines() -> bool:
    """Loads what few jobs need when it is needed; a job may have no file left to load it from."""
    from . import switches

    return switches.note()


def _time_powers() -> bool:
    """As what looks at operands loads it, there is nothing to time without."""
    powers = sys.modules.get("%s.powers" % __package__)
    return powers is not None and bool(powers.measure(_budget))


def _time_small_calls() -> bool:
    """As what samples stacks loads it, there is nothing to time without."""
    small_calls = sys.modules.get("%s.small_calls" % __package__)
    return small_calls is not None and bool(small_calls.measure(_budget))


def _note_splits() -> bool:
    from . import splits

    return splits.note(_budget)


def _note_selections() -> bool:
    """As only some layer that makes rows for nothing asks for it."""
    if not metadata.facts.get("frameworks", {}).get("torch", {}).get("selected_rows"):
        return False
    from . import selections

    return selections.note(_budget)


def _note_windows() -> bool:
    """As only what was looked at asks for it."""
    if not metadata.facts.get("operands"):
        return False
    from . import windows

    return windows.note(_budget)
