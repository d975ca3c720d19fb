"""Findings of a thinned run: what is saved of all of it, from what is saved of the kept steps."""

from dataclasses import replace

from perfscope.findings.core.finding import Finding, Gain
from perfscope.metrics.results import Results
from perfscope.replay.model import RefusedEditError
from perfscope.replay.replay import Replay
from perfscope.schema.whole_run import WholeRun
from perfscope.units import format_count


def of_whole_run(finding: Finding, results: Results, replay: Replay) -> Finding:
    """The finding, whose gains are of the whole run; itself where nothing was left out.

    What a diagnosis says of seconds in its own words is of the kept steps, and the summary says so.
    """
    whole = results.whole_run
    gains = (finding.gain, finding.first)
    if whole is None or not any(gain and not gain.is_of_run for gain in gains):
        return finding
    gain, first = (one and gain_of_run(_with_once(one, replay), results) for one in gains)
    note = f" {_note(whole)}"
    return replace(finding, gain=gain, first=first, summary=finding.summary + note)


def _with_once(gain: Gain, replay: Replay) -> Gain:
    """The gain with what of it comes once, where its edits were replayed and nobody kept that."""
    if gain.once_s is not None or not gain.edits:
        return gain
    try:
        found = replay.predict(gain.edits)
    except RefusedEditError:
        return gain
    if found is None or found.gain_s <= 0:
        return gain
    return replace(gain, once_s=gain.seconds * found.once_s / found.gain_s)


def gain_of_run(gain: Gain, results: Results) -> Gain:
    """A gain in the kept steps as that of the whole run, with what the choice of steps may change.

    The interval is that of a bootstrap over the kept steps, which are drawn by chance: it scales
    with them.
    """
    whole = results.whole_run
    if whole is None or gain.is_of_run:
        return gain
    once_s = min(max(gain.once_s or 0.0, 0.0), max(gain.seconds, 0.0))

    def in_run(seconds: float) -> float:
        return once_s + (seconds - once_s) * whole.stands_for

    interval, seconds = gain.interval_s, in_run(gain.seconds)
    more = seconds / gain.seconds if gain.seconds > 0 else whole.stands_for
    return replace(
        gain,
        seconds=seconds,
        share=gain.share * more * whole.analyzed_s / whole.run_s if whole.run_s > 0 else 0.0,
        run_share=seconds / results.run_s if results.run_s else None,
        interval_s=interval and (in_run(interval[0]), in_run(interval[1])),
        own_s=None if gain.own_s is None else gain.own_s * more,
        under_load_s=None if gain.under_load_s is None else in_run(gain.under_load_s),
        spent=None,  # told of the kept steps
        is_of_run=True,
    )


def _note(whole: WholeRun) -> str:
    return (
        f"Seconds in this text are of the {format_count(whole.kept)} kept {whole.unit.label}; the "
        f"estimated saving is of the whole run, of which each second of them stands for "
        f"{whole.stands_for:.3g}."
    )
