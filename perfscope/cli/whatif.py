"""`perfscope whatif PATH --edit ...`: replays a run with changes of the user's own."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfscope.cli.options import (
    foa_option,
    paths_argument,
    phase_option,
    planned_option,
    verbose_option,
)
from perfscope.cli.readiness import get_ready
from perfscope.errors import ExitCode, PerfscopeError, UsageError
from perfscope.output import say, say_json
from perfscope.structures import dataclass
from perfscope.units import capitalized

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfscope.metrics.results import Results
    from perfscope.replay.edit_parser import NamedEdit
    from perfscope.replay.segments import SegmentReplay
    from perfscope.schema.findings import PlannedRun


@dataclass(frozen=True)
class Prediction:
    """What some edits together would save; of one that cannot be made `reason` says why."""

    edits: tuple[str, ...]
    meaning: str
    gain_s: float | None
    gain_interval_s: tuple[float, float] | None
    gain_share: float | None
    gain_run_share: float | None
    runtime_s: float | None
    planned: PlannedRun | None
    assumptions: tuple[str, ...]
    reason: str | None


@dataclass(frozen=True)
class Predictions:
    """All of them, as --json prints them."""

    run_s: float
    focus_of_analysis_s: float
    replay_relative_error: float | None
    steps: int
    predictions: tuple[Prediction, ...]


AS_RECORDED = (
    "The load that other processes had on CPUs of the job stays as it was recorded; what findings "
    "of perfscope analyze save does not count what that load adds."
)
"""What the prices of a run on shared CPUs hold, which those of its findings do not."""

_HELP = """Predict what a change would save, by replaying the run with it.

Several --edit are predicted one by one and together: savings do not add up.

\b
remove:WHAT[@RANKS]        the work is not done
scale:WHAT:FACTOR[@RANKS]  it takes FACTOR times as long
every:K:WHAT[@RANKS]       it is done only every K times
background:WHAT[@RANKS]    it is done beside the training
share:WHAT                 all ranks do an equal part of it, step by step
balance[:WHAT]             all ranks work as long as they do on average
straggler@RANKS            these ranks work as fast as the others
network:FACTOR             transfers are FACTOR times as fast (inf: no time)
never-starved[@RANKS]      nobody waits for input
producers:N[@RANKS]        N producers make the batches of a rank
kept-workers[@RANKS]       workers of a DataLoader stay from epoch to epoch
bytes:FACTOR[@OPERATION]   collectives carry FACTOR times the bytes
fuse:BYTES                 successive allreduces are one, up to BYTES (64M)
overlap[:SHARE]            allreduces begin during the backward pass

WHAT is an account of the time ledger (training, evaluation, checkpoint, input_wait, io, ...) or a
phase of the run; RANKS is like 0,2,4-7.

\b
perfscope whatif trace/ --edit network:2
perfscope whatif trace/ --edit every:10:evaluation --edit straggler@3
"""


@click.command(help=_HELP)
@paths_argument("paths", "PATH...")
@click.option("--edit", "edits", multiple=True, required=True, metavar="EDIT", help="The change.")
@planned_option
@foa_option
@phase_option
@click.option("--json", "as_json", is_flag=True, help="Print the predictions as JSON.")
@verbose_option
def whatif(
    paths: tuple[Path, ...],
    *,
    edits: tuple[str, ...],
    planned_steps: int | None,
    foa: str | None,
    phase_rules: tuple[tuple[str, str], ...],
    as_json: bool,
) -> int:
    """Predicts each edit alone, and all of them together."""
    get_ready()
    from perfscope.metrics.compute import compute
    from perfscope.metrics.results import Options
    from perfscope.readers.detect import ReadOptions
    from perfscope.readers.registry import open_traces
    from perfscope.replay.segments import SegmentReplay
    from perfscope.schema.write import document_text, plain

    opened = open_traces(paths, ReadOptions(phase_rules=phase_rules))
    results = compute(opened, Options(focus=foa, phase_rules=phase_rules))
    named = [_edit(text, results) for text in edits]
    replay = SegmentReplay(results)
    document = _document(results, replay, named, planned_steps)
    if as_json:
        say_json(document_text(plain(document)))
    else:
        _print(document)
    is_told = any(row.reason is None for row in document.predictions)
    return ExitCode.OK if is_told else ExitCode.GATE_FAILED


def _edit(text: str, results: Results) -> NamedEdit:
    from perfscope.replay.edit_parser import FORMS, parse_edit

    ranks = [rank.number for rank in results.trace.ranks]
    try:
        return parse_edit(text, ranks=ranks, phases=results.phase_ids)
    except ValueError as error:
        raise UsageError(
            f"--edit {text!r} cannot be replayed.",
            why=f"{capitalized(str(error))}.",
            action=f"Write it as one of: {', '.join(FORMS)}.",
        ) from error


def _document(
    results: Results, replay: SegmentReplay, edits: Sequence[NamedEdit], planned: int | None
) -> Predictions:
    if not replay.available:
        raise PerfscopeError(
            "This run cannot be replayed, so nothing can be predicted.",
            why=f"{capitalized(replay.reason)}.",
            action="perfscope analyze shows what can be said without a replay.",
            exit_code=ExitCode.GATE_FAILED,
        )
    shared = _on_shared_cpus(results, replay)
    predict = partial(_prediction, results, replay, planned=planned, shared=shared)
    sets = [[edit] for edit in edits] + ([list(edits)] if len(edits) > 1 else [])
    return Predictions(
        run_s=results.run_s,
        focus_of_analysis_s=results.window_s,
        replay_relative_error=replay.relative_error,
        steps=results.steps_of_run,
        predictions=tuple(map(predict, sets)),
    )


def _on_shared_cpus(results: Results, replay: SegmentReplay) -> tuple[str, ...]:
    """What holds for a run on whose CPUs others were at work as well; nothing for other runs."""
    from perfscope.findings.facts.facts import Facts
    from perfscope.savings import SHARED_HOST

    load = Facts(results, replay).on_free_cpus.load
    return (AS_RECORDED, SHARED_HOST) if load.edits else ()


def _prediction(
    results: Results,
    replay: SegmentReplay,
    edits: Sequence[NamedEdit],
    *,
    planned: int | None,
    shared: tuple[str, ...],
) -> Prediction:
    from perfscope.document.planned import planned_run
    from perfscope.findings.core.gain import replayed
    from perfscope.findings.core.of_whole_run import gain_of_run
    from perfscope.replay.model import RefusedEditError

    words = tuple(named.text for named in edits)
    meaning = "; ".join(named.sentence for named in edits)
    try:
        found = replay.predict([named.edit for named in edits])
    except RefusedEditError as refusal:
        return Prediction(words, meaning, *(None,) * 6, (), str(refusal))
    assert found is not None  # the replay is available
    gain = gain_of_run(replayed(results, found, ()), results)
    if shared:
        gain = replace(gain, interval_s=None)
    return Prediction(
        words,
        meaning,
        gain_s=gain.seconds,
        gain_interval_s=gain.interval_s,
        gain_share=gain.share,
        gain_run_share=gain.run_share,
        runtime_s=results.window_s - gain.seconds,
        planned=planned_run(results, gain.seconds, planned),
        assumptions=(*found.assumptions, *shared),
        reason=None,
    )


def _print(document: Predictions) -> None:
    from perfscope.savings import Wholes

    of = Wholes(document.run_s, document.focus_of_analysis_s)
    for row in document.predictions:
        say(capitalized(row.meaning))
        if row.gain_s is None:
            say(f"  cannot be predicted: {row.reason}")
            continue
        saving = of.saving(row.gain_s, interval=row.gain_interval_s)
        say(f"  estimated saving: {saving}")
        if row.planned:
            say(f"  {_planned_line(row.planned)}")
    say(f"Replay error of the unchanged run: {_error(document.replay_relative_error)}")
    known = dict.fromkeys(text for row in document.predictions for text in row.assumptions)
    for text in known:
        say(f"Assumed: {text}")


def _planned_line(planned: PlannedRun) -> str:
    from perfscope.units import format_count, format_seconds

    if planned.gain_s is None or planned.runtime_s is None:
        return f"of {format_count(planned.steps)} planned steps: unknown, {planned.reason}"
    return (
        f"of {format_count(planned.steps)} planned steps: saves "
        f"{format_seconds(planned.gain_s)}, which then take "
        f"{format_seconds(planned.runtime_s)}"
    )


def _error(relative: float | None) -> str:
    return "unknown" if relative is None else f"{100 * relative:.2g} %"
