"""The whole run as an object of analysis.json: totals, extended by the replay of the kept steps."""

from dataclasses import replace

from perfscope.findings.facts.network_facts import IDEAL
from perfscope.metrics.results import Results
from perfscope.replay.model import RefusedEditError
from perfscope.replay.replay import Replay
from perfscope.schema.enums import FigureSource
from perfscope.schema.whole_run import WholeFactor, WholeRun


def whole_run(results: Results, replay: Replay) -> WholeRun | None:
    """What is told of all of the run; None where all of it is there in detail."""
    found = results.whole_run
    if found is None:
        return None
    return replace(found, efficiencies=(*found.efficiencies, *_replayed(found, replay)))


def _replayed(found: WholeRun, replay: Replay) -> tuple[WholeFactor, ...]:
    """Transfer efficiency by what an ideal network saves in the kept steps, and what it leaves.

    The saving counts for as many steps as each kept one stands for; the length of the run is known.
    """
    known = (one.value for one in found.efficiencies if one.id == "communication_efficiency")
    spread, length_s = next(known, None), found.run_s
    try:
        ideal = replay.predict([IDEAL])
    except RefusedEditError:
        return ()
    if ideal is None or ideal.interval_s is None or spread is None or length_s <= 0:
        return ()
    saved = (ideal.gain_s, *ideal.interval_s)
    each = found.ended / found.kept / length_s
    value, high, low = (max(0.0, 1.0 - seconds * each) for seconds in saved)
    if low <= 0:
        return ()
    return (
        WholeFactor(
            "serialization_efficiency",
            spread / value,
            spread / high,
            spread / low,
            FigureSource.KEPT,
        ),
        WholeFactor("transfer_efficiency", value, low, high, FigureSource.KEPT),
    )
