"""All diagnoses of a run, in the order in which they are judged."""

from collections.abc import Sequence
from dataclasses import replace

from perfscope import registry
from perfscope.attribution.soundness import why_spoiled
from perfscope.findings.core.certainty import (
    NOTHING_S,
    as_sure_as_its_interval,
    in_words_of_its_status,
)
from perfscope.findings.core.diagnosis import Diagnosis
from perfscope.findings.core.finding import Finding, broken, settled
from perfscope.findings.core.of_whole_run import of_whole_run
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.few_looks import as_sure_as_its_looks
from perfscope.findings.facts.outside_load import of_any_run, without_outside_load
from perfscope.findings.losses.beginning import told_of_beginning
from perfscope.findings.losses.forked import told_by_forks
from perfscope.findings.losses.gathered import with_gathering
from perfscope.findings.losses.groups import lost_to_waiting
from perfscope.findings.losses.grown import with_growth
from perfscope.findings.losses.kept import told_by_needless
from perfscope.findings.losses.late_work import told_by_their_work, with_comparison
from perfscope.findings.losses.once import (
    told_by_cpus,
    told_by_settings,
    told_by_their_cause,
    told_once,
    with_remedy,
)
from perfscope.findings.losses.sent import told_by_sending
from perfscope.findings.losses.slow_values import with_slow_values
from perfscope.findings.losses.unclaimed import bounded, unclaimed
from perfscope.metrics.results import Results
from perfscope.progress import counted, stage
from perfscope.replay.model import RefusedEditError
from perfscope.replay.replay import Replay
from perfscope.schema.enums import Confidence, LossPattern, Status
from perfscope.trace.damage import SPOILS_WHOLE, UNKNOWN_SIZE, Need
from perfscope.trace.model import Format
from perfscope.trace.worlds import apart


def diagnoses() -> list[Diagnosis]:
    """Every diagnosis of this package, by rank; one more is a file with a DIAGNOSIS in it."""
    found: list[Diagnosis] = registry.members("perfscope.findings", "DIAGNOSIS")
    return sorted(found, key=lambda diagnosis: diagnosis.rank)


def run_all(run: Facts, *, catalog: Sequence[Diagnosis] | None = None) -> tuple[Finding, ...]:
    """The outcome of every diagnosis, in order; one that throws becomes an error row.

    Last comes what the loss account holds beyond all that they found, also of a run that was cut
    short: what was lost until then was lost.
    """
    chosen = diagnoses() if catalog is None else catalog
    apply = [diagnosis for diagnosis in chosen if diagnosis.applies(run.results)]
    found = [_run(diagnosis, run) for diagnosis in counted("judging diagnoses", apply)]
    if catalog is None and all(one.spoils <= SPOILS_WHOLE for one in run.results.damage):
        stage("pricing what else was lost")
        found = list(told_by_their_cause(run, found))
        found += [_told_beside(run, one) for one in unclaimed(run, found)]
        gathered = with_gathering(run, found, _kinds(chosen)[0])
        found = [_with_assumptions(one, run.replay) for one in gathered]
        found = list(told_by_forks(run, with_comparison(run, told_by_sending(run, found))))
        found = list(told_by_cpus(run, with_slow_values(run, with_remedy(run, found))))
        found = list(told_by_needless(told_by_their_work(with_growth(found), *_kinds(chosen))))
        waiting = {*_kinds(chosen)[0], *map(lost_to_waiting, LossPattern)}
        found = list(told_of_beginning(run, told_by_settings(found)))
        found = list(without_outside_load(run.on_free_cpus, found, waiting))
        found = list(bounded(told_once(run, found)))
    told = [of_whole_run(one, run.results, run.replay) for one in found]
    if any(one.gain is not None or one.first is not None for one in found):
        load = run.on_free_cpus.load
        told = [of_any_run(load, one) for one in told]
    return tuple(in_words_of_its_status(one) for one in told)


def _kinds(catalog: Sequence[Diagnosis]) -> tuple[set[str], set[str]]:
    """Identities of what is about waiting, and of what is about needed work."""
    return {one.id for one in catalog if one.of_waiting}, {one.id for one in catalog if one.of_work}


def _run(diagnosis: Diagnosis, run: Facts) -> Finding:
    results = run.results
    for need in Need:
        if need in diagnosis.intact and (why := why_spoiled(results.damage, need)):
            return _withheld(diagnosis, results, why)
    try:
        finding = as_sure_as_its_interval(_with_positive_gain(_judge(diagnosis, run)))
        finding = _with_assumptions(as_sure_as_its_looks(results, finding), run.replay)
        return _without_gain(finding) if why_spoiled(results.damage, Need.EVERY_RANK) else finding
    except Exception as error:  # noqa: BLE001 - one broken diagnosis must not cost the report
        return broken(diagnosis, error, Finding)


def _judge(diagnosis: Diagnosis, run: Facts) -> Finding:
    """What the diagnosis finds; a run without what it needs is not judged."""
    missing = (why for need in diagnosis.needs if (why := need(run.results)))
    found = next(missing, None) or diagnosis.judge(run)
    return settled(found, diagnosis, Finding)


def how_to_be_whole(results: Results) -> str:
    """What to do about ranks that are missing or cannot be compared."""
    if apart(results.trace):
        return "Analyze each program alone: record it, or cut it out of the trace."
    if results.trace.format is Format.PERFSCOPE:
        return "Record the whole job with perfscope run."
    if results.trace.missing_ranks or _is_size_unknown(results):
        return "Give perfscope analyze the files of all ranks together."
    return "Give perfscope analyze the files of one run alone, each as it was written."


def _is_size_unknown(results: Results) -> bool:
    return any(damage.id == UNKNOWN_SIZE for damage in results.damage)


def _withheld(diagnosis: Diagnosis, results: Results, why: str) -> Finding:
    """The outcome of a diagnosis that the damage of the recording would mislead."""
    return Finding(
        id=diagnosis.id,
        status=Status.NOT_MEASURED,
        title=diagnosis.title,
        summary=f"Withheld: {why}. {how_to_be_whole(results)}",
        confidence=Confidence.HIGH,
    )


def _told_beside(run: Facts, finding: Finding) -> Finding:
    """A finding of what was lost beyond what the diagnoses found."""
    return _with_assumptions(as_sure_as_its_looks(run.results, finding), run.replay)


def _with_positive_gain(finding: Finding) -> Finding:
    """The finding, which claims no saving where it, or its first action, gives nothing back."""
    gains = (finding.gain, finding.first)
    is_saving = all(gain is None or gain.seconds >= NOTHING_S for gain in gains)
    return finding if is_saving else _without_gain(finding)


def _without_gain(finding: Finding) -> Finding:
    """Without what the job would save: that is nothing, or depends on ranks nobody knows."""
    return replace(finding, gain=None, first=None)


def _with_assumptions(finding: Finding, replay: Replay) -> Finding:
    """The finding with what the replay of its gain assumes; a bound without a replay has nothing.

    Most findings have asked for the same prediction, which is kept; one that names no edits has
    what every replay of this run assumes.
    """
    gain = finding.gain
    if gain is None or (gain.is_bound and not gain.edits):
        return finding
    try:
        prediction = replay.predict(gain.edits)
    except RefusedEditError:
        return finding
    if prediction is None:
        return finding
    return replace(finding, gain=replace(gain, assumptions=prediction.assumptions))
